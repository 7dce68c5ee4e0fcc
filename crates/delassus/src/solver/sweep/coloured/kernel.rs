//! The visit of `rule=iso` to a group of contacts, as many at once as the processor has lanes.
//!
//! Every lane computes what a single contact would; no sum crosses lanes and nothing is fused, so that the bits do
//! not depend on the number of lanes.

use pulp::Simd;

use super::lanes::{Group, LANES, Lane, Row};
use crate::math::simd::turned::{self, columns};
use crate::math::simd::{Vec3, X, cross, dot, sum, three};

/// Squares below this would underflow; so small a tangential impulse is none.
pub(super) const TINY: f64 = 1e-280;

/// Σ|DΔ|², max|DΔ|² and Σ(wᵀΔ + ½ΔᵀDΔ), lane by lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaneStats {
    pub(super) squared: Lane,
    pub(super) largest: Lane,
    pub(super) change: Lane,
}

/// Visits groups one after the other, chosen at run time for the processor at hand.
pub(super) struct Visit<'a> {
    pub(super) groups: &'a mut [Group],
    pub(super) rows: &'a mut [Row],
    /// Over- and under-relaxation: factor of w inside the law, factor of the step.
    pub(super) relax: (f64, f64),
    pub(super) backward: bool,
}

impl pulp::WithSimd for Visit<'_> {
    type Output = LaneStats;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> LaneStats {
        let mut stats = LaneStats::default();
        let relax = (X::splat(simd, self.relax.0), X::splat(simd, self.relax.1));
        let count = self.groups.len();
        for g in 0..count {
            let group = &mut self.groups[if self.backward { count - 1 - g } else { g }];
            for part in 0..LANES / S::F64_LANES {
                visit(simd, group, part, self.rows, relax, &mut stats);
            }
        }
        stats
    }
}

/// Adds what the impulses of groups do to the velocities, one group after the other.
pub(super) struct Push<'a> {
    pub(super) groups: &'a [Group],
    pub(super) rows: &'a mut [Row],
}

impl pulp::WithSimd for Push<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for group in self.groups {
            for part in 0..LANES / S::F64_LANES {
                let range = part * S::F64_LANES..(part + 1) * S::F64_LANES;
                let first = &group.bodies[0][range.clone()];
                let second = &group.bodies[1][range];
                let a = BodyLanes::gather(simd, self.rows, first);
                let b = BodyLanes::gather(simd, self.rows, second);
                let [n, t1, t2] = frame(simd, group, part);
                let arm_a = X::load_all(simd, &group.arms[0], part);
                let arm_b = X::load_all(simd, &group.arms[1], part);
                let lambda = X::load_all(simd, &group.lambda, part);
                let f = three!(j => dot([n[j], t1[j], t2[j]], lambda));
                a.push(f, arm_a, self.rows, first);
                b.push(three!(j => -f[j]), arm_b, self.rows, second);
            }
        }
    }
}

/// One body of every lane: velocity, spin, 1/m and I⁻¹.
pub(super) struct BodyLanes<S: Simd>([X<S>; Row::WIDTH]);

