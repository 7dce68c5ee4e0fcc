//! Rigid inertias, and articulated ones: what is left of a subtree when its joints may move.

use glam::{DMat3, DVec3};

use super::{Force, Motion};
use crate::linalg::sym3::Sym3;

/// A rigid inertia about the origin of its frame: mass, mass times centre of mass, second moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertia {
    /// Mass \[kg\].
    pub mass: f64,
    /// Mass times the position of the centre of mass \[kg m\].
    pub first: DVec3,
    /// Rotational inertia about the origin \[kg m²\].
    pub second: Sym3,
}

impl Inertia {
    /// From the mass, the centre of mass and the inertia about the centre of mass.
    pub fn new(mass: f64, com: DVec3, inertia: &DMat3) -> Inertia {
        let about_com = Inertia {
            mass,
            first: DVec3::ZERO,
            second: Sym3::of(inertia),
        };
        about_com.shifted(com)
    }

    /// About a point from which the origin lies at `arm`.
    #[inline]
    pub fn shifted(&self, arm: DVec3) -> Inertia {
        // Σ m (|x|² 1 − x xᵀ) with x moved by the arm.
        let first = self.first + arm * self.mass;
        let mut second = self.second;
        // (arm·first + arm·old first) 1 − (arm firstᵀ + old first armᵀ), which is symmetric.
        let trace = arm.dot(first) + arm.dot(self.first);
        second.xx += trace - (arm.x * first.x + self.first.x * arm.x);
        second.yy += trace - (arm.y * first.y + self.first.y * arm.y);
        second.zz += trace - (arm.z * first.z + self.first.z * arm.z);
        second.xy -= arm.x * first.y + self.first.x * arm.y;
        second.xz -= arm.x * first.z + self.first.x * arm.z;
        second.yz -= arm.y * first.z + self.first.y * arm.z;
        Inertia {
            mass: self.mass,
            first,
            second,
        }
    }

    /// In axes turned by r.
    #[inline]
    pub fn turned(&self, r: &DMat3) -> Inertia {
        Inertia {
            mass: self.mass,
            first: *r * self.first,
            second: self.second.turned(r),
        }
    }

    /// Of two bodies about one origin.
    #[inline]
    pub fn add(&mut self, other: &Inertia) {
        self.mass += other.mass;
        self.first += other.first;
        self.second.add(&other.second);
    }

    /// Momentum of a motion, or the force that an acceleration at rest needs.
    #[inline]
    pub fn mul(&self, motion: Motion) -> Force {
        Force {
            torque: self.second.mul(motion.angular) + self.first.cross(motion.linear),
            force: motion.linear * self.mass + motion.angular.cross(self.first),
        }
    }

    /// Newton and Euler: the force that gives `acceleration` to a body turning with `angular` velocity.
    #[inline]
    pub fn newton_euler(&self, angular: DVec3, acceleration: Motion) -> Force {
        let mut force = self.mul(acceleration);
        force.torque += angular.cross(self.second.mul(angular));
        force.force += angular.cross(angular.cross(self.first));
        force
    }

    /// Kinetic energy \[J\].
    pub fn energy(&self, motion: Motion) -> f64 {
        0.5 * self.mul(motion).power(motion)
    }
}

/// An articulated inertia: force = [[a, b], [bᵀ, c]] (angular, linear).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::tree) struct Articulated {
    pub(in crate::tree) a: Sym3,
    pub(in crate::tree) b: DMat3,
    pub(in crate::tree) c: Sym3,
}

impl Default for Articulated {
    fn default() -> Articulated {
        // The default of a matrix of glam is the identity, not zero.
        Articulated {
            a: Sym3::default(),
            b: DMat3::ZERO,
            c: Sym3::default(),
        }
    }
}

impl Articulated {
    /// A rigid body: b = [first]×, c = mass 1.
    #[inline]
    pub(in crate::tree) fn rigid(inertia: &Inertia) -> Articulated {
        let h = inertia.first;
        Articulated {
            a: inertia.second,
            b: DMat3::from_cols(
                DVec3::new(0.0, h.z, -h.y),
                DVec3::new(-h.z, 0.0, h.x),
                DVec3::new(h.y, -h.x, 0.0),
            ),
            c: Sym3::diagonal(inertia.mass),
        }
    }

