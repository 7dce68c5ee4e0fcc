//! Symmetric 3×3 matrices in lanes, products fused with sums where nothing but speed depends on it.

use pulp::Simd;

use super::{Number, Sym3, inverse};
use crate::math::simd::fused::{Mat3, add_mul, dot, product, transposed};
use crate::math::simd::{Vec3, X, each, three};

/// A symmetric matrix in each lane: xx, xy, xz, yy, yz, zz.
pub(crate) type Sym<S> = [X<S>; 6];

impl<S: Simd> Number for X<S> {
    #[inline(always)]
    fn like(self, x: f64) -> X<S> {
        X::like(self, x)
    }
    #[inline(always)]
    fn abs(self) -> X<S> {
        X::abs(self)
    }
    #[inline(always)]
    fn max(self, other: X<S>) -> X<S> {
        X::max(self, other)
    }
    #[inline(always)]
    fn pivot_above(self, cut: X<S>) -> Result<(), f64> {
        positive(self, cut)
    }
}

/// The inverse, or the first pivot that is not safely positive in some lane.
#[inline(always)]
pub(crate) fn sym_inverse<S: Simd>(a: Sym<S>) -> Result<Sym<S>, f64> {
    inverse(a)
}

/// Refuses pivots that are not above their cut in every lane, with the smallest.
#[inline(always)]
pub(crate) fn positive<S: Simd>(pivot: X<S>, cut: X<S>) -> Result<(), f64> {
    if cut.all_below(pivot) {
        return Ok(());
    }
    let mut lanes = [0.0; 16];
    S::as_mut_simd_f64s(&mut lanes).0[0] = pivot.1;
    Err(lanes[..S::F64_LANES]
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min))
}

/// The inverse of matrices that are known to be regular, by cofactors: one division, and no pivot is looked at.
#[inline(always)]
pub(crate) fn inverse_by_cofactors<S: Simd>([xx, xy, xz, yy, yz, zz]: Sym<S>) -> Sym<S> {
    let minor = |a: X<S>, b: X<S>, c: X<S>, d: X<S>| c.neg_mul_add(d, a * b);
    let (x, y, z) = (
        minor(yy, zz, yz, yz),
        minor(xz, yz, xy, zz),
        minor(xy, yz, xz, yy),
    );
    let scale = dot([xx, xy, xz], [x, y, z]).recip();
    [
        x * scale,
        y * scale,
        z * scale,
        minor(xx, zz, xz, xz) * scale,
        minor(xy, xz, xx, yz) * scale,
        minor(xx, yy, xy, xy) * scale,
    ]
}

/// Column j of a symmetric matrix.
#[inline(always)]
pub(crate) fn sym_column<S: Simd>(s: Sym<S>, j: usize) -> Vec3<S> {
    match j {
        0 => [s[0], s[1], s[2]],
        1 => [s[1], s[3], s[4]],
        _ => [s[2], s[4], s[5]],
    }
}

#[inline(always)]
pub(crate) fn sym_mul<S: Simd>(s: Sym<S>, x: Vec3<S>) -> Vec3<S> {
    three!(i => dot(sym_column(s, i), x))
}

/// c + A x.
#[inline(always)]
pub(crate) fn add_sym_mul<S: Simd>(c: Vec3<S>, s: Sym<S>, x: Vec3<S>) -> Vec3<S> {
    add_mul(c, three!(j => sym_column(s, j)), x)
}

/// The symmetric part of a matrix.
#[inline(always)]
pub(crate) fn sym_of<S: Simd>(m: Mat3<S>) -> Sym<S> {
    let half = m[0][0].like(0.5);
    [
        m[0][0],
        half * (m[0][1] + m[1][0]),
        half * (m[0][2] + m[2][0]),
        m[1][1],
        half * (m[1][2] + m[2][1]),
        m[2][2],
    ]
}

/// A − u wᵀ where u wᵀ is symmetric.
#[inline(always)]
pub(crate) fn subtract_outer<S: Simd>(a: Sym<S>, u: Vec3<S>, w: Vec3<S>) -> Sym<S> {
    [
        u[0].neg_mul_add(w[0], a[0]),
        u[0].neg_mul_add(w[1], a[1]),
        u[0].neg_mul_add(w[2], a[2]),
        u[1].neg_mul_add(w[1], a[3]),
        u[1].neg_mul_add(w[2], a[4]),
        u[2].neg_mul_add(w[2], a[5]),
    ]
}

/// The same symmetric matrix everywhere.
#[inline(always)]
pub(crate) fn sym_constant<S: Simd>(simd: S, s: &Sym3) -> Sym<S> {
    let entries = s.entries();
    each!([X::splat(simd, 0.0); 6], i => X::splat(simd, entries[i]))
}

/// R A Rᵀ of a symmetric matrix A, given by its columns.
#[inline(always)]
pub(crate) fn congruent<S: Simd>(r: Mat3<S>, columns: Mat3<S>) -> Sym<S> {
    // (R A)ᵀ and Rᵀ, by columns: entries of R A Rᵀ are inner products.
    let a = transposed(product(r, columns));
    let r = transposed(r);
    [
        dot(a[0], r[0]),
        dot(a[0], r[1]),
        dot(a[0], r[2]),
        dot(a[1], r[1]),
        dot(a[1], r[2]),
        dot(a[2], r[2]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::sym3::tests::definite;
    use crate::math::Random;

    /// Inverses of one matrix by both ways.
    struct Inverses(Sym3);

    impl pulp::WithSimd for Inverses {
        type Output = [Sym3; 2];
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [Sym3; 2] {
            let a = sym_constant(simd, &self.0);
            [sym_inverse(a).unwrap(), inverse_by_cofactors(a)].map(|x| {
                let mut lanes = [[0.0; 8]; 6];
                for i in 0..6 {
                    x[i].store(&mut lanes[i], 0);
                }
                Sym3::from_entries(lanes.map(|lane| lane[0]))
            })
        }
    }

    #[test]
    fn inverses_in_lanes_are_those_of_one_matrix() {
        let mut random = Random::new(5);
        for _ in 0..100 {
            let a = definite(&mut random);
            let alone = a.inverse().unwrap();
            for arch in [pulp::Arch::new(), pulp::Arch::Scalar] {
                let [pivoted, cofactors] = arch.dispatch(Inverses(a));
                assert_eq!(pivoted, alone);
                let size = alone.xx + alone.yy + alone.zz;
                let off = (cofactors.matrix() - alone.matrix()).to_cols_array();
                assert!(off.iter().all(|x| x.abs() < 1e-11 * size), "{off:?}");
            }
        }
    }
}