impl<S: Simd> BodyLanes<S> {
    #[inline(always)]
    pub(super) fn gather(simd: S, rows: &[Row], bodies: &[u32]) -> BodyLanes<S> {
        let half = |l: usize, k: usize| {
            let halves = rows[bodies[l] as usize].0.as_chunks::<LANES>().0;
            &halves[k]
        };
        let [a, b, c, d, e, f, g, h] = columns(simd, |l| half(l, 0));
        let [i, j, k, l, m, n, o, p] = columns(simd, |l| half(l, 1));
        BodyLanes([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }

    #[inline(always)]
    pub(super) fn velocity(&self) -> Vec3<S> {
        [self.0[0], self.0[1], self.0[2]]
    }

    #[inline(always)]
    pub(super) fn spin(&self) -> Vec3<S> {
        [self.0[3], self.0[4], self.0[5]]
    }

    /// v ← v + M⁻¹(f, r × f), back to the rows; gives by how much the body now moves faster at the arm r.
    #[inline(always)]
    pub(super) fn push(
        &self,
        f: Vec3<S>,
        arm: Vec3<S>,
        rows: &mut [Row],
        bodies: &[u32],
    ) -> Vec3<S> {
        let [vx, vy, vz, wx, wy, wz, m, xx, xy, xz, yy, yz, zz, ..] = self.0;
        let t = cross(arm, f);
        let dv = [m * f[0], m * f[1], m * f[2]];
        let dw = [
            dot([xx, xy, xz], t),
            dot([xy, yy, yz], t),
            dot([xz, yz, zz], t),
        ];
        let new = [
            vx + dv[0],
            vy + dv[1],
            vz + dv[2],
            wx + dw[0],
            wy + dw[1],
            wz + dw[2],
            m,
            xx,
        ];
        // The first half of a row is written whole: what stands behind the velocity is what was there.
        turned::rows(new, |l, half| {
            if let Some(first) = rows[bodies[l] as usize].0.first_chunk_mut() {
                *first = half;
            }
        });
        sum(dv, cross(dw, arm))
    }
}

/// n, t₁ and t₂ = n × t₁.
#[inline(always)]
pub(super) fn frame<S: Simd>(simd: S, group: &Group, part: usize) -> [Vec3<S>; 3] {
    let n = X::load_all(simd, &group.normal, part);
    let t1 = X::load_all(simd, &group.tangent, part);
    [n, t1, cross(n, t1)]
}

/// Visits as many contacts of a group as there are lanes.
#[inline(always)]
fn visit<S: Simd>(
    simd: S,
    group: &mut Group,
    part: usize,
    rows: &mut [Row],
    (before, after): (X<S>, X<S>),
    stats: &mut LaneStats,
) {
    let range = part * S::F64_LANES..(part + 1) * S::F64_LANES;
    let bodies = group.bodies;
    let (first, second) = (&bodies[0][range.clone()], &bodies[1][range]);
    let a = BodyLanes::gather(simd, rows, first);
    let b = BodyLanes::gather(simd, rows, second);
    let [n, t1, t2] = frame(simd, group, part);
    let arm_a = X::load_all(simd, &group.arms[0], part);
    let arm_b = X::load_all(simd, &group.arms[1], part);
    let lambda = X::load_all(simd, &group.lambda, part);
    let sigma = X::load_all(simd, &group.sigma, part);
    let q = X::load_all(simd, &group.q, part);
    // u = v_a + ω_a × r_a − v_b − ω_b × r_b
    let (va, vb) = (a.velocity(), b.velocity());
    let (ra, rb) = (cross(a.spin(), arm_a), cross(b.spin(), arm_b));
    let u = three!(i => (va[i] + ra[i]) - (vb[i] + rb[i]));
    // w = G v + Σλ − q
    let gv = [dot(n, u), dot(t1, u), dot(t2, u)];
    let w: Vec3<S> = three!(i => gv[i] + (sigma[i] * lambda[i] - q[i]));
    let z = iso(simd, group, part, three!(i => w[i] * before), lambda);
    let delta: Vec3<S> = three!(i => after * (z[i] - lambda[i]));
    for i in 0..3 {
        (lambda[i] + delta[i]).store(&mut group.lambda[i], part);
    }
    // f = nΔ_n + t₁Δ₁ + t₂Δ₂ pushes the first body and pulls the second.
    let f = three!(j => dot([n[j], t1[j], t2[j]], delta));
    let gained = a.push(f, arm_a, rows, first);
    let lost = b.push(three!(j => -f[j]), arm_b, rows, second);
    // DΔ = G M⁻¹GᵀΔ + ΣΔ
    let u = three!(i => gained[i] - lost[i]);
    let gv = [dot(n, u), dot(t1, u), dot(t2, u)];
    let moved: Vec3<S> = three!(i => gv[i] + sigma[i] * delta[i]);
    let half = X::splat(simd, 0.5);
    let change = dot(three!(i => w[i] + half * moved[i]), delta);
    let squared = dot(moved, moved);
    let largest = X::load(simd, &stats.largest, part);
    (X::load(simd, &stats.squared, part) + squared).store(&mut stats.squared, part);
    (X::load(simd, &stats.change, part) + change).store(&mut stats.change, part);
    largest
        .if_below(squared, squared, largest)
        .store(&mut stats.largest, part);
}

/// z_n = max(0, λ_n − w_n/d_nn), then [`slide`].
#[inline(always)]
fn iso<S: Simd>(simd: S, group: &Group, part: usize, w: Vec3<S>, lambda: Vec3<S>) -> Vec3<S> {
    let n = normal(simd, group, part, w[0], lambda[0]);
    slide(simd, group, part, (n, w, lambda))
}

/// max(0, λ_n − w_n/d_nn).
#[inline(always)]
pub(super) fn normal<S: Simd>(simd: S, group: &Group, part: usize, w: X<S>, lambda: X<S>) -> X<S> {
    let zero = X::splat(simd, 0.0);
    let n = lambda - w * X::load(simd, &group.normal_step, part);
    zero.if_below(n, n, zero)
}

/// z_t = P_disk(λ_t − w_t/δ) under the normal impulse n, with w_t refreshed and δ = λ_max(D_tt).
#[inline(always)]
pub(super) fn slide<S: Simd>(
    simd: S,
    group: &Group,
    part: usize,
    (n, w, lambda): (X<S>, Vec3<S>, Vec3<S>),
) -> Vec3<S> {
    let step = X::load(simd, &group.step, part);
    let mu = X::load(simd, &group.mu, part);
    let delta = n - lambda[0];
    let [nt1, nt2] = X::load_all(simd, &group.coupling, part);
    let t1 = lambda[1] - step * (w[1] + nt1 * delta);
    let t2 = lambda[2] - step * (w[2] + nt2 * delta);
    let radius = mu * n;
    let squared = t1 * t1 + t2 * t2;
    let outside = radius.over_root(squared);
    let scale = (radius * radius).if_below(squared, outside, X::splat(simd, 1.0));
    let scale = squared.if_below(X::splat(simd, TINY), X::splat(simd, 0.0), scale);
    [n, t1 * scale, t2 * scale]
}
