//! How links turn and what they need, in lanes, products fused with sums.

use glam::DVec3;
use pulp::Simd;

use crate::linalg::sym3::lanes::{Sym, sym_mul};
use crate::math::simd::fused::{Mat3, add_cross, add_scaled, cross, subtract_scaled};
use crate::math::simd::{LANES, Vec3, X, scaled, three};
use crate::tree::turns::sin_cos;

/// Angular and linear part: a torque and a force, or a turn and a push.
pub(super) type Spatial<S> = [Vec3<S>; 2];
/// Mass, and first and second moments in world axes.
pub(super) type Moments<S> = (X<S>, Vec3<S>, Sym<S>);

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
