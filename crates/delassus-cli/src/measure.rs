//! Runs of a comparison: how long a solver takes on a problem, how good its answer is, and how it got there.

use std::time::{Duration, Instant};

use delassus::solver::{Record, Sweep};
use delassus::{Fit, Problem, Report, Residual, Solution, Stop};
use serde::Serialize;

use crate::answer::in_seconds;
use crate::console::Refusal;
use crate::solvers::{self, Options};

/// A run is repeated until this many are done …
const RUNS: usize = 3;
/// … or this much time is spent. The shortest counts: what is longer is somebody else's work.
const ENOUGH: Duration = Duration::from_millis(50);

/// One solver on one work.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    #[serde(skip)]
    pub(crate) spec: String,
    solver: &'static str,
    options: Options,
    pub(crate) status: &'static str,
    #[serde(serialize_with = "fit_name")]
    pub(crate) fit: Fit,
    pub(crate) iterations: usize,
    #[serde(rename = "elapsed_s", serialize_with = "in_seconds")]
    pub(crate) elapsed: Duration,
    pub(crate) residual: Residual,
    pub(crate) reached: bool,
}

impl Run {
    /// The solver with the keys that differ from its defaults.
    pub(crate) fn label(&self) -> String {
        solvers::label(self.solver, &self.options.0)
    }
}

pub(crate) fn fit_name<S: serde::Serializer>(fit: &Fit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fit.name())
}

/// Solves from a cold start until the time is known. `None` where the solver cannot treat the problem's laws.
pub(crate) fn measure(
    spec: &str,
    stop: Stop,
    seed: u64,
    problem: &Problem,
) -> Result<Option<Run>, Refusal> {
    let begin = Instant::now();
    let mut shortest: Option<Run> = None;
    let mut runs = 0;
    while runs < RUNS && (runs == 0 || begin.elapsed() < ENOUGH) {
        // A new solver each time: the arrays it allocates are part of what a single solve costs.
        let mut solver = solvers::make(spec, stop, seed)?;
        if solver.fit_of(problem) == Fit::No {
            return Ok(None);
        }
        let report = solver.solve(problem, &mut Solution::zeros(problem));
        runs += 1;
        if shortest
            .as_ref()
            .is_some_and(|run| run.elapsed <= report.elapsed)
        {
            continue;
        }
        shortest = Some(Run {
            spec: spec.to_owned(),
            solver: report.solver,
            options: Options(report.options),
            status: report.status.name(),
            fit: report.fit,
            iterations: report.iterations,
            elapsed: report.elapsed,
            // The file's own law decides, whatever law the solver obeys.
            reached: report.residual.law <= stop.tolerance,
            residual: report.residual,
        });
    }
    Ok(shortest)
}

/// Law residual against time, in runs of their own because writing it down disturbs the clock. The iterates are the
/// same in every run, so the shortest shows them with the least of what else the machine was doing.
pub(crate) fn trace(
    spec: &str,
    stop: Stop,
    seed: u64,
    problem: &Problem,
) -> Result<Vec<(f64, f64)>, Refusal> {
    let stop = Stop {
        record: Record::Residuals,
        ..stop
    };
    let begin = Instant::now();
    let mut shortest: Option<Report> = None;
    let mut runs = 0;
    while runs < RUNS && (runs == 0 || begin.elapsed() < ENOUGH) {
        let report = solvers::make(spec, stop, seed)?.solve(problem, &mut Solution::zeros(problem));
        runs += 1;
        if shortest
            .as_ref()
            .is_none_or(|kept| report.elapsed < kept.elapsed)
        {
            shortest = Some(report);
        }
    }
    let sweeps = shortest.map_or_else(Vec::new, |report| report.history);
    let point = |sweep: &Sweep| Some((sweep.elapsed_s, sweep.law?));
    Ok(sweeps.iter().filter_map(point).collect())
}
