//! Answers that rounding keeps from being better.

use super::is_proven;
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
