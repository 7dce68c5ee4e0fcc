//! What a bead does to its two joints, and how it turns.
//!
//! With u the unit vector along a bead, its share of S between its joints is −F, F = straight 1 + across uuᵀ:
//! symmetric, and cheap to apply. So the factors are the inverse pivots alone, six numbers for each joint.

use pulp::Simd;

use super::lanes::BeadMass;
use crate::linalg::sym3::lanes::{Sym, add_sym_mul, inverse_by_cofactors, sym_mul};
use crate::math::simd::fused::{add_scaled, cross, dot};
use crate::math::simd::turn::sine_cosine;
use crate::math::simd::{LanePart, Vec3, X, difference, scaled};

/// What its two joints see of a bead.
#[derive(Clone, Copy)]
pub(super) struct Seen<S: Simd> {
    mass_inverse: X<S>,
    /// Arms over inertia.
    turns: [X<S>; 2],
    /// S_kk has of this bead: near 1 − near_turn uuᵀ for the joint before it, far 1 − far_turn uuᵀ for the one
    /// behind it.
    near: X<S>,
    near_turn: X<S>,
    far: X<S>,
    far_turn: X<S>,
    /// Between its two joints S has −(straight 1 + across uuᵀ).
    straight: X<S>,
    across: X<S>,
}

impl<S: Simd> Seen<S> {
    /// A bead that resists turning across u with so much inertia, given as its inverse.
    #[inline(always)]
    pub(super) fn new(part: LanePart<S>, link: &BeadMass, inertia_inverse: X<S>) -> Seen<S> {
        let [before, behind] = link.arms.map(|arm| part.all(arm));
        let turns = [before * inertia_inverse, behind * inertia_inverse];
        let m = part.all(link.mass_inverse);
        let (near_turn, far_turn) = (turns[0] * before, turns[1] * behind);
        let across = turns[0] * behind;
        Seen {
            mass_inverse: m,
            turns,
            near: m + near_turn,
            near_turn,
            far: m + far_turn,
            far_turn,
            straight: m - across,
            across,
        }
    }

    /// F t = straight t + across u(uᵀt): what an impulse t of one joint asks of the other.
    #[inline(always)]
    pub(super) fn through(&self, u: Vec3<S>, t: Vec3<S>) -> Vec3<S> {
        let across = self.across * dot(u, t);
        add_scaled(scaled(t, self.straight), u, across)
    }

    /// far 1 − far_turn uuᵀ: what the joint behind sees of a bead that hangs from nothing.
    #[inline(always)]
    pub(super) fn alone(&self, u: Vec3<S>) -> Sym<S> {
        let s = scaled(u, -self.far_turn);
        let zero = self.far.like(0.0);
        let entry = |i: usize, j: usize, base: X<S>| s[i].mul_add(u[j], base);
        [
            entry(0, 0, self.far),
            entry(0, 1, zero),
            entry(0, 2, zero),
            entry(1, 1, self.far),
            entry(1, 2, zero),
            entry(2, 2, self.far),
        ]
    }

    /// What the bead leaves for the pivot of the joint behind it: far 1 − far_turn uuᵀ − F P F.
    #[inline(always)]
    fn behind(&self, p: Sym<S>, u: Vec3<S>) -> Sym<S> {
        // F P F = straight² P + u zᵀ + z uᵀ with z = straight across y + ½ across² (uᵀy) u, y = P u.
        let y = sym_mul(p, u);
        let half = self.far.like(0.5);
        let own = (half * self.across * self.across).mul_add(dot(u, y), half * self.far_turn);
        let mixed = self.straight * self.across;
        let z = add_scaled(scaled(u, own), y, mixed);
        let squared = self.straight * self.straight;
        let entry = |i: usize, j: usize, p: X<S>, base: X<S>| {
            let rest = squared.neg_mul_add(p, base);
            u[i].neg_mul_add(z[j], z[i].neg_mul_add(u[j], rest))
        };
        let (far, zero) = (self.far, self.far.like(0.0));
        [
            entry(0, 0, p[0], far),
            entry(0, 1, p[1], zero),
            entry(0, 2, p[2], zero),
            entry(1, 1, p[3], far),
            entry(1, 2, p[4], zero),
            entry(2, 2, p[5], far),
        ]
    }

    /// What beads before a joint leave, plus near 1 − near_turn uuᵀ of the bead behind it.
    #[inline(always)]
    pub(super) fn pivot(&self, left: Sym<S>, u: Vec3<S>) -> Sym<S> {
        let a = scaled(u, self.near_turn);
        let entry = |i: usize, j: usize, left: X<S>| a[i].neg_mul_add(u[j], left);
        [
            entry(0, 0, left[0] + self.near),
            entry(0, 1, left[1]),
            entry(0, 2, left[2]),
            entry(1, 1, left[3] + self.near),
            entry(1, 2, left[4]),
            entry(2, 2, left[5] + self.near),
        ]
    }

    /// Eliminates the joint before the bead: P, the inverse of its pivot, and what is left for the pivot behind.
    #[inline(always)]
    pub(super) fn eliminate(&self, left: Sym<S>, u: Vec3<S>) -> (Sym<S>, Sym<S>) {
        let p = inverse_by_cofactors(self.pivot(left, u));
        (p, self.behind(p, u))
    }

    /// λ = t + P F λ', the impulse before the bead from the one behind it, where t = P b of the forward half.
    #[inline(always)]
    pub(super) fn impulse(
        &self,
        u: Vec3<S>,
        (p, t): (Sym<S>, Vec3<S>),
        behind: Vec3<S>,
    ) -> Vec3<S> {
        add_sym_mul(t, p, self.through(u, behind))
    }

    /// Velocity and spin after impulses of the joints before and behind it.
    #[inline(always)]
    pub(super) fn pushed(
        &self,
        u: Vec3<S>,
        (v, w): (Vec3<S>, Vec3<S>),
        (before, after): (Vec3<S>, Vec3<S>),
    ) -> (Vec3<S>, Vec3<S>) {
        let v = add_scaled(v, difference(before, after), self.mass_inverse);
        let [near, far] = self.turns;
        let lever = add_scaled(scaled(before, near), after, far);
        (v, difference(w, cross(u, lever)))
    }
}

/// exp(h w) u and (h|w|)²; with `WIDE` for any angle, else exact below [`SMALL_TURN`] only.
#[inline(always)]
pub(super) fn turned<S: Simd, const WIDE: bool>(
    u: Vec3<S>,
    w: Vec3<S>,
    h: X<S>,
) -> (Vec3<S>, X<S>) {
    let a = scaled(w, h);
    let s = dot(a, a);
    let (sine, cosine) = sine_cosine::<S, WIDE>(s);
    let once = cross(a, u);
    (
        add_scaled(add_scaled(u, once, sine), cross(a, once), cosine),
        s,
    )
}

/// The body's x axis in the world.
#[inline(always)]
pub(super) fn axis<S: Simd>(part: LanePart<S>, q: [X<S>; 4]) -> Vec3<S> {
    let [x, y, z, w] = q;
    let two = part.all(2.0);
    [
        (-two).mul_add(y.mul_add(y, z * z), part.all(1.0)),
        two * x.mul_add(y, w * z),
        two * w.neg_mul_add(y, x * z),
    ]
}
