//! From the rows of a problem to contacts in lanes, eight at a time: arms, steps and what else a visit needs.
//!
//! The same recognition as [`Point`](super::super::point::Point), for the contacts of one group at once.

use pulp::Simd;

use super::super::point::ROUNDING;
use super::domain::{Shared, state_rows, touched};
use super::lanes::{EMPTY, Group, LANES, Lane};
use crate::math::simd::{Vec3, X, cross, difference, sum};

/// Fills groups from their blocks; gives group and lane of every block that is no contact at a point.
pub(super) struct LayOut<'a> {
    pub(super) shared: Shared<'a>,
    /// First row of the domain's state.
    pub(super) first: usize,
    pub(super) blocks: &'a [[(u32, u32); LANES]],
    pub(super) groups: &'a mut [Group],
}

impl pulp::WithSimd for LayOut<'_> {
    type Output = Vec<(usize, usize)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<(usize, usize)> {
        let mut others = Vec::new();
        for (g, (group, blocks)) in self.groups.iter_mut().zip(self.blocks).enumerate() {
            let source = gather(self.shared, self.first, blocks, group);
            let mut wrong = [0.0; LANES];
            for part in 0..LANES / S::F64_LANES {
                recognise(simd, &source, group, part).store(&mut wrong, part);
            }
            for l in 0..LANES {
                if wrong[l] != 0.0 && blocks[l].0 != EMPTY {
                    group.clear(l);
                    others.push((g, l));
                }
            }
        }
        others
    }
}

/// What has to be computed with: the rows of G on both bodies, and D as (nn, nt₁, nt₂, t₁t₁, t₁t₂, t₂t₂).
struct Source {
    rows: [[Lane; 18]; 2],
    d: [Lane; 6],
}

/// Copies the numbers of eight blocks into lanes.
#[inline(always)]
fn gather(
    shared: Shared<'_>,
    first: usize,
    blocks: &[(u32, u32); LANES],
    group: &mut Group,
) -> Source {
    let (problem, primal) = (shared.problem, shared.primal);
    let mut rows = [[0.0; 36]; LANES];
    let mut d = [[0.0; LANES]; 6];
    for (l, &(k, start)) in blocks.iter().enumerate() {
        let (k, start) = (k as usize, start as usize);
        let Some((mu, masses)) = touched(shared, k) else {
            group.clear(l);
            continue;
        };
        for (side, e) in primal.jacobian().entry_range(k).enumerate() {
            if let Some(values) = primal.jacobian().entry_values(e).as_array::<18>() {
                rows[l][18 * side..18 * side + 18].copy_from_slice(values);
            }
        }
        if masses[1].is_none() {
            // Ground is pushed the other way, and does not turn.
            for i in [0, 1, 2, 6, 7, 8, 12, 13, 14] {
                rows[l][18 + i] = -rows[l][i];
            }
        }
        let block = problem.diagonal_blocks().block(k);
        for (to, from) in d.iter_mut().zip([0, 3, 6, 4, 5, 8]) {
            to[l] = block[from];
        }
        for i in 0..3 {
            group.q[i][l] = primal.q()[start + i];
            group.sigma[i][l] = primal.sigma()[start + i];
        }
        group.mu[l] = mu;
        for (to, row) in group.bodies.iter_mut().zip(state_rows(shared, first, masses)) {
            to[l] = row;
        }
    }
    let mut source = Source {
        rows: [[[0.0; LANES]; 18]; 2],
        d,
    };
    for (side, lanes) in source.rows.iter_mut().enumerate() {
        for (i, lane) in lanes.iter_mut().enumerate() {
            for l in 0..LANES {
                lane[l] = rows[l][18 * side + i];
            }
        }
    }
    source
}

/// Writes frame, arms and steps; zero where frame and arms explain all rows.
#[inline(always)]
fn recognise<S: Simd>(simd: S, source: &Source, group: &mut Group, part: usize) -> X<S> {
    let a = directions(X::load_all(simd, &source.rows[0], part));
    let b = directions(X::load_all(simd, &source.rows[1], part));
    let (arm_a, wrong_a) = arm(a);
    let (arm_b, wrong_b) = arm(b);
    let mut wrong = wrong_a + wrong_b;
    // Both bodies feel the same directions, of opposite sign, and the last follows from the others.
    let [n, t1, t2] = [a[0].0, a[1].0, a[2].0];
    let zero = n[0].like(0.0);
    for i in 0..3 {
        for x in sum(a[i].0, b[i].0) {
            wrong = wrong + beyond(x, zero);
        }
    }
    for x in difference(cross(n, t1), t2) {
        wrong = wrong + beyond(x, zero.like(ROUNDING));
    }
    for i in 0..3 {
        n[i].store(&mut group.normal[i], part);
        t1[i].store(&mut group.tangent[i], part);
        arm_a[i].store(&mut group.arms[0][i], part);
        arm_b[i].store(&mut group.arms[1][i], part);
    }
    let [nn, nt1, nt2, d11, d12, d22] = X::load_all(simd, &source.d, part);
    nt1.store(&mut group.coupling[0], part);
    nt2.store(&mut group.coupling[1], part);
    let half = zero.like(0.5);
    let off = half * (d11 - d22);
    let top = half * (d11 + d22) + (off * off + d12 * d12).sqrt();
    for (step, d) in [(&mut group.normal_step, nn), (&mut group.step, top)] {
        zero.if_below(d, d.recip(), zero).store(step, part);
    }
    wrong
}

/// Linear and rotational part of each of three rows.
#[inline(always)]
fn directions<S: Simd>(x: [X<S>; 18]) -> [(Vec3<S>, Vec3<S>); 3] {
    let row = [x[0], x[6], x[12]];
    let mut out = [([row[0]; 3], [row[0]; 3]); 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i].0[j] = x[6 * i + j];
            out[i].1[j] = x[6 * i + 3 + j];
        }
    }
    out
}

/// r with 2r = Σ dᵢ × (r × dᵢ), and how many numbers of the rows it does not explain to rounding.
#[inline(always)]
fn arm<S: Simd>(rows: [(Vec3<S>, Vec3<S>); 3]) -> (Vec3<S>, X<S>) {
    let zero = rows[0].0[0].like(0.0);
    let mut twice = [zero; 3];
    let mut largest = zero;
    for (d, turn) in rows {
        twice = sum(twice, cross(d, turn));
        for x in turn {
            largest = largest.max(x.abs());
        }
    }
    let half = zero.like(0.5);
    let r = [half * twice[0], half * twice[1], half * twice[2]];
    let limit = zero.like(ROUNDING) * largest;
    let mut wrong = zero;
    for (d, turn) in rows {
        for x in difference(cross(r, d), turn) {
            wrong = wrong + beyond(x, limit);
        }
    }
    (r, wrong)
}

/// One where |x| exceeds the limit or is no number, else zero.
#[inline(always)]
fn beyond<S: Simd>(x: X<S>, limit: X<S>) -> X<S> {
    // So small a number changes no limit but zero.
    let limit = limit + limit.like(f64::MIN_POSITIVE);
    x.abs().if_below(limit, limit.like(0.0), limit.like(1.0))
}
