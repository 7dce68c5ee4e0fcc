//! Vectors and matrices of three in lanes, products fused with sums.

use glam::DVec3;
use pulp::Simd;

pub(super) use crate::math::simd::Sym;
pub(super) use crate::math::simd::fused::{add_scaled, cross, subtract_scaled};
use crate::math::simd::{LANES, Vec3, X, each, scaled, three};
use crate::tree::spatial::Sym3;
use crate::tree::turns::sin_cos;

/// Columns of a matrix in each lane.
pub(super) type Mat3<S> = [Vec3<S>; 3];
/// Angular and linear part: a torque and a force, or a turn and a push.
pub(super) type Spatial<S> = [Vec3<S>; 2];
/// Mass, and first and second moments in world axes.
pub(super) type Moments<S> = (X<S>, Vec3<S>, Sym<S>);

#[inline(always)]
pub(super) fn dot<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> X<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// c + (a × b)_k.
#[inline(always)]
pub(super) fn add_cross_at<S: Simd>(c: X<S>, a: Vec3<S>, b: Vec3<S>, k: usize) -> X<S> {
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    a[j].neg_mul_add(b[i], a[i].mul_add(b[j], c))
}

/// c + a × b.
#[inline(always)]
pub(super) fn add_cross<S: Simd>(c: Vec3<S>, a: Vec3<S>, b: Vec3<S>) -> Vec3<S> {
    three!(k => add_cross_at(c[k], a, b, k))
}

/// M x.
#[inline(always)]
pub(super) fn mul<S: Simd>(m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    add_scaled(add_scaled(scaled(m[0], x[0]), m[1], x[1]), m[2], x[2])
}

/// c + M x.
#[inline(always)]
pub(super) fn add_mul<S: Simd>(c: Vec3<S>, m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    add_scaled(
        add_scaled(add_scaled(c, m[0], x[0]), m[1], x[1]),
        m[2],
        x[2],
    )
}

/// Mᵀx.
#[inline(always)]
pub(super) fn mul_transposed<S: Simd>(m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    three!(j => dot(m[j], x))
}

/// A B.
#[inline(always)]
pub(super) fn product<S: Simd>(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    three!(j => mul(a, b[j]))
}

/// Aᵀ B.
#[inline(always)]
pub(super) fn transposed_product<S: Simd>(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    three!(j => mul_transposed(a, b[j]))
}

#[inline(always)]
pub(super) fn transposed<S: Simd>(m: Mat3<S>) -> Mat3<S> {
    three!(i => [m[0][i], m[1][i], m[2][i]])
}

