//! Vectors, matrices and turns of eight bodies side by side.

use pulp::Simd;

use super::super::Gyroscopic;
use super::super::rattle::MIDPOINT;
use crate::linalg::sym3::lanes::{Sym, inverse_by_cofactors, sym_column, sym_mul};
use crate::math::simd::fused::{Mat3, add_cross, add_scaled, cross, dot};
use crate::math::simd::turn::{SMALL_TURN, turned_frame};
use crate::math::simd::{Vec3, X, difference, each, scaled, sum, three};

/// The largest of three squares.
#[inline(always)]
pub(super) fn largest_square<S: Simd>(a: Vec3<S>) -> X<S> {
    (a[0] * a[0]).max(a[1] * a[1]).max(a[2] * a[2])
}

/// A vector of a body in the world.
#[inline(always)]
pub(super) fn turned<S: Simd>(q: [X<S>; 4], a: Vec3<S>) -> Vec3<S> {
    let [x, y, z, w] = q;
    // a + w t + u × t with t = 2 u × a
    let u = [x, y, z];
    let t = scaled(cross(u, a), w.like(2.0));
    add_cross(add_scaled(a, t, w), u, t)
}

/// exp(h w) ⊗ q.
#[inline(always)]
pub(super) fn frame<S: Simd>(q: [X<S>; 4], w: Vec3<S>, h: f64) -> [X<S>; 4] {
    let half = scaled(w, w[0].like(0.5 * h));
    if dot(half, half).all_below(w[0].like(SMALL_TURN)) {
        turned_frame::<S, false>(q, w, h)
    } else {
        turned_frame::<S, true>(q, w, h)
    }
}

/// Orientation and angular velocity of a free body of this inertia in body axes after h seconds, by the implicit
/// midpoint rule.
#[inline(always)]
pub(super) fn free_turn<S: Simd>(
    inertia: Sym<S>,
    q: [X<S>; 4],
    w: Vec3<S>,
    h: f64,
) -> ([X<S>; 4], Vec3<S>) {
    // L = R I Rᵀω stays; ω(R) = R I⁻¹RᵀL at any orientation R.
    let momentum = turned(q, sym_mul(inertia, turned_back(q, w)));
    let inverse = inverse_by_cofactors(inertia);
    // ω½ = ω(exp(½h ω½) R₀) by fixed-point rounds, then R₁ = exp(h ω½) R₀.
    let mut middle = w;
    for _ in 0..MIDPOINT {
        let turn = frame(q, middle, 0.5 * h);
        middle = turned(turn, sym_mul(inverse, turned_back(turn, momentum)));
    }
    let end = frame(q, middle, h);
    (
        end,
        turned(end, sym_mul(inverse, turned_back(end, momentum))),
    )
}

/// A vector of the world in the axes of a body.
#[inline(always)]
fn turned_back<S: Simd>(q: [X<S>; 4], a: Vec3<S>) -> Vec3<S> {
    turned([-q[0], -q[1], -q[2], q[3]], a)
}

/// The axes of a body in the world, by columns.
#[inline(always)]
pub(super) fn matrix<S: Simd>(q: [X<S>; 4]) -> Mat3<S> {
    let (one, zero) = (q[0].like(1.0), q[0].like(0.0));
    three!(j => turned(q, {
        let mut axis = [zero; 3];
        axis[j] = one;
        axis
    }))
}

/// K = (rᵀf)(1 − r̂r̂ᵀ) where rᵀf > 0.
#[inline(always)]
pub(super) fn stiffness<S: Simd>(force: Vec3<S>, r: Vec3<S>) -> Sym<S> {
    let (pull, zero) = (dot(force, r), force[0].like(0.0));
    let square = dot(r, r);
    let k = zero.if_below(pull, pull, zero);
    let s = zero.if_below(pull, pull / square, zero);
    let n = scaled(r, s);
    [
        n[0].neg_mul_add(r[0], k),
        n[0].neg_mul_add(r[1], zero),
        n[0].neg_mul_add(r[2], zero),
        n[1].neg_mul_add(r[1], k),
        n[1].neg_mul_add(r[2], zero),
        n[2].neg_mul_add(r[2], k),
    ]
}

