//! Symmetric matrices, rigid inertias, and articulated ones: what is left of a subtree when its joints may move.

use glam::{DMat3, DVec3};

use super::{Force, Motion};

/// A symmetric 3×3 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sym3 {
    pub(in crate::tree) xx: f64,
    pub(in crate::tree) xy: f64,
    pub(in crate::tree) xz: f64,
    pub(in crate::tree) yy: f64,
    pub(in crate::tree) yz: f64,
    pub(in crate::tree) zz: f64,
}

impl Sym3 {
    /// The symmetric part of a matrix.
    pub fn of(m: &DMat3) -> Sym3 {
        Sym3 {
            xx: m.x_axis.x,
            xy: 0.5 * (m.x_axis.y + m.y_axis.x),
            xz: 0.5 * (m.x_axis.z + m.z_axis.x),
            yy: m.y_axis.y,
            yz: 0.5 * (m.y_axis.z + m.z_axis.y),
            zz: m.z_axis.z,
        }
    }

    /// As a full matrix.
    pub fn matrix(&self) -> DMat3 {
        DMat3::from_cols(self.x(), self.y(), self.z())
    }

    #[inline]
    pub(in crate::tree) fn diagonal(d: f64) -> Sym3 {
        Sym3 {
            xx: d,
            yy: d,
            zz: d,
            ..Sym3::default()
        }
    }

    #[inline]
    pub(in crate::tree) fn x(&self) -> DVec3 {
        DVec3::new(self.xx, self.xy, self.xz)
    }

    #[inline]
    pub(in crate::tree) fn y(&self) -> DVec3 {
        DVec3::new(self.xy, self.yy, self.yz)
    }

    #[inline]
    pub(in crate::tree) fn z(&self) -> DVec3 {
        DVec3::new(self.xz, self.yz, self.zz)
    }

    /// A x.
    #[inline]
    pub(in crate::tree) fn mul(&self, v: DVec3) -> DVec3 {
        self.x() * v.x + self.y() * v.y + self.z() * v.z
    }

    /// A + s u uᵀ.
    #[inline]
    pub(in crate::tree) fn add_outer(&mut self, s: f64, u: DVec3) {
        let su = u * s;
        self.xx += su.x * u.x;
        self.xy += su.x * u.y;
        self.xz += su.x * u.z;
        self.yy += su.y * u.y;
        self.yz += su.y * u.z;
        self.zz += su.z * u.z;
    }

    #[inline]
    pub(in crate::tree) fn add(&mut self, other: &Sym3) {
        self.xx += other.xx;
        self.xy += other.xy;
        self.xz += other.xz;
        self.yy += other.yy;
        self.yz += other.yz;
        self.zz += other.zz;
    }

    /// R A Rᵀ.
    #[inline]
    pub(in crate::tree) fn turned(&self, r: &DMat3) -> Sym3 {
        // R A, by columns; then only the upper half of (R A) Rᵀ.
        let a = *r * self.x();
        let b = *r * self.y();
        let c = *r * self.z();
        let (x, y, z) = (r.x_axis, r.y_axis, r.z_axis);
        Sym3 {
            xx: a.x * x.x + b.x * y.x + c.x * z.x,
            xy: a.x * x.y + b.x * y.y + c.x * z.y,
            xz: a.x * x.z + b.x * y.z + c.x * z.z,
            yy: a.y * x.y + b.y * y.y + c.y * z.y,
            yz: a.y * x.z + b.y * y.z + c.y * z.z,
            zz: a.z * x.z + b.z * y.z + c.z * z.z,
        }
    }

    /// The inverse by LDLᵀ, or the first pivot that is not safely positive.
    pub(in crate::tree) fn inverse(&self) -> Result<Sym3, f64> {
        let cut = 1e-15 * self.xx.abs().max(self.yy.abs()).max(self.zz.abs());
        let positive = |pivot: f64| if cut < pivot { Ok(pivot) } else { Err(pivot) };
        let d1 = 1.0 / positive(self.xx)?;
        let (l21, l31) = (self.xy * d1, self.xz * d1);
        let d2 = 1.0 / positive(self.yy - l21 * self.xy)?;
        let off = self.yz - l31 * self.xy;
        let l32 = off * d2;
        let d3 = 1.0 / positive(self.zz - l31 * self.xz - l32 * off)?;
        // L⁻¹ has −l21, l21 l32 − l31 and −l32 below its diagonal.
        let (m21, m31, m32) = (-l21, l21 * l32 - l31, -l32);
        Ok(Sym3 {
            xx: d1 + d2 * m21 * m21 + d3 * m31 * m31,
            xy: d2 * m21 + d3 * m31 * m32,
            xz: d3 * m31,
            yy: d2 + d3 * m32 * m32,
            yz: d3 * m32,
            zz: d3,
        })
    }
}

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

    #[test]
    fn symmetric_inverse_inverts_and_refuses_what_is_singular() {
        let mut random = Random::new(2);
        for _ in 0..100 {
            let f = DMat3::from_cols(random.vector(), random.vector(), random.vector());
            let a = Sym3::of(&(f * f.transpose() + 0.1 * DMat3::IDENTITY));
            let x = random.vector();
            let y = a.inverse().unwrap().mul(a.mul(x));
            assert!((x - y).length() < 1e-12);
        }
        let flat = Sym3 {
            xx: 1.0,
            yy: 1.0,
            ..Sym3::default()
        };
        assert_eq!(flat.inverse(), Err(0.0));
    }
}
