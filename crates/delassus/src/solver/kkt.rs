//! Constrained dynamics of a tree without its mass matrix: the KKT system by articulated-body passes.
//!
#![doc = include_str!("../../../../docs/kkt.md")]

use super::{Fit, Monitor, Solver, Status, Stop, SweepStats};
use crate::law::Law;
use crate::math::dot;
use crate::problem::{Problem, Solution};
use crate::tree::{Data, Propagation, Rows, Tree, TreeError};

/// A row whose pivot, relative to its own diagonal entry, is below this depends on the rows before it.
const RANK: f64 = 1e-10;
/// Earlier rows are taken first unless a later pivot is this many times larger.
const PREFER: f64 = 0.1;

/// Which rows of a system are independent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Number of independent rows.
    pub rank: usize,
    /// Rows that depend on the others, in ascending order; their multipliers are zero.
    pub redundant: Vec<usize>,
}

/// Solves [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂] on a tree. Keep one and use it again: it holds the work arrays.
#[derive(Clone, Debug, Default)]
pub struct TreeKkt {
    propagation: Propagation,
    factor: Factor,
    rest: Vec<f64>,
    zeros: Vec<f64>,
}

impl TreeKkt {
    /// The four steps: x₁ and x₂ from y₁, y₂ and the compliance of each row, for the poses `data` holds.
    ///
    /// Where rows depend on each other x₂ is one of many answers, but x₁ and Jᵀx₂ are the only ones.
    pub fn solve(
        &mut self,
        (tree, data, rows): (&Tree, &mut Data, &Rows),
        (y1, y2, sigma): (&[f64], &[f64], &[f64]),
        (x1, x2): (&mut [f64], &mut [f64]),
    ) -> Result<(), TreeError> {
        let m = rows.len();
        for (what, values) in [("y2", y2), ("sigma", sigma), ("x2", &*x2)] {
            if values.len() != m {
                return Err(TreeError::WrongLength {
                    what,
                    expected: m,
                    found: values.len(),
                });
            }
        }
        self.rest.resize(m, 0.0);
        self.zeros.clear();
        self.zeros.resize(m, 0.0);
        // ①  a₁ = J M⁻¹y₁
        tree.respond_to_rows(data, rows, (y1, &self.zeros), (x1, &mut self.rest))?;
        // ②  Λ⁻¹ = J M⁻¹Jᵀ, and Σ on its diagonal: errata KKT-sigma
        self.factor.matrix.resize(m * m, 0.0);
        tree.delassus(data, rows, &mut self.propagation, &mut self.factor.matrix)?;
        for i in 0..m {
            self.factor.matrix[i * m + i] += sigma[i];
        }
        // ③  (Λ⁻¹ + Σ) x₂ = a₁ − y₂
        for i in 0..m {
            self.rest[i] -= y2[i];
        }
        self.factor.factorise(m);
        self.factor.solve(&self.rest, x2);
        // ④  x₁ = M⁻¹(y₁ − Jᵀx₂): x₂ is what the mechanism exerts, −x₂ acts on it (errata KKT-24)
        for (z, x) in self.zeros.iter_mut().zip(&*x2) {
            *z = -x;
        }
        tree.respond_to_rows(data, rows, (y1, &self.zeros), (x1, &mut self.rest))
    }

    /// Λ⁻¹ + Σ of the last solve, row-major.
    pub fn matrix(&self) -> &[f64] {
        &self.factor.matrix
    }

    /// Independent rows of the last solve.
    pub fn rank(&self) -> Rank {
        self.factor.rank()
    }
}

/// The same elimination on any problem whose rows are all equalities: S λ = −c by a rank-revealing factor.
#[derive(Clone, Debug, Default)]
pub struct Kkt {
    /// When an answer counts as solved.
    pub stop: Stop,
    factor: Factor,
}

/// Most rows: S is dense.
const MAX_ROWS: usize = 4096;

impl Kkt {
    /// A solver with this stopping rule.
    pub fn new(stop: Stop) -> Kkt {
        Kkt {
            stop,
            factor: Factor::default(),
        }
    }

    /// Independent rows of the last problem.
    pub fn rank(&self) -> Rank {
        self.factor.rank()
    }
}

impl Solver for Kkt {
    fn name(&self) -> &'static str {
        "kkt"
    }

    fn fit(&self, law: &Law) -> Fit {
        match law {
            Law::Equality => Fit::Exact,
            _ => Fit::No,
        }
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let m = problem.n_rows();
        if MAX_ROWS < m {
            return Status::Unsupported;
        }
        let before = std::mem::replace(&mut solution.lambda, vec![0.0; m]);
        self.factor.matrix = problem.delassus_dense();
        let minus_c: Vec<f64> = problem.c().iter().map(|c| -c).collect();
        self.factor.factorise(m);
        self.factor.solve(&minus_c, &mut solution.lambda);
        *solution = Solution::from_lambda(problem, std::mem::take(&mut solution.lambda));
        // One step to the answer: η is how far it was.
        let mut stats = SweepStats::default();
        for (i, (new, old)) in solution.lambda.iter().zip(&before).enumerate() {
            let step = self.factor.matrix[i * m + i] * (new - old);
            stats.eta_squared += step * step;
            stats.eta_max = stats.eta_max.max(step.abs());
        }
        stats.dual_decrease = self.decrease(problem, &before, &solution.lambda);
        monitor
            .after_sweep(stats, &solution.lambda)
            .unwrap_or(Status::Solved)
    }
}

