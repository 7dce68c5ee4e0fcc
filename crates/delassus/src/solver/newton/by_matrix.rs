//! Small islands once more by their matrix, joints eliminated: for contacts that nearly depend on each other.
//!
//! K = M + GᵀAG holds 1/ε of every row that sticks, and loses the digits that tell forty contacts under one body, or a
//! joint from its double, apart. S in twice the digits does not. Joints, and intervals that are not at a bound, leave it
//! one by one, the largest pivot first; those whose pivot is rounding depend on others and carry nothing:
//!
//! ```text
//! S_ab ← S_ab − S_ai S_ib / S_ii      c_a ← c_a − S_ai c_i / S_ii      and backwards   λ_i = −(c_i + Σ S_ib λ_b)/S_ii
//! ```
//!
//! (C + B S) dλ = b of the rest has no ε in it. Cost: cubes of the rows; not for more than 200.

use super::stage::{End, Stage};
use super::system::System;
use crate::index::BlockId;
use crate::law::Law;
use crate::linalg::Twofold;
use crate::problem::delassus::BlockMatrix;
use crate::problem::{Block, Problem};

/// Most rows.
const MOST: usize = 200;
/// Factorisations at most, and cubes of the rows in all of them: about a second.
const PATIENCE: usize = 1500;
const WORK: usize = 2_000_000_000;
/// Share of the tolerance asked for inside, so that what rounding adds outside still fits.
const SHARE: f64 = 0.5;
/// Share of its diagonal entry below which a pivot is rounding.
const RANK: f64 = 1e-14;

impl Stage<'_> {
    /// Solves the island by its matrix, from no impulses; of a large island nothing.
    pub(super) fn by_matrix(&mut self) -> Result<(), End> {
        let problem = self.system.problem;
        if self.system.primal().is_none() || MOST < problem.n_rows() {
            return Err(End::Stuck);
        }
        let Some(reduced) = Reduced::of(problem, &self.best.1) else {
            return Err(End::Stuck);
        };
        let left = reduced.rest.len();
        let most = (WORK / (left * left * left)).min(PATIENCE);
        let mut stop = self.stop_inside(f64::INFINITY, most);
        stop.tolerance = SHARE * self.tolerance();
        let system = System::new(&reduced.problem);
        let mut inner = Stage::new(system, Box::default(), stop, self.begin);
        let _ = super::stages(&mut inner, &vec![0.0; reduced.problem.n_rows()]);
        for _ in 0..inner.history.len() {
            self.counted(self.best.0)?;
        }
        let lambda = reduced.whole(&inner.best.1);
        self.judge(&lambda)?;
        Err(End::Stuck)
    }
}

/// An island without its joints.
struct Reduced {
    problem: Problem,
    /// Rows of the island that are left.
    rest: Vec<usize>,
    /// Rows taken out, in order.
    taken: Vec<usize>,
    /// S and c after the elimination, row-major: rows that were taken out stand as they did when it was their turn.
    s: Vec<Twofold>,
    c: Vec<Twofold>,
}

impl Reduced {
    /// What is left of a problem near some impulses; `None` where that is nothing, or numbers overflow.
    fn of(problem: &Problem, near: &[f64]) -> Option<Reduced> {
        let n = problem.n_rows();
        let all: Vec<BlockId> = (0..problem.blocks().len() as u32).map(BlockId).collect();
        let mut s = problem.delassus_wide(&all)?;
        let mut c = problem.c_wide();
        let given: Vec<f64> = s.iter().step_by(n + 1).map(|d| d.rounded()).collect();
        let (mut waiting, mut rest) = (Vec::new(), Vec::new());
        let (mut sizes, mut laws) = (Vec::new(), Vec::new());
        for block in problem.blocks() {
            if holds(block, near) {
                waiting.extend(block.rows());
                continue;
            }
            rest.extend(block.rows());
            sizes.push(block.n_rows);
            laws.push(block.law);
        }
        if rest.is_empty() {
            return None;
        }
        let mut taken = Vec::new();
        let pivot = |s: &[Twofold], i: usize| s[i * n + i].rounded() / given[i];
        while let Some(at) = largest(&waiting, |i| pivot(&s, i)) {
            let i = waiting.swap_remove(at);
            if !(RANK < pivot(&s, i)) {
                break;
            }
            for &a in rest.iter().chain(&waiting) {
                let share = s[a * n + i] / s[i * n + i];
                for &b in rest.iter().chain(&waiting) {
                    s[a * n + b] = s[a * n + b] - share * s[i * n + b];
                }
                c[a] = c[a] - share * c[i];
            }
            taken.push(i);
        }
        let pairs = rest.iter().enumerate();
        let entries: Vec<(usize, usize, f64)> = pairs
            .flat_map(|(a, row)| {
                let columns = rest.iter().enumerate();
                let s = &s;
                columns.map(move |(b, column)| (a, b, s[row * n + column].rounded()))
            })
            .collect();
        let matrix = BlockMatrix::from_entries(&sizes, &entries).ok()?;
        let left = rest.iter().map(|row| c[*row].rounded()).collect();
        Some(Reduced {
            problem: Problem::dual(matrix, left, &laws).ok()?,
            rest,
            taken,
            s,
            c,
        })
    }

    /// The impulses of the island: λ_i = −(c_i + Σ S_ib λ_b)/S_ii, the last one taken out first.
    fn whole(&self, lambda: &[f64]) -> Vec<f64> {
        let n = self.c.len();
        let mut whole = vec![Twofold::default(); n];
        for (row, x) in self.rest.iter().zip(lambda) {
            whole[*row] = Twofold::from(*x);
        }
        for (k, &i) in self.taken.iter().enumerate().rev() {
            let later = self.taken[k + 1..].iter().chain(&self.rest);
            let sum = later.fold(self.c[i], |sum, &b| sum + self.s[i * n + b] * whole[b]);
            whole[i] = -sum / self.s[i * n + i];
        }
        whole.iter().map(|x| x.rounded()).collect()
    }
}

/// Whether a block is held whatever its impulse, or as long as that does not reach a bound.
fn holds(block: &Block, near: &[f64]) -> bool {
    match block.law {
        Law::Equality => true,
        Law::Interval { lo, hi } => near[block.rows()].iter().all(|x| lo < *x && *x < hi),
        _ => false,
    }
}

/// Where the largest of some values is.
fn largest(of: &[usize], value: impl Fn(usize) -> f64) -> Option<usize> {
    let places = 0..of.len();
    places.max_by(|a, b| value(of[*a]).total_cmp(&value(of[*b])))
}
