//! Products fused with sums, rounded once.

use pulp::Simd;

use super::{Vec3, X, each};

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
