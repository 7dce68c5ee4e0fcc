//! Symmetric 3×3 matrices: one, and as many side by side as the processor has lanes.
//!
//! The inverse is that of L D Lᵀ, which says which pivot is not positive; nine multiplications more than cofactors,
//! and two divisions. [`lanes::inverse_by_cofactors`] stands apart for blocks that are known to be definite and whose
//! inverse is all a step waits for.

pub(crate) mod lanes;

use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::{DMat3, DVec3};

/// A symmetric 3×3 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sym3 {
    pub(crate) xx: f64,
    pub(crate) xy: f64,
    pub(crate) xz: f64,
    pub(crate) yy: f64,
    pub(crate) yz: f64,
    pub(crate) zz: f64,
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

    /// From xx, xy, xz, yy, yz and zz.
    #[inline]
    pub(crate) fn from_entries([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> Sym3 {
        Sym3 {
            xx,
            xy,
            xz,
            yy,
            yz,
            zz,
        }
    }

    /// As xx, xy, xz, yy, yz and zz.
    #[inline]
    pub(crate) fn entries(&self) -> [f64; 6] {
        [self.xx, self.xy, self.xz, self.yy, self.yz, self.zz]
    }

    /// As a full matrix.
    pub fn matrix(&self) -> DMat3 {
        DMat3::from_cols(self.x(), self.y(), self.z())
    }

    #[inline]
    pub(crate) fn diagonal(d: f64) -> Sym3 {
        Sym3 {
            xx: d,
            yy: d,
            zz: d,
            ..Sym3::default()
        }
    }

    #[inline]
    pub(crate) fn x(&self) -> DVec3 {
        DVec3::new(self.xx, self.xy, self.xz)
    }

    #[inline]
    pub(crate) fn y(&self) -> DVec3 {
        DVec3::new(self.xy, self.yy, self.yz)
    }

    #[inline]
    pub(crate) fn z(&self) -> DVec3 {
        DVec3::new(self.xz, self.yz, self.zz)
    }

    /// A x.
    #[inline]
    pub(crate) fn mul(&self, v: DVec3) -> DVec3 {
        self.x() * v.x + self.y() * v.y + self.z() * v.z
    }

    /// A + s u uᵀ.
    #[inline]
    pub(crate) fn add_outer(&mut self, s: f64, u: DVec3) {
        let su = u * s;
        self.xx += su.x * u.x;
        self.xy += su.x * u.y;
        self.xz += su.x * u.z;
        self.yy += su.y * u.y;
        self.yz += su.y * u.z;
        self.zz += su.z * u.z;
    }

    #[inline]
    pub(crate) fn add(&mut self, other: &Sym3) {
        self.xx += other.xx;
        self.xy += other.xy;
        self.xz += other.xz;
        self.yy += other.yy;
        self.yz += other.yz;
        self.zz += other.zz;
    }

    #[inline]
    pub(crate) fn subtract(&mut self, other: &Sym3) {
        self.xx -= other.xx;
        self.xy -= other.xy;
        self.xz -= other.xz;
        self.yy -= other.yy;
        self.yz -= other.yz;
        self.zz -= other.zz;
    }

    /// A + u vᵀ + v uᵀ.
    #[inline]
    pub(crate) fn add_both_outer(&mut self, u: DVec3, v: DVec3) {
        self.xx += 2.0 * u.x * v.x;
        self.xy += u.x * v.y + u.y * v.x;
        self.xz += u.x * v.z + u.z * v.x;
        self.yy += 2.0 * u.y * v.y;
        self.yz += u.y * v.z + u.z * v.y;
        self.zz += 2.0 * u.z * v.z;
    }

    /// R A Rᵀ.
    #[inline]
    pub(crate) fn turned(&self, r: &DMat3) -> Sym3 {
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

    /// The inverse, or the first pivot that is not safely positive.
    pub(crate) fn inverse(&self) -> Result<Sym3, f64> {
        inverse(self.entries()).map(Sym3::from_entries)
    }

    /// Eigenvalues in ascending order.
    pub(crate) fn eigenvalues(&self) -> [f64; 3] {
        self.principal().0
    }

    /// Eigenvalues in ascending order and their axes as columns, by Jacobi rotations.
    pub(crate) fn principal(&self) -> ([f64; 3], DMat3) {
        let mut a = self.matrix().to_cols_array_2d();
        let mut axes = DMat3::IDENTITY.to_cols_array_2d();
        for _ in 0..32 {
            for (p, q) in [(0, 1), (0, 2), (1, 2)] {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..3 {
                    let (x, y) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..3 {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                    // Columns of the axes turn with those of the matrix.
                    let (x, y) = (axes[p][k], axes[q][k]);
                    (axes[p][k], axes[q][k]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
        let columns = order.map(|i| axes[i]);
        (order.map(|i| a[i][i]), DMat3::from_cols_array_2d(&columns))
    }
}

/// What one number and a lane of numbers have in common.
pub(crate) trait Number:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// x, as wide as this is.
    fn like(self, x: f64) -> Self;
    fn abs(self) -> Self;
    fn max(self, other: Self) -> Self;
    /// Refuses a pivot that is not above its cut, with its value.
    fn pivot_above(self, cut: Self) -> Result<(), f64>;
}

impl Number for f64 {
    #[inline(always)]
    fn like(self, x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn max(self, other: f64) -> f64 {
        f64::max(self, other)
    }
    #[inline(always)]
    fn pivot_above(self, cut: f64) -> Result<(), f64> {
        if cut < self { Ok(()) } else { Err(self) }
    }
}

/// A⁻¹ = L⁻ᵀD⁻¹L⁻¹ of A = L D Lᵀ, given and returned as xx, xy, xz, yy, yz, zz; or the first pivot that is not safely
/// positive.
#[inline(always)]
pub(crate) fn inverse<T: Number>([xx, xy, xz, yy, yz, zz]: [T; 6]) -> Result<[T; 6], f64> {
    let one = xx.like(1.0);
    let cut = xx.like(1e-15) * xx.abs().max(yy.abs()).max(zz.abs());
    xx.pivot_above(cut)?;
    let d1 = one / xx;
    let (l21, l31) = (xy * d1, xz * d1);
    let second = yy - l21 * xy;
    second.pivot_above(cut)?;
    let d2 = one / second;
    let off = yz - l31 * xy;
    let l32 = off * d2;
    let third = zz - l31 * xz - l32 * off;
    third.pivot_above(cut)?;
    let d3 = one / third;
    // L⁻¹ has −l21, l21 l32 − l31 and −l32 below its diagonal.
    let (m21, m31, m32) = (-l21, l21 * l32 - l31, -l32);
    Ok([
        d1 + d2 * m21 * m21 + d3 * m31 * m31,
        d2 * m21 + d3 * m31 * m32,
        d3 * m31,
        d2 + d3 * m32 * m32,
        d3 * m32,
        d3,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    pub(super) fn definite(random: &mut Random) -> Sym3 {
        let f = DMat3::from_cols(random.vector(), random.vector(), random.vector());
        Sym3::of(&(f * f.transpose() + 0.1 * DMat3::IDENTITY))
    }

    #[test]
    fn symmetric_inverse_inverts_and_refuses_what_is_singular() {
        let mut random = Random::new(2);
        for _ in 0..100 {
            let a = definite(&mut random);
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

    #[test]
    fn eigenvalues_are_those_of_a_turned_diagonal() {
        let mut random = Random::new(3);
        for _ in 0..100 {
            let mut wanted = [0; 3].map(|_| random.range(-2.0, 2.0));
            wanted.sort_by(f64::total_cmp);
            let turn = glam::DQuat::from_scaled_axis(4.0 * random.vector());
            let r = DMat3::from_quat(turn);
            let a = r * DMat3::from_diagonal(DVec3::from(wanted)) * r.transpose();
            let found = Sym3::of(&a).eigenvalues();
            for i in 0..3 {
                assert!((found[i] - wanted[i]).abs() < 1e-14, "{found:?} {wanted:?}");
            }
        }
    }
}
