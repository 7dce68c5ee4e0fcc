//! Implicit midpoint for a tree: second order and time-reversible.
//!
//! Where every joint has one dof it is taken in displacements and momenta p = M v, with L the Lagrangian, and is
//! symplectic: the energy of a frictionless mechanism stays near its value however long it runs.
//!
//! ```text
//! p̄ = p + ½h(∂L/∂q + τ) = M(q̄) v̄,   q̄ = q + ½h v̄,   q' = q + h v̄,   p' = p + h(∂L/∂q + τ)
//! ∂T/∂q_i = h_i · (V_parent × S_i),   h_i the momentum of all that joint i carries
//! ```
//!
//! Orientations have no such coordinates. A tree with a ball or a floating joint takes it in velocities:
//!
//! ```text
//! v̄ = v + ½h q̈(q ⊕ ½h v̄, v̄),   q' = q ⊕ h v̄,   v' = 2v̄ − v
//! ```
//!
//! v̄ is found by repetition, which contracts by about h times the largest rate.

use glam::DVec3;

use super::joint::ElementaryJoint;
use super::spatial::Force;
use super::{Data, Tree, TreeError};
use crate::math::max_abs;

/// Repetitions at most.
const MOST: usize = 60;
/// Change of v̄ below which it is found, as a share of the largest one.
const FOUND: f64 = 4e-16;
/// A change that is below this and shrinks no more is rounding.
const ROUNDING: f64 = 1e-12;

/// Work arrays of [`Tree::midpoint`], and the mean velocity it found.
#[derive(Clone, Debug, Default)]
pub struct Midpoint {
    mean: Vec<f64>,
    next: Vec<f64>,
    momentum: Vec<f64>,
    force: Vec<f64>,
    q: Vec<f64>,
}

/// What [`Tree::midpoint`] steps over: the state, the forces and the time.
#[derive(Debug)]
pub struct MidpointStep<'a> {
    /// Configuration before the step.
    pub q: &'a [f64],
    /// Velocity before the step, and after it.
    pub v: &'a mut [f64],
    /// Forces of the joints.
    pub tau: &'a [f64],
    /// Acceleration of everything that falls \[m/s²\].
    pub gravity: DVec3,
    /// Length of the step \[s\].
    pub h: f64,
}

impl Midpoint {
    /// v̄ of the last step.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Takes `next` for v̄; true where it has not moved. `before` is how far it moved last.
    fn settle(&mut self, before: &mut f64) -> bool {
        let pairs = self.mean.iter().zip(&self.next);
        let change = pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        self.mean.copy_from_slice(&self.next);
        let scale = max_abs(&self.mean);
        let found = change <= FOUND * scale || (change <= ROUNDING * scale && *before <= change);
        *before = change;
        found
    }
}

impl Tree {
    /// v ← v', the velocity after h seconds under joint forces τ; q' is [`Tree::integrate`] with [`Midpoint::mean`].
    /// False, and v unchanged, where the step is too long for the repetition.
    pub fn midpoint(
        &self,
        data: &mut Data,
        work: &mut Midpoint,
        step: MidpointStep<'_>,
    ) -> Result<bool, TreeError> {
        let MidpointStep {
            q,
            v,
            tau,
            gravity,
            h,
        } = step;
        self.check("velocity", v, self.n_dofs)?;
        self.check("force", tau, self.n_dofs)?;
        work.mean.clear();
        work.mean.extend_from_slice(v);
        for array in [&mut work.next, &mut work.momentum, &mut work.force] {
            array.resize(self.n_dofs, 0.0);
        }
        let canonical = self.n_multi == 0;
        if canonical {
            self.kinematics(q, data)?;
            self.mul_mass(data, v, &mut work.momentum)?;
        }
        let mut before = f64::INFINITY;
        for _ in 0..MOST {
            work.q.clear();
            work.q.extend_from_slice(q);
            self.integrate(&mut work.q, &work.mean, 0.5 * h)?;
            if canonical {
                self.lagrangian_force(data, work, tau, gravity)?;
                for (k, next) in work.next.iter_mut().enumerate() {
                    // M(q̄) v̄ = p + ½h f
                    *next = work.momentum[k] + 0.5 * h * work.force[k];
                }
                self.solve(data, &mut work.next)?;
            } else {
                let state = (&*work.q, &*work.mean, tau);
                self.forward_dynamics(data, state, gravity, &mut work.force)?;
                for (k, next) in work.next.iter_mut().enumerate() {
                    // v̄ = v + ½h a(q̄, v̄)
                    *next = v[k] + 0.5 * h * work.force[k];
                }
            }
            if !work.next.iter().sum::<f64>().is_finite() {
                return Ok(false);
            }
            if !work.settle(&mut before) {
                continue;
            }
            if !canonical {
                for (v, mean) in v.iter_mut().zip(&work.mean) {
                    // v' = 2v̄ − v
                    *v = 2.0 * mean - *v;
                }
                return Ok(true);
            }
            // p' = p + h f,   M(q') v' = p'
            for (p, force) in work.momentum.iter_mut().zip(&work.force) {
                *p += h * force;
            }
            work.q.copy_from_slice(q);
            self.integrate(&mut work.q, &work.mean, h)?;
            self.factor(data, &work.q)?;
            self.solve(data, &mut work.momentum)?;
            v.copy_from_slice(&work.momentum);
            return Ok(true);
        }
        Ok(false)
    }

