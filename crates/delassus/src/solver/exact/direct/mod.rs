//! Joints exactly: block L D Lᵀ of the system of impulses along its elimination tree.
//!
#![doc = include_str!("../../../../docs/direct.md")]

mod factor;
mod islands;
mod load;
mod order;
mod plan;

pub use factor::{FactorSize, Joints};

use super::{Fit, Monitor, Solver, Status, Stop, SweepStats, fit_of};
use crate::index::BlockId;
use crate::law::Law;
use crate::math::dot;
use crate::problem::delassus::BlockMatrix;
use crate::problem::{Block, Form, Problem, Solution};

/// A refinement that leaves more than this share of the residual has reached rounding, or rows that conflict.
const USEFUL: f64 = 0.5;
/// Blocks named in a message.
const NAMED: usize = 8;

/// The exact solver for problems of equalities alone.
#[derive(Clone, Debug, Default)]
pub struct Direct {
    /// When to stop.
    pub stop: Stop,
    /// What is kept between solves; start from the default.
    pub work: Work,
}

/// What is kept between solves: the analysis of the topology, the factors, and arrays of rows.
#[derive(Clone, Debug, Default)]
pub struct Work {
    joints: Joints,
    redundant: Vec<BlockId>,
    w: Vec<f64>,
    before: Vec<f64>,
    step: Vec<f64>,
}

impl Direct {
    /// Blocks of the last problem with rows that depend on others; their impulses were left out.
    pub fn redundant(&self) -> &[BlockId] {
        &self.work.redundant
    }

    /// What the factors of the last problem took.
    pub fn size(&self) -> FactorSize {
        self.work.joints.size()
    }
}

impl Solver for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn fit(&self, law: &Law) -> Fit {
        fit_of(law)
    }

    stops_by_its_field!();

    fn solves_joints_at_once(&self) -> Option<crate::solver::auto::Choices> {
        (0 < self.stop.sweeps).then(crate::solver::auto::Choices::new)
    }

    fn advice(&self, status: Status) -> Option<String> {
        redundancy_message(&self.work.redundant, status)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.work.redundant.clear();
        if let Form::Dual(matrix) = problem.form()
            && !is_symmetric(matrix)
        {
            return Status::Unsupported;
        }
        if self.stop.sweeps == 0 {
            return Status::IterationLimit;
        }
        let Work {
            joints,
            redundant,
            w,
            before,
            step,
        } = &mut self.work;
        let Solution { v, lambda } = solution;
        // An exact solve has no use for a warm start, and its answer does not depend on one: S λ = −c.
        *redundant = joints.factor_and_solve(problem);
        lambda.fill(0.0);
        before.clear();
        before.extend_from_slice(problem.c());
        w.resize(lambda.len(), 0.0);
        let mut last = f64::INFINITY;
        loop {
            step.clear();
            step.resize(lambda.len(), 0.0);
            joints.add_to(step);
            for (lambda, step) in lambda.iter_mut().zip(step.iter()) {
                *lambda += step;
            }
            problem.velocity(lambda, v);
            problem.row_velocity(v, lambda, w);
            let mut stats = remaining(problem.blocks(), w);
            stats.dual_decrease = -0.5 * (dot(step, before) + dot(step, w));
            if let Some(status) = monitor.after_sweep(stats, lambda) {
                return status;
            }
            if 0.0 < self.stop.tolerance && !(stats.eta_max < USEFUL * last) {
                return Status::Stalled;
            }
            // Refine: S Δ = −w with the same factors.
            last = stats.eta_max;
            before.copy_from_slice(w);
            joints.solve(w);
        }
    }
}

/// What an exact solve leaves: the row velocities themselves.
fn remaining(blocks: &[Block], w: &[f64]) -> SweepStats {
    let mut stats = SweepStats::default();
    for block in blocks {
        let w = &w[block.rows()];
        let squared = dot(w, w);
        stats.eta_squared += squared;
        stats.eta_max = stats.eta_max.max(squared);
    }
    stats.eta_max = stats.eta_max.sqrt();
    stats
}

/// What to say about rows that depend on others.
pub(in crate::solver) fn redundancy_message(
    redundant: &[BlockId],
    status: Status,
) -> Option<String> {
    let count = redundant.len();
    if count == 0 || status == Status::Unsupported {
        return None;
    }
    let names: Vec<String> = redundant
        .iter()
        .take(NAMED)
        .map(BlockId::to_string)
        .collect();
    let more = if NAMED < count { ", …" } else { "" };
    let list = names.join(", ") + more;
    Some(if status == Status::Solved {
        format!("rows of {count} blocks depend on others and carry no impulse: {list}")
    } else {
        format!(
            "rows of {count} blocks depend on others ({list}) and were left out; if they ask for other velocities nothing can obey all: add compliance or remove them"
        )
    })
}

/// Symmetric to rounding: the factors read one triangle only.
fn is_symmetric(matrix: &BlockMatrix) -> bool {
    let n = matrix.n_blocks();
    let size = |k: usize| matrix.rows(k).len();
    let top = (0..n)
        .flat_map(|k| matrix.block_row(k))
        .map(|(_, values)| crate::math::max_abs(values))
        .fold(0.0, f64::max);
    (0..n).all(|k| {
        matrix.block_row(k).all(|(j, values)| {
            let other = matrix.block(j, k).unwrap_or_default();
            values.iter().enumerate().all(|(e, x)| {
                let (row, column) = (e / size(j), e % size(j));
                let mirrored = other.get(column * size(k) + row).copied().unwrap_or(0.0);
                (x - mirrored).abs() <= 1e-12 * top
            })
        })
    })
}