    #[inline]
    pub(in crate::tree) fn mul(&self, motion: Motion) -> Force {
        Force {
            torque: self.a.mul(motion.angular) + self.b * motion.linear,
            force: self.b.transpose() * motion.angular + self.c.mul(motion.linear),
        }
    }

    /// I − s u uᵀ.
    #[inline]
    pub(in crate::tree) fn subtract_outer(&mut self, s: f64, u: Force) {
        self.a.add_outer(-s, u.torque);
        self.c.add_outer(-s, u.force);
        let t = u.torque * s;
        self.b.x_axis -= t * u.force.x;
        self.b.y_axis -= t * u.force.y;
        self.b.z_axis -= t * u.force.z;
    }

    #[inline]
    pub(in crate::tree) fn add(&mut self, other: &Articulated) {
        self.a.add(&other.a);
        self.b += other.b;
        self.c.add(&other.c);
    }

    /// Adds that of a rigid body about the same origin.
    #[inline(always)]
    pub(in crate::tree) fn add_rigid(&mut self, body: &Inertia) {
        let (h, b) = (body.first, &mut self.b);
        self.a.add(&body.second);
        b.x_axis.y += h.z;
        b.x_axis.z -= h.y;
        b.y_axis.x -= h.z;
        b.y_axis.z += h.x;
        b.z_axis.x += h.y;
        b.z_axis.y -= h.x;
        self.c.xx += body.mass;
        self.c.yy += body.mass;
        self.c.zz += body.mass;
    }

    /// Moves it to a point from which its origin lies at r: b' = b + [r]c and a' = a + [r]bᵀ + ([r]b'ᵀ)ᵀ.
    #[inline(always)]
    pub(in crate::tree) fn shift(&mut self, r: DVec3) {
        let (a, b, c) = (&mut self.a, &self.b, &self.c);
        let moved = DMat3::from_cols(
            b.x_axis + r.cross(c.x()),
            b.y_axis + r.cross(c.y()),
            b.z_axis + r.cross(c.z()),
        );
        // Row i of b is (b.x_axis[i], b.y_axis[i], b.z_axis[i]).
        let (p, q) = (b.transpose(), moved.transpose());
        let (p0, p1, p2) = (r.cross(p.x_axis), r.cross(p.y_axis), r.cross(p.z_axis));
        let (q0, q1, q2) = (r.cross(q.x_axis), r.cross(q.y_axis), r.cross(q.z_axis));
        a.xx += p0.x + q0.x;
        a.xy += p1.x + q0.y;
        a.xz += p2.x + q0.z;
        a.yy += p1.y + q1.y;
        a.yz += p2.y + q1.z;
        a.zz += p2.z + q2.z;
        self.b = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn matrix(i: &Articulated) -> [[f64; 6]; 6] {
        let mut m = [[0.0; 6]; 6];
        for j in 0..6 {
            let mut unit = [0.0; 6];
            unit[j] = 1.0;
            let f = i.mul(Motion {
                angular: DVec3::from_slice(&unit[..3]),
                linear: DVec3::from_slice(&unit[3..]),
            });
            for k in 0..3 {
                m[k][j] = f.torque[k];
                m[k + 3][j] = f.force[k];
            }
        }
        m
    }

    #[test]
    fn moved_inertias_do_the_same_work() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let f = DMat3::from_cols(random.vector(), random.vector(), random.vector());
            let body = Inertia::new(1.7, random.vector(), &(f * f.transpose()));
            let arm = random.vector();
            let motion = Motion {
                angular: random.vector(),
                linear: random.vector(),
            };
            let moved = body.shifted(arm);
            let expected = body.mul(motion.at(arm)).from(arm);
            let mut articulated = Articulated::rigid(&body);
            articulated.shift(arm);
            for found in [moved.mul(motion), articulated.mul(motion)] {
                assert!((found.torque - expected.torque).length() < 1e-13);
                assert!((found.force - expected.force).length() < 1e-13);
            }
            let m = matrix(&articulated);
            for i in 0..6 {
                for j in 0..6 {
                    assert!((m[i][j] - m[j][i]).abs() < 1e-13);
                }
            }
        }
    }
}
