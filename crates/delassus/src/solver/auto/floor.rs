//! Answers that rounding keeps from being better.

use super::is_proven;
use crate::math::max_abs;
use crate::problem::Problem;
use crate::solver::{Report, Status};

/// Says so where the best of all attempts is off by no more than the judge's own arithmetic may be.
pub(super) fn mark(problem: &Problem, lambda: &[f64], report: &mut Report) {
    if !is_at_the_floor(problem, lambda, report) {
        return;
    }
    report.status = Status::RoundingFloor;
    report.certificate = None;
    report.message = Some(format!(
        "no attempt came nearer than {:.1e} m/s, by which rounding alone may be off",
        report.residual.law
    ));
}

/// Whether an answer is kept from being better by the size of its own impulses: a jammed robot has answers of any size,
/// and those that the solve was given round off by less. Sweeps from them may then get below that floor.
pub(super) fn is_of_the_answer_alone(problem: &Problem, start: &[f64], report: &Report) -> bool {
    report.status == Status::RoundingFloor
        && start.len() == problem.n_rows()
        && (0.0 < max_abs(start) && max_abs(start).is_finite())
        && !problem.explains_by_rounding(start, report.residual.law)
}

fn is_at_the_floor(problem: &Problem, lambda: &[f64], report: &Report) -> bool {
    let tried = matches!(
        report.status,
        Status::IterationLimit
            | Status::Stalled
            | Status::PivotLimit
            | Status::Breakdown
            | Status::Ray
    );
    tried && !is_proven(report) && problem.explains_by_rounding(lambda, report.residual.law)
}
