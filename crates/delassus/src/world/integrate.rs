//! From velocities to poses, the torque of a spinning body, and what should be conserved.

use std::ops::Range;

use glam::{DMat3, DQuat, DVec3, DVec4};

use super::World;
use super::bodies::{Bodies, MovedBy};
use crate::index::BodyId;
use crate::math::parallel::{self, CHUNK};

/// How the gyroscopic torque −ω × Iω enters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gyroscopic {
    /// One Newton step in body axes: stable, loses a little energy in fast spin.
    #[default]
    Implicit,
    /// As a torque at the old state: gains energy in fast spin.
    Explicit,
    /// Left out: loses angular momentum unless all bodies are spheres.
    Off,
}

/// Energy and momentum of all dynamic bodies and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Probe {
    /// ½vᵀMv \[J\].
    pub kinetic: f64,
    /// −Σ m g·x \[J\].
    pub potential: f64,
    /// Σ m v \[N s\].
    pub momentum: DVec3,
    /// Angular momentum about the origin \[N m s\].
    pub angular_momentum: DVec3,
}

/// Angular momentum after the gyroscopic torque alone has acted for h seconds.
pub(super) fn gyroscopic(kind: Gyroscopic, inertia: DMat3, spin: DVec3, h: f64) -> DVec3 {
    let momentum = inertia * spin;
    match kind {
        Gyroscopic::Off => momentum,
        Gyroscopic::Explicit => momentum - h * spin.cross(momentum),
        Gyroscopic::Implicit => {
            // f = h ω×Iω; J = I + h([ω]× I − [Iω]×); ω ← ω − J⁻¹f
            let f = h * spin.cross(momentum);
            if f == DVec3::ZERO {
                return momentum;
            }
            let jacobian = inertia + (cross(spin) * inertia - cross(momentum)) * h;
            let turned = spin - jacobian.inverse() * f;
            let after = inertia * turned;
            // The torque does no work; one step of Newton's method may, where a body turns by a radian or more:
            // ω ← ω √(T / T⁺) where T⁺ = ½ωᵀIω is beyond T.
            let (energy, limit) = (turned.dot(after), spin.dot(momentum));
            if limit < energy {
                return after * (limit / energy).sqrt();
            }
            after
        }
    }
}

fn cross(v: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, v.z, -v.y),
        DVec3::new(-v.z, 0.0, v.x),
        DVec3::new(v.y, -v.x, 0.0),
    )
}

/// quat ← exp(h ω) ⊗ quat: world angular velocity multiplies from the left.
pub(super) fn turn(orientation: DQuat, spin: DVec3, h: f64) -> DQuat {
    (DQuat::from_scaled_axis(spin * h) * orientation).normalize()
}

impl World {
    /// Largest violation of a joint now \[m or rad\].
    pub fn violation(&self) -> f64 {
        let each = self.joints.iter();
        let joints = each.map(|joint| joint.violation(&self.bodies));
        let robots = self.robots().iter().map(super::Robot::violation);
        joints.chain(robots).fold(0.0, f64::max)
    }
}

impl Bodies {
    /// Moves every body that is not static or asleep for h seconds.
    pub(super) fn advance(&mut self, h: f64) {
        let poses = self.position.chunks_mut(CHUNK);
        let poses = poses.zip(self.orientation.chunks_mut(CHUNK)).enumerate();
        let (motion, asleep) = (&self.motion, &self.asleep);
        let (velocity, spin) = (&self.velocity, &self.spin);
        parallel::each(poses, |(part, (position, orientation))| {
            for (i, j) in (part * CHUNK..).zip(0..position.len()) {
                if matches!(motion[i], MovedBy::Dynamic | MovedBy::Kinematic) && !asleep[i] {
                    // x ← x + h v, with the new velocity: symplectic Euler.
                    position[j] += h * velocity[i];
                    orientation[j] = turn(orientation[j], spin[i], h);
                }
            }
        });
    }

    /// Whether a body is moved by impulses and resists them: links between the axes of one joint do not.
    #[inline(always)]
    fn has_inertia(&self, i: usize) -> bool {
        matches!(self.motion[i], MovedBy::Dynamic | MovedBy::Link)
            && (self.mass[i] != 0.0 || self.inertia[i] != DMat3::ZERO)
    }

    /// Energy and momentum; rotors of robots are only in [`World::probe`](super::World::probe).
    pub fn probe(&self, gravity: DVec3) -> Probe {
        if self.len() <= CHUNK {
            return self.probe_of(0..self.len(), gravity);
        }
        let parts: Vec<_> = (0..self.len()).step_by(CHUNK).collect();
        let parts = parallel::map(parts, |start| {
            self.probe_of(start..self.len().min(start + CHUNK), gravity)
        });
        let mut probe = Probe::default();
        for part in parts {
            probe.kinetic += part.kinetic;
            probe.potential += part.potential;
            probe.momentum += part.momentum;
            probe.angular_momentum += part.angular_momentum;
        }
        probe
    }

