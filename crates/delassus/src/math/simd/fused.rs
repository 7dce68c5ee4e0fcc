//! Vectors and matrices of three in lanes, products fused with sums and rounded once.

use pulp::Simd;

use super::{Vec3, X, each, scaled, three};

/// Columns of a matrix in each lane.
pub(crate) type Mat3<S> = [Vec3<S>; 3];

/// aᵀb.
#[inline(always)]
pub(crate) fn dot<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> X<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// a × b.
#[inline(always)]
pub(crate) fn cross<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> Vec3<S> {
    [
        a[2].neg_mul_add(b[1], a[1] * b[2]),
        a[0].neg_mul_add(b[2], a[2] * b[0]),
        a[1].neg_mul_add(b[0], a[0] * b[1]),
    ]
}

/// c + s a.
#[inline(always)]
pub(crate) fn add_scaled<S: Simd, const N: usize>(
    c: [X<S>; N],
    a: [X<S>; N],
    s: X<S>,
) -> [X<S>; N] {
    each!(c, i => a[i].mul_add(s, c[i]))
}

/// c − s a.
#[inline(always)]
pub(crate) fn subtract_scaled<S: Simd, const N: usize>(
    c: [X<S>; N],
    a: [X<S>; N],
    s: X<S>,
) -> [X<S>; N] {
    each!(c, i => a[i].neg_mul_add(s, c[i]))
}

/// c + (a × b)_k.
#[inline(always)]
pub(crate) fn add_cross_at<S: Simd>(c: X<S>, a: Vec3<S>, b: Vec3<S>, k: usize) -> X<S> {
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    a[j].neg_mul_add(b[i], a[i].mul_add(b[j], c))
}

/// c + a × b.
#[inline(always)]
pub(crate) fn add_cross<S: Simd>(c: Vec3<S>, a: Vec3<S>, b: Vec3<S>) -> Vec3<S> {
    three!(k => add_cross_at(c[k], a, b, k))
}

/// M x.
#[inline(always)]
pub(crate) fn mul<S: Simd>(m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    add_scaled(add_scaled(scaled(m[0], x[0]), m[1], x[1]), m[2], x[2])
}

/// c + M x.
#[inline(always)]
pub(crate) fn add_mul<S: Simd>(c: Vec3<S>, m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    add_scaled(
        add_scaled(add_scaled(c, m[0], x[0]), m[1], x[1]),
        m[2],
        x[2],
    )
}

/// Mᵀx.
#[inline(always)]
pub(crate) fn mul_transposed<S: Simd>(m: Mat3<S>, x: Vec3<S>) -> Vec3<S> {
    three!(j => dot(m[j], x))
}

/// A B.
#[inline(always)]
pub(crate) fn product<S: Simd>(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    three!(j => mul(a, b[j]))
}

/// Aᵀ B.
#[inline(always)]
pub(crate) fn transposed_product<S: Simd>(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    three!(j => mul_transposed(a, b[j]))
}

#[inline(always)]
pub(crate) fn transposed<S: Simd>(m: Mat3<S>) -> Mat3<S> {
    three!(i => [m[0][i], m[1][i], m[2][i]])
}
