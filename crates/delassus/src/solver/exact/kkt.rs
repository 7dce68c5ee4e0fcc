//! Constrained dynamics of a tree without its mass matrix: the KKT system by articulated-body passes.
//!
#![doc = include_str!("../../../docs/kkt.md")]

pub use crate::linalg::Rank;

use super::{Fit, Monitor, Solver, Status, Stop, SweepStats};
use crate::law::Law;
use crate::linalg::ranked::RankedCholesky;
use crate::math::dot;
use crate::problem::{Problem, Solution};
use crate::tree::{Data, Elimination, Propagation, Rows, Tree, TreeError};

/// From this many rows, or velocities, on, rows are propagated rather than put into a matrix.
const MANY_ROWS: usize = 36;
const MANY_DOFS: usize = 64;

/// Solves [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂] on a tree. Keep one and use it again: it holds the work arrays.
#[derive(Clone, Debug, Default)]
pub struct TreeKkt {
    propagation: Propagation,
    elimination: Elimination,
    factor: RankedCholesky,
    rest: Vec<f64>,
    /// Rows of the last solve, where they were propagated: all are independent then.
    propagated: Option<usize>,
}

impl TreeKkt {
    /// x₁ and x₂ from y₁, y₂ and the compliance of each row, for the poses `data` holds: by propagation where there
    /// are many rows or velocities, else, and where rows depend on each other, by the four steps.
    ///
    /// Where rows depend on each other x₂ is one of many answers, but x₁ and Jᵀx₂ are the only ones.
    pub fn solve(
        &mut self,
        (tree, data, rows): (&Tree, &mut Data, &Rows),
        y: (&[f64], &[f64], &[f64]),
        (x1, x2): (&mut [f64], &mut [f64]),
    ) -> Result<(), TreeError> {
        self.propagated = None;
        if MANY_ROWS <= rows.len() || MANY_DOFS <= tree.n_dofs() {
            let elimination = &mut self.elimination;
            if tree.propagate((data, rows), elimination, y, (x1, x2))? {
                self.propagated = Some(rows.len());
                return Ok(());
            }
        }
        self.four_steps((tree, data, rows), y, (x1, x2))
    }

    /// As [`TreeKkt::solve`], always by the four steps.
    pub fn four_steps(
        &mut self,
        (tree, data, rows): (&Tree, &mut Data, &Rows),
        (y1, y2, sigma): (&[f64], &[f64], &[f64]),
        (x1, x2): (&mut [f64], &mut [f64]),
    ) -> Result<(), TreeError> {
        let m = rows.len();
        self.propagated = None;
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
        // ①  a₁ = J M⁻¹y₁
        tree.respond_at_rows(data, rows, y1, (x1, &mut self.rest))?;
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
        for (f, x) in self.rest.iter_mut().zip(&*x2) {
            *f = -x;
        }
        tree.respond_with_rows(data, rows, &self.rest, x1);
        Ok(())
    }

    /// Λ⁻¹ + Σ of the last four steps, row-major.
    pub fn matrix(&self) -> &[f64] {
        &self.factor.matrix
    }

    /// Independent rows of the last solve.
    pub fn rank(&self) -> Rank {
        match self.propagated {
            Some(rank) => Rank {
                rank,
                redundant: Vec::new(),
            },
            None => self.factor.rank(),
        }
    }
}

/// The same elimination on any problem whose rows are all equalities: S λ = −c by a rank-revealing factor.
#[derive(Clone, Debug, Default)]
pub struct Kkt {
    /// When an answer counts as solved.
    pub stop: Stop,
    factor: RankedCholesky,
    /// Rows of the last problem, where they were too many.
    refused: Option<usize>,
}

/// Most rows: S is dense and has a factor as large, at this size 134 MB each.
const MAX_ROWS: usize = 4096;

impl Kkt {
    /// A solver with this stopping rule.
    pub fn new(stop: Stop) -> Kkt {
        Kkt {
            stop,
            ..Kkt::default()
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

    fn advice(&self, status: Status) -> Option<String> {
        let rows = self.refused.filter(|_| status == Status::Unsupported)?;
        Some(format!(
            "kkt builds a dense matrix and takes at most {MAX_ROWS} rows, and there are {rows}; use direct, whose factor is sparse"
        ))
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let m = problem.n_rows();
        self.refused = (MAX_ROWS < m).then_some(m);
        if self.refused.is_some() {
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
