//! What a solve gives back.

use delassus::{Problem, Report, Residual, Solution, Status};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::array;

/// The answer of one solve: how it ended, how good it is, and the numbers.
///
/// Not converging is an answer, not an exception: `solved` is false, `status` says why, `message` what to do, and the
/// arrays hold the best iterate.
///
/// >>> import delassus
/// >>> answer = delassus.solve(delassus.lcp([[2, 1], [1, 2]], [-5, -6]))
/// >>> answer.solved, answer.status
/// (True, 'solved')
/// >>> answer.z.round(6).tolist()
/// [1.333333, 2.333333]
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Answer {
    report: Report,
    n_rows: usize,
    lambda: Py<PyArray1<f64>>,
    v: Py<PyArray1<f64>>,
    w: Py<PyArray1<f64>>,
}

impl Answer {
    /// The answer of a run, velocities in the order of the file the problem comes from.
    pub(crate) fn new(
        py: Python<'_>,
        problem: &Problem,
        order: Option<&[usize]>,
        (solution, report): (Solution, Report),
    ) -> Answer {
        let mut w = vec![0.0; problem.n_rows()];
        problem.row_velocity(&solution.v, &solution.lambda, &mut w);
        let v = match order {
            None => solution.v,
            Some(order) => {
                let mut placed = vec![f64::NAN; solution.v.len()];
                for (&place, value) in order.iter().zip(solution.v) {
                    if let Some(slot) = placed.get_mut(place) {
                        *slot = value;
                    }
                }
                placed
            }
        };
        Answer {
            report,
            n_rows: problem.n_rows(),
            lambda: array(py, solution.lambda).unbind(),
            v: array(py, v).unbind(),
            w: array(py, w).unbind(),
        }
    }

    /// Its impulses.
    pub(crate) fn impulses<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.lambda.bind(py).clone().into_any()
    }
}

#[pymethods]
impl Answer {
    /// How it ended: `solved`, `iteration-limit`, `time-limit`, `stalled`, `diverged`, `ray`, `pivot-limit`,
    /// `breakdown`, `unsupported` or `rounding-floor`.
    #[getter]
    fn status(&self) -> &'static str {
        self.report.status.name()
    }

    /// Whether the residual is within the tolerance.
    #[getter]
    fn solved(&self) -> bool {
        self.report.status == Status::Solved
    }

    /// The largest residual of a law [m/s], measured the same way for every solver.
    #[getter]
    fn residual(&self) -> f64 {
        self.report.residual.law
    }

    /// Every metric of the judge by name: `law`, `law_rms`, `relative`, `momentum`, `feasibility`,
    /// `complementarity`.
    #[getter]
    fn residuals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        residuals(py, &self.report.residual)
    }

    /// The block with the largest residual.
    #[getter]
    fn worst_block(&self) -> Option<u32> {
        self.report.residual.worst_block.map(|block| block.0)
    }

    /// Whether the solver obeys the problem's laws: `exact`, `approximate` or `no`.
    #[getter]
    fn fit(&self) -> &'static str {
        self.report.fit.name()
    }

    /// The solver that was asked.
    #[getter]
    fn solver(&self) -> &'static str {
        self.report.solver
    }

    /// Its keys and their values.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        for (key, value) in &self.report.options {
            options.set_item(key, value)?;
        }
        Ok(options)
    }

    /// What `auto` took, one for each part of the problem; empty for every other solver.
    #[getter]
    fn chosen(&self) -> Vec<&'static str> {
        let parts = self.report.chosen.iter();
        parts.map(|part| part.choice.first.solver).collect()
    }

    /// The solver that gave the answer, where it is not the first one tried.
    #[getter]
    fn fallback(&self) -> Option<&'static str> {
        self.report.fallback
    }

    /// Sweeps or pivots.
    #[getter]
    fn iterations(&self) -> usize {
        self.report.iterations
    }

    /// Time of the run, judging excluded [s].
    #[getter]
    fn seconds(&self) -> f64 {
        self.report.elapsed.as_secs_f64()
    }

    /// What to know about the answer, in words.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.report.message.as_deref()
    }

    /// Impulses of all rows [N s].
    #[getter]
    fn lambda_(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.lambda.clone_ref(py)
    }

    /// The same by its name in complementarity problems.
    #[getter]
    fn z(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.lambda.clone_ref(py)
    }

    /// Velocities of all masses [m/s]; empty for a problem given by its matrix.
    #[getter]
    fn v(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.v.clone_ref(py)
    }

    /// Row velocities w = G v + Σλ − q, or M z + q [m/s].
    #[getter]
    fn w(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.w.clone_ref(py)
    }

    /// A direction in which impulses can grow for ever, where the run ended along one.
    #[getter]
    fn ray<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let found = self.report.certificate.as_ref()?;
        Some(array(py, found.ray.clone()))
    }

    /// A proof that there is no answer, where there is one: y with Mᵀy ≤ 0, qᵀy < 0 and y ≥ 0.
    #[getter]
    fn farkas<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let found = self.report.certificate.as_ref()?.farkas.clone()?;
        Some(array(py, found))
    }

    /// One entry per sweep, as arrays by name: `sweep`, `law` [m/s], `eta` [m/s], `dual_decrease` [J], `seconds`.
    /// `law` is not a number where the residual was not computed; `solve(…, history=True)` computes it after every
    /// sweep.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = &self.report.history;
        let sweeps: Vec<u64> = history.iter().map(|line| line.sweep as u64).collect();
        let table = PyDict::new(py);
        table.set_item("sweep", PyArray1::from_vec(py, sweeps))?;
        let law = history.iter().map(|line| line.law.unwrap_or(f64::NAN));
        table.set_item("law", array(py, law.collect()))?;
        let eta = history.iter().map(|line| line.eta);
        table.set_item("eta", array(py, eta.collect()))?;
        let decrease = history.iter().map(|line| line.dual_decrease);
        table.set_item("dual_decrease", array(py, decrease.collect()))?;
        let seconds = history.iter().map(|line| line.elapsed_s);
        table.set_item("seconds", array(py, seconds.collect()))?;
        Ok(table)
    }

    /// Its numbers are arrays that pickle; it itself knows its solver.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an Answer cannot be pickled; send what is needed of it, such as answer.status, answer.residual and answer.lambda_",
        ))
    }

    fn __repr__(&self) -> String {
        let chosen = match self.report.chosen.is_empty() {
            true => String::new(),
            false => format!(" → {}", self.chosen().join(" and ")),
        };
        format!(
            "<Answer: {} by {}{chosen}, {} iterations, law residual {:.1e} m/s, {} rows>",
            self.status(),
            self.report.solver,
            self.report.iterations,
            self.report.residual.law,
            self.n_rows
        )
    }
}

/// The metrics of the judge by name.
pub(crate) fn residuals<'py>(py: Python<'py>, residual: &Residual) -> PyResult<Bound<'py, PyDict>> {
    let metrics = PyDict::new(py);
    metrics.set_item("law", residual.law)?;
    metrics.set_item("law_rms", residual.law_rms)?;
    metrics.set_item("relative", residual.relative)?;
    metrics.set_item("momentum", residual.momentum)?;
    metrics.set_item("feasibility", residual.feasibility)?;
    metrics.set_item("complementarity", residual.complementarity)?;
    Ok(metrics)
}