    /// The same of some bodies.
    fn probe_of(&self, bodies: Range<usize>, gravity: DVec3) -> Probe {
        let mut probe = Probe::default();
        for i in bodies {
            if !self.has_inertia(i) {
                continue;
            }
            let (mass, v, spin) = (self.mass[i], self.velocity[i], self.spin[i]);
            // T = ½ m v² + ½ ωᵀIω, V = −m g · x, p = m v, L = Iω + x × m v.
            let turn = self.orientation[i];
            let angular = turn * (self.inertia[i] * (turn.conjugate() * spin));
            probe.kinetic += 0.5 * (mass * v.length_squared() + spin.dot(angular));
            probe.potential -= mass * gravity.dot(self.position[i]);
            probe.momentum += mass * v;
            probe.angular_momentum += angular + mass * self.position[i].cross(v);
        }
        probe
    }

    /// The energy of [`Bodies::probe`] alone \[J\].
    pub(super) fn energy(&self, gravity: DVec3) -> f64 {
        let mut energy = 0.0;
        for i in 0..self.len() {
            if !self.has_inertia(i) {
                continue;
            }
            // ½ m v² + ½ ωᵀIω − m g · x, the spin in the axes of the body.
            let spin = self.orientation[i].conjugate() * self.spin[i];
            let square = self.velocity[i].length_squared();
            let angular = spin.dot(self.inertia[i] * spin);
            energy += 0.5 * (self.mass[i] * square + angular);
            energy -= self.mass[i] * gravity.dot(self.position[i]);
        }
        energy
    }

    /// The first body whose state is not finite.
    pub(super) fn not_finite(&self) -> Option<BodyId> {
        let lists = [&self.position, &self.velocity, &self.spin];
        if lists.iter().all(|list| are_finite(list))
            && are_zero(self.orientation.iter().map(|q| 0.0 * DVec4::from(*q)))
        {
            return None;
        }
        self.ids().find(|id| {
            let i = id.index();
            let finite = self.position[i].is_finite()
                && self.orientation[i].is_finite()
                && self.velocity[i].is_finite()
                && self.spin[i].is_finite();
            !finite
        })
    }
}

/// Whether all numbers are finite: zero times each of them is zero then.
pub(super) fn are_finite(vectors: &[DVec3]) -> bool {
    are_zero(vectors.iter().map(|vector| 0.0 * *vector))
}

/// Whether vectors of nothing but zeros, or what is no number, are zeros: so is their sum.
fn are_zero<V: Default + PartialEq + std::ops::AddAssign>(
    vectors: impl Iterator<Item = V>,
) -> bool {
    let mut sum = V::default();
    vectors.for_each(|vector| sum += vector);
    sum == V::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// Rounding of a few products.
    const ROUNDING: f64 = 1e-13;

    /// A step compares the one with the other: what they differ by would be braked away.
    #[test]
    fn the_energy_alone_is_that_of_the_probe() {
        let mut random = Random::new(8);
        let mut builder = crate::WorldBuilder::default();
        for i in 0..20 {
            let squares = random.vector().abs() + DVec3::splat(0.1);
            let spread = DVec3::splat(squares.element_sum()) - squares;
            let body = crate::world::Body {
                name: format!("body {i}"),
                position: 10.0 * random.vector(),
                orientation: DQuat::from_scaled_axis(3.0 * random.vector()),
                velocity: random.vector(),
                spin: 5.0 * random.vector(),
                mass: random.range(0.1, 2.0),
                inertia: DMat3::from_diagonal(spread),
                ..crate::world::Body::default()
            };
            builder.add_body(body).unwrap();
        }
        let world = builder.build().unwrap();
        let Probe {
            kinetic, potential, ..
        } = world.probe();
        let most = kinetic + potential.abs();
        assert!((world.energy() - kinetic - potential).abs() < ROUNDING * most);
    }

    /// A thin body that turned by three radians in a step came out of it ten times as fast, and threw whatever it touched.
    #[test]
    fn the_gyroscopic_torque_brings_no_energy_however_far_a_body_turns_in_a_step() {
        let mut random = Random::new(3);
        for _ in 0..10_000 {
            let size = random.vector().abs() + DVec3::splat(0.01);
            let squares = size * size;
            let moments = DVec3::new(
                squares.y + squares.z,
                squares.x + squares.z,
                squares.x + squares.y,
            );
            let inertia = DMat3::from_diagonal(moments);
            let spin = random.vector() * 100.0;
            let after = gyroscopic(Gyroscopic::Implicit, inertia, spin, 0.1);
            let energy = after.dot(inertia.inverse() * after);
            assert!(energy <= (1.0 + 1e-12) * spin.dot(inertia * spin));
        }
    }
}
