//! Runs of a comparison: how long a solver takes on a problem, how good its answer is, and how it got there.

use std::time::{Duration, Instant};

use delassus::solver::{Record, Sweep};
use delassus::{Fit, Report, Residual, Status, Stop};
use serde::Serialize;

use super::works::Start;
use crate::answer::in_seconds;
use crate::solvers::{self, Chosen, Options, SolverError};

/// A run is repeated until this many are done …
const RUNS: usize = 3;
/// … or this much time is spent. The shortest counts: what is longer is somebody else's work.
const ENOUGH: Duration = Duration::from_millis(50);
/// Points kept of a history: more cannot be seen.
const MOST_POINTS: usize = 200;

/// One solver on one work.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// The solver with the keys that differ from its defaults.
    pub(super) label: String,
    solver: &'static str,
    options: Options,
    /// What `auto` took, part by part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chosen: Vec<Chosen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<&'static str>,
    pub(super) status: &'static str,
    #[serde(serialize_with = "fit_name")]
    pub(super) fit: Fit,
    pub(super) iterations: usize,
    #[serde(rename = "elapsed_s", serialize_with = "in_seconds")]
    pub(super) elapsed: Duration,
    pub(super) residual: Residual,
    pub(super) reached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// (iteration, time \[s\], law residual [m/s]), from a run of its own: writing it down disturbs the clock.
    pub(super) history: Vec<(usize, f64, f64)>,
}

impl Run {
    /// The label, with what was chosen.
    pub(super) fn named(&self) -> String {
        Chosen::name(&self.label, &self.chosen, self.fallback)
    }
}

pub(super) fn fit_name<S: serde::Serializer>(fit: &Fit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fit.name())
}

/// Solves until the time is known, and again for the history where it is wanted. `None` where the solver cannot treat
/// the problem's laws.
pub(super) fn measure(
    spec: &str,
    (stop, seed): (Stop, u64),
    start: &Start,
    traced: bool,
) -> Result<Option<Run>, SolverError> {
    if solvers::make(spec, stop, seed)?.fit_of(&start.problem) == Fit::No {
        return Ok(None);
    }
    let report = shortest(spec, (stop, seed), start)?;
    let history = match traced {
        true => trace(spec, (stop, seed), start)?,
        false => Vec::new(),
    };
    Ok(Some(Run {
        label: solvers::label(report.solver, &report.options),
        solver: report.solver,
        chosen: Chosen::of(&report),
        fallback: report.fallback,
        options: Options(report.options),
        status: report.status.name(),
        fit: report.fit,
        iterations: report.iterations,
        elapsed: report.elapsed,
        // The file's own law decides, whatever law the solver obeys; one that did nothing has reached nothing.
        reached: report.status != Status::Unsupported && report.residual.law <= stop.tolerance,
        residual: report.residual,
        message: report.message,
        history,
    }))
}

/// Law residual against iterations and time. The iterates are the same in every run, so the shortest shows them with
/// the least of what else the machine was doing.
fn trace(
    spec: &str,
    (stop, seed): (Stop, u64),
    start: &Start,
) -> Result<Vec<(usize, f64, f64)>, SolverError> {
    let stop = Stop {
        record: Record::Residuals,
        ..stop
    };
    let report = shortest(spec, (stop, seed), start)?;
    let point = |sweep: &Sweep| Some((sweep.sweep, sweep.elapsed_s, sweep.law?));
    let points: Vec<_> = report.history.iter().filter_map(point).collect();
    Ok(thinned(&points))
}

fn shortest(spec: &str, (stop, seed): (Stop, u64), start: &Start) -> Result<Report, SolverError> {
    let begin = Instant::now();
    let mut shortest: Option<Report> = None;
    let mut runs = 0;
    loop {
        // A new solver each time: the arrays it allocates are part of what a single solve costs.
        let mut solver = solvers::make(spec, stop, seed)?;
        let report = solver.solve(&start.problem, &mut start.solution());
        runs += 1;
        let kept = match shortest.take() {
            Some(kept) if kept.elapsed <= report.elapsed => kept,
            _ => report,
        };
        if RUNS <= runs || ENOUGH <= begin.elapsed() {
            return Ok(kept);
        }
        shortest = Some(kept);
    }
}

/// Points evenly spaced in the logarithm of the iteration, both ends kept.
fn thinned(points: &[(usize, f64, f64)]) -> Vec<(usize, f64, f64)> {
    let Some(last) = points.last() else {
        return Vec::new();
    };
    let ratio = (last.0 as f64).powf(1.0 / MOST_POINTS as f64);
    let (mut kept, mut next) = (Vec::new(), 0.0);
    for point in points {
        if next <= point.0 as f64 || point == last {
            kept.push(*point);
            next = point.0 as f64 * ratio;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_thinned_but_keep_both_ends() {
        let points: Vec<_> = (1..10_000).map(|i| (i, i as f64, 1.0)).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS + 2, "{}", kept.len());
        assert_eq!((kept[0].0, kept[kept.len() - 1].0), (1, 9999));
        assert!(thinned(&[]).is_empty());
    }
}