/// Angular momentum after the gyroscopic torque alone has acted: one Newton step where it is implicit.
#[inline(always)]
pub(super) fn gyroscopic<S: Simd>(
    kind: Gyroscopic,
    inertia: Sym<S>,
    spin: Vec3<S>,
    h: X<S>,
) -> Vec3<S> {
    let momentum = sym_mul(inertia, spin);
    let f = scaled(cross(spin, momentum), h);
    match kind {
        Gyroscopic::Off => momentum,
        Gyroscopic::Explicit => difference(momentum, f),
        Gyroscopic::Implicit => {
            // J = I + h([ω]× I − [Iω]×); ω ← ω − J⁻¹f
            let (one, zero) = (h.like(1.0), h.like(0.0));
            let j = three!(j => {
                let mut axis = [zero; 3];
                axis[j] = one;
                let column = sym_column(inertia, j);
                let turn = difference(cross(spin, column), cross(momentum, axis));
                add_scaled(column, turn, h)
            });
            let (yz, zx, xy) = (cross(j[1], j[2]), cross(j[2], j[0]), cross(j[0], j[1]));
            let scale = dot(j[0], yz).recip();
            let lost = [dot(f, yz) * scale, dot(f, zx) * scale, dot(f, xy) * scale];
            let turned = difference(spin, lost);
            let after = sym_mul(inertia, turned);
            // The torque does no work: ω ← ω √(T / T⁺) where T⁺ = ½ωᵀIω is beyond T.
            let (energy, limit) = (dot(turned, after), dot(spin, momentum));
            let keep = limit.if_below(energy, (limit / energy).sqrt(), one);
            scaled(after, keep)
        }
    }
}

/// A + m 1.
#[inline(always)]
pub(super) fn plus_diagonal<S: Simd>(a: Sym<S>, m: X<S>) -> Sym<S> {
    [a[0] + m, a[1], a[2], a[3] + m, a[4], a[5] + m]
}

/// Nine numbers as the columns of a matrix.
#[inline(always)]
pub(super) fn columns<S: Simd>(b: [X<S>; 9]) -> Mat3<S> {
    three!(j => [b[3 * j], b[3 * j + 1], b[3 * j + 2]])
}

/// The columns one after the other.
#[inline(always)]
pub(super) fn flat<S: Simd>(b: Mat3<S>) -> [X<S>; 9] {
    each!([b[0][0]; 9], i => b[i / 3][i % 3])
}

/// Row j of a matrix.
#[inline(always)]
pub(super) fn rows<S: Simd>(b: Mat3<S>, j: usize) -> Vec3<S> {
    [b[0][j], b[1][j], b[2][j]]
}

#[inline(always)]
pub(super) fn add_matrices<S: Simd>(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    three!(j => sum(a[j], b[j]))
}

/// A[r]×: column j is A (r × e_j).
#[inline(always)]
pub(super) fn times_cross<S: Simd>(a: Sym<S>, r: Vec3<S>) -> Mat3<S> {
    let (x, y, z) = (sym_column(a, 0), sym_column(a, 1), sym_column(a, 2));
    [
        three!(i => z[i].neg_mul_add(r[1], y[i] * r[2])),
        three!(i => x[i].neg_mul_add(r[2], z[i] * r[0])),
        three!(i => y[i].neg_mul_add(r[0], x[i] * r[1])),
    ]
}

/// −[s]×B where that is symmetric.
#[inline(always)]
pub(super) fn cross_once<S: Simd>(s: Vec3<S>, b: Mat3<S>) -> Sym<S> {
    let c = three!(j => cross(b[j], s));
    [c[0][0], c[1][0], c[2][0], c[1][1], c[2][1], c[2][2]]
}

/// [r]×ᵀB + B₀ᵀ[r]×, which is symmetric where B = B₀ + A[r]×.
#[inline(always)]
pub(super) fn cross_both<S: Simd>(r: Vec3<S>, below: Mat3<S>, b: Mat3<S>) -> Sym<S> {
    // Columns of [r]×ᵀB are B_j × r; those of the other term are rows of the same of B₀.
    let c = three!(j => cross(b[j], r));
    let d = three!(j => cross(below[j], r));
    [
        c[0][0] + d[0][0],
        c[1][0] + d[0][1],
        c[2][0] + d[0][2],
        c[1][1] + d[1][1],
        c[2][1] + d[1][2],
        c[2][2] + d[2][2],
    ]
}