impl Kkt {
    /// f(before) − f(after) of the dual objective f = ½λᵀSλ + cᵀλ.
    fn decrease(&self, problem: &Problem, before: &[f64], after: &[f64]) -> f64 {
        let m = after.len();
        let mut sum = 0.0;
        for i in 0..m {
            let row = &self.factor.matrix[i * m..(i + 1) * m];
            let mean = 0.5 * (dot(row, before) + dot(row, after));
            sum += (before[i] - after[i]) * (mean + problem.c()[i]);
        }
        sum
    }
}

/// Cholesky factor with pivoting of a symmetric positive semidefinite matrix, scaled to a unit diagonal.
#[derive(Clone, Debug, Default)]
struct Factor {
    matrix: Vec<f64>,
    /// Rows of the factor; row i has `order.len()` entries, in the order of the pivots.
    lower: Vec<f64>,
    /// 1/√ of the diagonal of the matrix; zero for a row that moves nothing.
    scale: Vec<f64>,
    /// Rows taken, in order.
    order: Vec<usize>,
    pivot: Vec<f64>,
    work: Vec<f64>,
}

impl Factor {
    /// S = P L Lᵀ Pᵀ on the independent rows.
    fn factorise(&mut self, m: usize) {
        let a = &self.matrix;
        self.lower.clear();
        self.lower.resize(m * m, 0.0);
        self.order.clear();
        self.scale.clear();
        let unit = |i: usize| {
            let d = a[i * m + i];
            if 0.0 < d && d.is_finite() {
                1.0 / d.sqrt()
            } else {
                0.0
            }
        };
        self.scale.extend((0..m).map(unit));
        self.pivot.clear();
        self.pivot
            .extend(self.scale.iter().map(|s| f64::from(u8::from(*s != 0.0))));
        for step in 0..m {
            let largest = self.pivot.iter().fold(0.0, |m: f64, p| m.max(*p));
            if !(RANK < largest) {
                break;
            }
            let Some(k) = self.pivot.iter().position(|p| PREFER * largest <= *p) else {
                break;
            };
            let root = self.pivot[k].sqrt();
            self.lower[k * m + step] = root;
            self.pivot[k] = f64::NEG_INFINITY;
            self.order.push(k);
            let inverse = 1.0 / root;
            for i in 0..m {
                if self.pivot[i] <= RANK {
                    continue;
                }
                let entry = a[i * m + k] * self.scale[i] * self.scale[k];
                let before = dot_unrolled(
                    &self.lower[i * m..i * m + step],
                    &self.lower[k * m..k * m + step],
                );
                let l = (entry - before) * inverse;
                self.lower[i * m + step] = l;
                self.pivot[i] -= l * l;
            }
        }
    }

    /// x = S⁺b on the independent rows, zero on the others, refined once.
    fn solve(&mut self, b: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        let m = b.len();
        let mut rest = std::mem::take(&mut self.work);
        rest.clear();
        rest.extend_from_slice(b);
        for round in 0..2 {
            if round != 0 {
                for &i in &self.order {
                    rest[i] = b[i] - dot_unrolled(&self.matrix[i * m..(i + 1) * m], x);
                }
            }
            self.substitute(&mut rest);
            for &i in &self.order {
                x[i] += rest[i];
            }
        }
        self.work = rest;
    }

    /// rest ← S⁻¹ rest on the independent rows.
    fn substitute(&self, rest: &mut [f64]) {
        let m = self.scale.len();
        for (step, &i) in self.order.iter().enumerate() {
            let mut sum = rest[i] * self.scale[i];
            for (t, &j) in self.order[..step].iter().enumerate() {
                sum -= self.lower[i * m + t] * rest[j];
            }
            rest[i] = sum / self.lower[i * m + step];
        }
        for (step, &i) in self.order.iter().enumerate().rev() {
            rest[i] /= self.lower[i * m + step];
            let value = rest[i];
            for (t, &j) in self.order[..step].iter().enumerate() {
                rest[j] -= self.lower[i * m + t] * value;
            }
        }
        for &i in &self.order {
            rest[i] *= self.scale[i];
        }
    }

    fn rank(&self) -> Rank {
        let mut redundant: Vec<usize> = (0..self.scale.len()).collect();
        redundant.retain(|i| !self.order.contains(i));
        Rank {
            rank: self.order.len(),
            redundant,
        }
    }
}

/// Inner product in four parts that do not wait for each other.
fn dot_unrolled(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sum = [0.0; 4];
    for (x, y) in a4.iter().zip(b4) {
        for i in 0..4 {
            sum[i] += x[i] * y[i];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + dot(a_rest, b_rest)
}