/// R A Rᵀ of a symmetric matrix A, given by its columns.
#[inline(always)]
pub(super) fn congruent<S: Simd>(r: Mat3<S>, columns: Mat3<S>) -> Sym<S> {
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

/// Column j of a symmetric matrix.
#[inline(always)]
pub(super) fn sym_column<S: Simd>(s: Sym<S>, j: usize) -> Vec3<S> {
    match j {
        0 => [s[0], s[1], s[2]],
        1 => [s[1], s[3], s[4]],
        _ => [s[2], s[4], s[5]],
    }
}

#[inline(always)]
pub(super) fn sym_mul<S: Simd>(s: Sym<S>, x: Vec3<S>) -> Vec3<S> {
    three!(i => dot(sym_column(s, i), x))
}

/// c + A x.
#[inline(always)]
pub(super) fn add_sym_mul<S: Simd>(c: Vec3<S>, s: Sym<S>, x: Vec3<S>) -> Vec3<S> {
    add_mul(c, three!(j => sym_column(s, j)), x)
}

/// The symmetric part of a matrix.
#[inline(always)]
pub(super) fn sym_of<S: Simd>(m: Mat3<S>) -> Sym<S> {
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
pub(super) fn subtract_outer<S: Simd>(a: Sym<S>, u: Vec3<S>, w: Vec3<S>) -> Sym<S> {
    [
        u[0].neg_mul_add(w[0], a[0]),
        u[0].neg_mul_add(w[1], a[1]),
        u[0].neg_mul_add(w[2], a[2]),
        u[1].neg_mul_add(w[1], a[3]),
        u[1].neg_mul_add(w[2], a[4]),
        u[2].neg_mul_add(w[2], a[5]),
    ]
}

/// The inverse by LDLᵀ, or the first pivot that is not safely positive in some lane.
#[inline(always)]
pub(super) fn sym_inverse<S: Simd>([xx, xy, xz, yy, yz, zz]: Sym<S>) -> Result<Sym<S>, f64> {
    let one = xx.like(1.0);
    let largest = yy.abs().if_below(zz.abs(), zz.abs(), yy.abs());
    let largest = xx.abs().if_below(largest, largest, xx.abs());
    let cut = xx.like(1e-15) * largest;
    positive(xx, cut)?;
    let d1 = one / xx;
    let (l21, l31) = (xy * d1, xz * d1);
    let second = yy - l21 * xy;
    positive(second, cut)?;
    let d2 = one / second;
    let off = yz - l31 * xy;
    let l32 = off * d2;
    let third = zz - l31 * xz - l32 * off;
    positive(third, cut)?;
    let d3 = one / third;
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

/// Refuses pivots that are not above their cut in every lane.
#[inline(always)]
pub(super) fn positive<S: Simd>(pivot: X<S>, cut: X<S>) -> Result<(), f64> {
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

/// Newton and Euler: what a link needs that turns and is pushed so, with this spin.
#[inline(always)]
pub(super) fn newton_euler<S: Simd>(
    (mass, first, second): Moments<S>,
    spin: Vec3<S>,
    [turn, push]: Spatial<S>,
) -> Spatial<S> {
    let torque = add_cross(sym_mul(second, turn), first, push);
    let torque = add_cross(torque, spin, sym_mul(second, spin));
    let force = add_cross(scaled(push, mass), turn, first);
    let force = add_cross(force, spin, cross(spin, first));
    [torque, force]
}

/// Axes turned about their third by an angle.
#[inline(always)]
pub(super) fn turned<S: Simd>(base: Mat3<S>, [angle]: [X<S>; 1]) -> Mat3<S> {
    let (sin, cos) = sin_cos(angle);
    let x = add_scaled(scaled(base[0], cos), base[1], sin);
    let y = subtract_scaled(scaled(base[1], cos), base[0], sin);
    [x, y, base[2]]
}

/// The rotation of a quaternion (w, x, y, z) of any length.
#[inline(always)]
pub(super) fn orientation<S: Simd>(q: [X<S>; 4]) -> Mat3<S> {
    let one = q[0].like(1.0);
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    let [w, x, y, z] = scaled(q, one / length);
    let (x2, y2, z2) = (x + x, y + y, z + z);
    [
        [one - y * y2 - z * z2, x * y2 + w * z2, x * z2 - w * y2],
        [x * y2 - w * z2, one - x * x2 - z * z2, y * z2 + w * x2],
        [x * z2 + w * y2, y * z2 - w * x2, one - x * x2 - y * y2],
    ]
}

/// Nothing, then ones: a vector from the middle begins with as many zeros as one likes.
const STEP: [f64; 2 * LANES] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
];

/// One for the places of a range, zero for the others of a vector that starts at `start`.
#[inline(always)]
pub(super) fn inside<S: Simd>(simd: S, start: usize, (from, to): (usize, usize)) -> X<S> {
    let after = |place: usize| {
        let zeros = place.saturating_sub(start).min(LANES);
        X(simd, S::as_simd_f64s(&STEP[LANES - zeros..]).0[0])
    };
    after(from) - after(to)
}

/// The same vector everywhere.
#[inline(always)]
pub(super) fn constant<S: Simd>(simd: S, v: DVec3) -> Vec3<S> {
    three!(i => X::splat(simd, v[i]))
}

/// The same symmetric matrix everywhere.
#[inline(always)]
pub(super) fn sym_constant<S: Simd>(simd: S, s: &Sym3) -> Sym<S> {
    let entries = [s.xx, s.xy, s.xz, s.yy, s.yz, s.zz];
    each!([X::splat(simd, 0.0); 6], i => X::splat(simd, entries[i]))
}
