//! GᵀAG of contacts and ball joints: all of one pair of bodies are added up before they go to their blocks of K.
//!
//! ```text
//! G_k = ±D [1, −[r]×]        D: three directions, r: arm from the centre of mass, [r]×x = r × x
//! P = DᵀAD ,   K_aa = Σ [P, −P[a]×; [a]×P, −[a]×P[a]×] ,   K_ab = −Σ [P, −P[b]×; [a]×P, −[a]×P[b]×] ,   K_bb, K_ba alike
//! ```
//!
//! Four blocks go side by side in lanes; the lanes are added in one order whatever the processor has.

use super::spread::Spread;
use crate::linalg::block_lu::{BlockLu, Slot};
use crate::problem::Primal;

/// Blocks in lanes.
const LANES: usize = 4;
type Lane = [f64; LANES];
/// A 3 × 3 matrix of each lane, row-major.
type Matrix = [Lane; 9];

/// Blocks of three rows at points of the same one or two bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    groups: Vec<Group>,
    /// Blocks of all groups.
    members: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Group {
    members: std::ops::Range<usize>,
    first: Slot,
    /// Of the second body, and of both.
    second: Option<(Slot, Slot)>,
}

/// Whether a block is one of three rows at a point of one body, or of two on different sides.
pub(super) fn is_pair(primal: &Primal, k: usize) -> bool {
    primal.jacobian().point(k).is_some_and(|point| {
        let mut ends = point.ends();
        let (first, second) = (ends.next(), ends.next());
        let apart = match (first, second) {
            (Some((a, _, one)), Some((b, _, other))) => a != b && one != other,
            (first, _) => first.is_some(),
        };
        point.directions.len() == 3 && apart && ends.next().is_none()
    })
}

impl Pairs {
    /// Groups the blocks by their bodies, in the order of their first blocks.
    pub(super) fn group(
        &mut self,
        (primal, spread): (&Primal, &Spread),
        blocks: impl Iterator<Item = usize>,
        lu: &BlockLu,
    ) {
        let key = |k: usize| {
            let entries = primal.jacobian().entry_range(k);
            let node = |e: usize| spread.node(primal.jacobian().entry_mass(e));
            let mut masses = entries.map(node);
            (masses.next().unwrap_or(0), masses.next())
        };
        let mut sorted: Vec<_> = blocks.map(|k| (key(k), k as u32)).collect();
        sorted.sort_unstable();
        self.groups.clear();
        self.members.clear();
        for same in sorted.chunk_by(|x, y| x.0 == y.0) {
            let start = self.members.len();
            self.members.extend(same.iter().map(|(_, k)| *k));
            let (a, b) = same[0].0;
            self.groups.push(Group {
                members: start..self.members.len(),
                first: lu.slot(a, a),
                second: b.map(|b| (lu.slot(b, b), lu.slot(a, b))),
            });
        }
    }

    /// K ← K + Σ GᵀAG, A of block k being nine numbers from `squares[k]` on.
    pub(super) fn add(&self, primal: &Primal, (a, squares): (&[f64], &[usize]), lu: &mut BlockLu) {
        pulp::Arch::new().dispatch(Add {
            pairs: self,
            primal,
            a,
            squares,
            lu,
        });
    }
}

/// Compiled for the instructions of the machine.
struct Add<'a> {
    pairs: &'a Pairs,
    primal: &'a Primal,
    a: &'a [f64],
    squares: &'a [usize],
    lu: &'a mut BlockLu,
}

impl pulp::WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for group in &self.pairs.groups {
            let members = &self.pairs.members[group.members.clone()];
            let mut sums = Sums::default();
            for four in members.chunks(LANES) {
                let lanes = Lanes::read(self.primal, four, (self.a, self.squares));
                sums.add(&lanes, group.second.is_some());
            }
            let aa = sums.block([&sums.p, &sums.ya, &sums.xa, &sums.aa], 1.0);
            add_block(self.lu.values_mut(&group.first).0, &group.first, &aa);
            if let Some((second, both)) = &group.second {
                let bb = sums.block([&sums.p, &sums.yb, &sums.xb, &sums.bb], 1.0);
                add_block(self.lu.values_mut(second).0, second, &bb);
                let ab = sums.block([&sums.p, &sums.ya, &sums.xb, &sums.ab], -1.0);
                let ba = sums.block([&sums.p, &sums.yb, &sums.xa, &sums.ba], -1.0);
                let (upper, lower) = self.lu.values_mut(both);
                let (one, other) = if both.swapped { (&ba, &ab) } else { (&ab, &ba) };
                add_block(upper, both, one);
                add_turned(lower, both, other);
            }
        }
    }
}

/// Four blocks: A, directions and arms.
struct Lanes {
    a: Matrix,
    d: Matrix,
    arms: [[Lane; 3]; 2],
}

