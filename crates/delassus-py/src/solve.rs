//! Solving, and which solvers there are.

use std::time::Duration;

use delassus::solver::{Record, catalogue, from_spec};
use delassus::{Solution, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::arrays::{shaped, whole, whole_or_none};
use crate::error::refuse;
use crate::interrupt::{Flag, interruptible};
use crate::problem::Problem;

/// Limits as given from Python.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) tolerance: Option<f64>,
    pub(crate) iterations: Option<usize>,
    pub(crate) time_limit: Option<f64>,
}

impl Limits {
    /// Changes what is given; a limit on iterations is one on sweeps and on pivots.
    pub(crate) fn apply(&self, stop: Stop) -> PyResult<Stop> {
        if let Some(tolerance) = self.tolerance
            && !(0.0 <= tolerance && tolerance.is_finite())
        {
            return Err(refuse(format!(
                "tolerance is {tolerance}; it must be zero or a positive number [m/s]"
            )));
        }
        if self.iterations == Some(0) {
            return Err(refuse("iterations is 0; allow at least one"));
        }
        if self.tolerance == Some(0.0) && self.iterations.is_none() {
            return Err(refuse(
                "a tolerance of 0 means exactly as many sweeps as asked for: give iterations too",
            ));
        }
        let time = self.time_limit.map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                refuse(format!(
                    "time_limit is {seconds}; it must be zero or a positive number of seconds"
                ))
            })
        });
        Ok(Stop {
            tolerance: self.tolerance.unwrap_or(stop.tolerance),
            sweeps: self.iterations.unwrap_or(stop.sweeps),
            pivots: self.iterations.unwrap_or(stop.pivots),
            time: time.transpose()?.or(stop.time),
            ..stop
        })
    }
}

/// Solves a problem and judges the answer.
///
/// `solver` is a name with keys, as `gauss-seidel,rule=exact,relax=1.3`; `solvers()` lists the names. `tolerance` is the
/// largest law residual [m/s], by default 1e-10 of the speeds in the problem; `iterations` limits sweeps and pivots,
/// `time_limit` seconds. `start` holds impulses to start from, by default those the problem brings along. `history=True`
/// measures the residual after every sweep. Ctrl-C ends the solve.
///
/// >>> import delassus
/// >>> problem = delassus.lcp([[2, 1], [1, 2]], [-5, -6])
/// >>> delassus.solve(problem, "gauss-seidel", tolerance=1e-6).solved
/// True
#[pyfunction]
#[pyo3(signature = (problem, solver="auto", *, tolerance=None, iterations=None, time_limit=None, start=None, seed=0, history=false))]
#[allow(clippy::too_many_arguments)] // Named ones: this is how a Python function takes its options.
pub(crate) fn solve(
    py: Python<'_>,
    problem: &Bound<'_, Problem>,
    solver: &str,
    tolerance: Option<f64>,
    #[pyo3(from_py_with = whole_or_none)] iterations: Option<usize>,
    time_limit: Option<f64>,
    start: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = whole)] seed: u64,
    history: bool,
) -> PyResult<Answer> {
    let given = problem.get();
    let problem = given.problem.as_ref();
    let flag = Flag::take();
    let limits = Limits {
        tolerance,
        iterations,
        time_limit,
    };
    let stop = limits.apply(Stop {
        record: match history {
            true => Record::Residuals,
            false => Record::Sweeps,
        },
        cancel: Some(flag.cancel()),
        ..Stop::for_problem(problem)
    })?;
    let start = start
        .map(|start| shaped("start", start, &[problem.n_rows()]))
        .transpose()?
        .or_else(|| given.guess.clone());
    let mut solver = from_spec(solver, stop, seed).map_err(refuse)?;
    let solved = interruptible(py, &flag, move || {
        let mut solution = match start {
            Some(start) => Solution::from_lambda(problem, start),
            None => Solution::zeros(problem),
        };
        let report = solver.solve(problem, &mut solution);
        (solution, report)
    })?;
    Ok(Answer::new(py, problem, given.order.as_deref(), solved))
}

/// Every solver by name, with what it does in one line.
///
/// >>> import delassus
/// >>> "newton" in delassus.solvers()
/// True
#[pyfunction]
pub(crate) fn solvers(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let list = PyDict::new(py);
    for entry in catalogue() {
        list.set_item(entry.name, entry.about)?;
    }
    Ok(list)
}

/// Every solver with the keys that a comparison tries.
#[pyfunction]
pub(crate) fn variants() -> Vec<&'static str> {
    let entries = catalogue().iter();
    entries.flat_map(|entry| entry.variants).copied().collect()
}