    /// ∂L/∂q + τ less damping at (q̄, v̄), for joints of one dof. Leaves `data` placed there.
    fn lagrangian_force(
        &self,
        data: &mut Data,
        work: &mut Midpoint,
        tau: &[f64],
        gravity: DVec3,
    ) -> Result<(), TreeError> {
        // What holds the tree against gravity at rest is ∂U/∂q.
        work.next.fill(0.0);
        self.bias(data, (&work.q, &work.next), gravity, &mut work.force)?;
        self.velocities(&work.q, &work.mean, data)?;
        data.passes[0].force = Force::ZERO;
        for i in 1..self.nodes.len() {
            let body = &data.bodies[i];
            data.passes[i].force = body.inertia.mul(body.velocity);
        }
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let carried = data.bodies[node.parent].velocity.at(body.arm);
            let (axis, momentum) = (body.rotation.z_axis, data.passes[i].force);
            // ∂T/∂q_i = h_i · (V_parent × S_i)
            let turn = || {
                momentum.torque.dot(carried.angular.cross(axis))
                    + momentum.force.dot(carried.linear.cross(axis))
            };
            let slide = || momentum.force.dot(carried.angular.cross(axis));
            let kinetic = match node.kind {
                ElementaryJoint::Slide => slide(),
                ElementaryJoint::Screw(pitch) => turn() + pitch * slide(),
                _ => turn(),
            };
            let k = node.v_at;
            // f = ∂T/∂q − ∂U/∂q + τ − damping v̄
            work.force[k] = kinetic - work.force[k] + tau[k] - node.damping * work.mean[k];
            data.passes[node.parent].force += momentum.from(body.arm);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::LinkId;
    use crate::tree::spatial::Pose;
    use crate::tree::{Link, MassProperties, TreeJoint};

    /// Two point masses of 1 kg on rods of 1 m.
    fn pendulum() -> Tree {
        let bob = MassProperties::point(1.0, DVec3::new(0.0, 0.0, -1.0));
        let hinge = TreeJoint::Revolute { axis: DVec3::Y };
        let upper = Link::new(None, hinge, Pose::IDENTITY, bob);
        let place = Pose::at(DVec3::new(0.0, 0.0, -1.0));
        Tree::new(vec![upper, Link::new(Some(LinkId(0)), hinge, place, bob)]).unwrap()
    }

    const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

    /// Largest energy error of a double pendulum, and its last configuration.
    /// A step under gravity alone.
    fn falling<'a>(q: &'a [f64], v: &'a mut [f64], h: f64) -> MidpointStep<'a> {
        MidpointStep {
            q,
            v,
            tau: &[0.0; 2],
            gravity: GRAVITY,
            h,
        }
    }

    fn swing(start: [f64; 2], h: f64, seconds: f64) -> (f64, Vec<f64>) {
        let tree = pendulum();
        let (mut data, mut work) = (tree.data(), Midpoint::default());
        let (mut q, mut v) = (start.to_vec(), vec![0.0; 2]);
        let energy = |data: &mut Data, q: &[f64], v: &[f64]| {
            tree.velocities(q, v, data).unwrap();
            tree.kinetic_energy(data) + tree.potential_energy(data, GRAVITY)
        };
        let first = energy(&mut data, &q, &v);
        let mut worst: f64 = 0.0;
        for _ in 0..(seconds / h).round() as usize {
            let step = falling(&q, &mut v, h);
            let found = tree.midpoint(&mut data, &mut work, step);
            assert!(found.unwrap());
            tree.integrate(&mut q, work.mean(), h).unwrap();
            worst = worst.max((energy(&mut data, &q, &v) - first).abs());
        }
        (worst, q)
    }

    #[test]
    fn energy_of_a_double_pendulum_is_kept_at_second_order_and_bounded() {
        let start = [1.2, 0.7];
        let errors = [0.02, 0.01, 0.005].map(|h| swing(start, h, 4.0).0);
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 2.0).abs() < 0.2, "{errors:?}");
        }
        // Once all its motion has been seen the error does not grow: ten times as long, no more of it.
        let (seen, long) = (swing(start, 0.01, 40.0).0, swing(start, 0.01, 400.0).0);
        assert!(long < 1.05 * seen, "{long} {seen}");
    }

    #[test]
    fn a_step_back_undoes_a_step() {
        let tree = pendulum();
        let (mut data, mut work) = (tree.data(), Midpoint::default());
        let (mut q, mut v) = (vec![1.2, 0.7], vec![0.5, -2.0]);
        let start = (q.clone(), v.clone());
        for h in [0.02, -0.02] {
            let step = falling(&q, &mut v, h);
            let found = tree.midpoint(&mut data, &mut work, step);
            assert!(found.unwrap());
            tree.integrate(&mut q, work.mean(), h).unwrap();
        }
        let pairs = q.iter().zip(&start.0).chain(v.iter().zip(&start.1));
        for (found, wanted) in pairs {
            assert!((found - wanted).abs() < 1e-14);
        }
    }

    #[test]
    fn a_step_that_is_too_long_is_refused_and_changes_nothing() {
        let tree = pendulum();
        let (mut data, mut work) = (tree.data(), Midpoint::default());
        let (q, mut v) = (vec![1.2, 0.7], vec![30.0, -40.0]);
        let step = falling(&q, &mut v, 1.0);
        let found = tree.midpoint(&mut data, &mut work, step);
        assert!(!found.unwrap());
        assert_eq!(v, [30.0, -40.0]);
    }
}