impl Lanes {
    #[inline(always)]
    fn read(primal: &Primal, four: &[u32], (a, squares): (&[f64], &[usize])) -> Lanes {
        let mut lanes = Lanes {
            a: [[0.0; LANES]; 9],
            d: [[0.0; LANES]; 9],
            arms: [[[0.0; LANES]; 3]; 2],
        };
        for (l, &k) in four.iter().enumerate() {
            let Some(point) = primal.jacobian().point(k as usize) else {
                continue;
            };
            let start = squares[k as usize];
            for (to, from) in lanes.a.iter_mut().zip(&a[start..start + 9]) {
                to[l] = *from;
            }
            for (to, from) in lanes.d.iter_mut().zip(point.directions.as_flattened()) {
                to[l] = *from;
            }
            for (to, (_, arm, _)) in lanes.arms.iter_mut().zip(point.ends()) {
                for (to, from) in to.iter_mut().zip(arm.to_array()) {
                    to[l] = from;
                }
            }
        }
        lanes
    }
}

/// Sums over the blocks of a pair with arms a and b: P, P[a]×, P[b]×, [a]×P, [b]×P and the four [·]×P[·]×.
struct Sums {
    p: Matrix,
    xa: Matrix,
    xb: Matrix,
    ya: Matrix,
    yb: Matrix,
    aa: Matrix,
    ab: Matrix,
    ba: Matrix,
    bb: Matrix,
}

impl Default for Sums {
    #[inline(always)]
    fn default() -> Sums {
        let zero = [[0.0; LANES]; 9];
        Sums {
            p: zero,
            xa: zero,
            xb: zero,
            ya: zero,
            yb: zero,
            aa: zero,
            ab: zero,
            ba: zero,
            bb: zero,
        }
    }
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, lanes: &Lanes, two: bool) {
        // P = Dᵀ(A D)
        let ad = product(&lanes.a, &lanes.d, |i, k| 3 * i + k);
        let p = product(&lanes.d, &ad, |i, k| 3 * k + i);
        let [a, b] = &lanes.arms;
        let xa = times_cross(&p, a);
        increase(&mut self.p, &p);
        increase(&mut self.ya, &cross_times(a, &p));
        increase(&mut self.aa, &cross_times(a, &xa));
        if two {
            let xb = times_cross(&p, b);
            increase(&mut self.yb, &cross_times(b, &p));
            increase(&mut self.ab, &cross_times(a, &xb));
            increase(&mut self.ba, &cross_times(b, &xa));
            increase(&mut self.bb, &cross_times(b, &xb));
            increase(&mut self.xb, &xb);
        }
        increase(&mut self.xa, &xa);
    }

    /// ±[P, −X; Y, −Z] with the lanes added up.
    #[inline(always)]
    fn block(&self, [p, y, x, z]: [&Matrix; 4], sign: f64) -> [[f64; 6]; 6] {
        let mut block = [[0.0; 6]; 6];
        for i in 0..3 {
            for j in 0..3 {
                let at = |m: &Matrix| {
                    let m = &m[3 * i + j];
                    (m[0] + m[1]) + (m[2] + m[3])
                };
                block[i][j] = sign * at(p);
                block[i][3 + j] = -sign * at(x);
                block[3 + i][j] = sign * at(y);
                block[3 + i][3 + j] = -sign * at(z);
            }
        }
        block
    }
}

/// X Y, the entry (i, k) of X being number `at(i, k)`.
#[inline(always)]
fn product(x: &Matrix, y: &Matrix, at: impl Fn(usize, usize) -> usize) -> Matrix {
    let mut out = [[0.0; LANES]; 9];
    for i in 0..3 {
        for j in 0..3 {
            let out = &mut out[3 * i + j];
            for k in 0..3 {
                let (x, y) = (&x[at(i, k)], &y[3 * k + j]);
                for l in 0..LANES {
                    out[l] += x[l] * y[l];
                }
            }
        }
    }
    out
}

/// M[r]×: rows of M crossed with r, mᵀ[r]× = (m × r)ᵀ.
#[inline(always)]
fn times_cross(m: &Matrix, r: &[Lane; 3]) -> Matrix {
    let mut out = [[0.0; LANES]; 9];
    for i in 0..3 {
        for j in 0..3 {
            let (u, v) = ((j + 1) % 3, (j + 2) % 3);
            for l in 0..LANES {
                out[3 * i + j][l] = m[3 * i + u][l] * r[v][l] - m[3 * i + v][l] * r[u][l];
            }
        }
    }
    out
}

/// [r]×M: r crossed with columns of M.
#[inline(always)]
fn cross_times(r: &[Lane; 3], m: &Matrix) -> Matrix {
    let mut out = [[0.0; LANES]; 9];
    for i in 0..3 {
        let (u, v) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            for l in 0..LANES {
                out[3 * i + j][l] = r[u][l] * m[3 * v + j][l] - r[v][l] * m[3 * u + j][l];
            }
        }
    }
    out
}

#[inline(always)]
fn increase(sum: &mut Matrix, by: &Matrix) {
    for (sum, by) in sum.iter_mut().zip(by) {
        for l in 0..LANES {
            sum[l] += by[l];
        }
    }
}

#[inline(always)]
fn add_block(out: &mut [f64], slot: &Slot, block: &[[f64; 6]; 6]) {
    for (i, row) in block.iter().enumerate() {
        let out = &mut out[i * slot.stride..i * slot.stride + 6];
        out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
    }
}

/// The same transposed.
#[inline(always)]
fn add_turned(out: &mut [f64], slot: &Slot, block: &[[f64; 6]; 6]) {
    for i in 0..6 {
        let out = &mut out[i * slot.stride..i * slot.stride + 6];
        for (out, row) in out.iter_mut().zip(block) {
            *out += row[i];
        }
    }
}
