//! GᵀAG of contacts and ball joints: all of one pair of bodies are added up before they go to their blocks of K.
//!
//! ```text
//! G_k = ±D [1, −[r]×]        D: three directions, r: arm from the centre of mass, [r]×x = r × x
//! P = DᵀAD ,   K_aa = Σ [P, −P[a]×; [a]×P, −[a]×P[a]×] ,   K_ab = −Σ [P, −P[b]×; [a]×P, −[a]×P[b]×] ,   K_bb, K_ba alike
//! ```
//!
//! Rows of three numbers lie in lanes; no sum depends on how many lanes the processor has.

use super::spread::Spread;
use crate::linalg::block_lu::{BlockLu, Slot};
use crate::problem::Primal;
use crate::problem::jacobian::PointBlock;

/// Three numbers in lanes, and a matrix of three such rows.
type Row = [f64; 4];
type Matrix = [Row; 3];

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
            (masses.next(), masses.next())
        };
        let mut sorted: Vec<_> = blocks.map(|k| (key(k), k as u32)).collect();
        sorted.sort_unstable();
        self.groups.clear();
        self.members.clear();
        for same in sorted.chunk_by(|x, y| x.0 == y.0) {
            let start = self.members.len();
            self.members.extend(same.iter().map(|(_, k)| *k));
            // A block without bodies adds nothing to K.
            let (Some(a), b) = same[0].0 else { continue };
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
            for &k in members {
                let start = self.squares[k as usize];
                let point = self.primal.jacobian().point(k as usize);
                let (Some(point), Some(a)) = (point, self.a[start..start + 9].as_array::<9>())
                else {
                    continue;
                };
                sums.add(a, &point, group.second.is_some());
            }
            let aa = block([&sums.p, &sums.ya, &sums.xa, &sums.aa], 1.0);
            add_block(self.lu.values_mut(&group.first).0, &group.first, &aa);
            if let Some((second, both)) = &group.second {
                let bb = block([&sums.p, &sums.yb, &sums.xb, &sums.bb], 1.0);
                add_block(self.lu.values_mut(second).0, second, &bb);
                let ab = block([&sums.p, &sums.ya, &sums.xb, &sums.ab], -1.0);
                let ba = block([&sums.p, &sums.yb, &sums.xa, &sums.ba], -1.0);
                let (upper, lower) = self.lu.values_mut(both);
                let (one, other) = if both.swapped { (&ba, &ab) } else { (&ab, &ba) };
                add_block(upper, both, one);
                add_turned(lower, both, other);
            }
        }
    }
}

/// Sums over the blocks of a pair with arms a and b: P, P[a]×, P[b]×, [a]×P, [b]×P and the four [·]×P[·]×.
#[derive(Default)]
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

impl Sums {
    #[inline(always)]
    fn add(&mut self, a: &[f64; 9], point: &PointBlock<'_>, two: bool) {
        let mut d = Matrix::default();
        for (row, direction) in d.iter_mut().zip(point.directions) {
            *row = [direction[0], direction[1], direction[2], 0.0];
        }
        // P = Dᵀ(A D)
        let ad: Matrix =
            std::array::from_fn(|k| combine(&d, [a[3 * k], a[3 * k + 1], a[3 * k + 2]]));
        let p: Matrix = std::array::from_fn(|i| combine(&ad, [d[0][i], d[1][i], d[2][i]]));
        let mut arms = [[0.0; 3]; 2];
        for (arm, (_, r, _)) in arms.iter_mut().zip(point.ends()) {
            *arm = r.to_array();
        }
        let [a, b] = &arms;
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
}

/// ±[P, −X; Y, −Z].
#[inline(always)]
fn block([p, y, x, z]: [&Matrix; 4], sign: f64) -> [[f64; 6]; 6] {
    let mut block = [[0.0; 6]; 6];
    for i in 0..3 {
        for j in 0..3 {
            block[i][j] = sign * p[i][j];
            block[i][3 + j] = -sign * x[i][j];
            block[3 + i][j] = sign * y[i][j];
            block[3 + i][3 + j] = -sign * z[i][j];
        }
    }
    block
}

/// Σ factorᵢ rowᵢ.
#[inline(always)]
fn combine(m: &Matrix, factors: [f64; 3]) -> Row {
    std::array::from_fn(|j| factors[0] * m[0][j] + factors[1] * m[1][j] + factors[2] * m[2][j])
}

/// M[r]×: rows of M crossed with r, mᵀ[r]× = (m × r)ᵀ.
#[inline(always)]
fn times_cross(m: &Matrix, r: &[f64; 3]) -> Matrix {
    let (one, two) = ([r[2], r[0], r[1], 0.0], [r[1], r[2], r[0], 0.0]);
    std::array::from_fn(|i| {
        let next = [m[i][1], m[i][2], m[i][0], 0.0];
        let last = [m[i][2], m[i][0], m[i][1], 0.0];
        std::array::from_fn(|j| next[j] * one[j] - last[j] * two[j])
    })
}

/// [r]×M: r crossed with columns of M.
#[inline(always)]
fn cross_times(r: &[f64; 3], m: &Matrix) -> Matrix {
    std::array::from_fn(|i| {
        let (u, v) = ((i + 1) % 3, (i + 2) % 3);
        std::array::from_fn(|j| r[u] * m[v][j] - r[v] * m[u][j])
    })
}

#[inline(always)]
fn increase(sum: &mut Matrix, by: &Matrix) {
    for (sum, by) in sum.iter_mut().zip(by) {
        for j in 0..4 {
            sum[j] += by[j];
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
