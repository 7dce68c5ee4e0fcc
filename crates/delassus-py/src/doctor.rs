//! What is wrong with a problem, in words.

use delassus::Stop;
use delassus::doctor::{Severity, of_problem};
use pyo3::prelude::*;

use crate::interrupt::{Flag, interruptible};
use crate::problem::Problem;
use crate::solve::Limits;

/// One thing that is wrong: what, where, how bad, and what to do.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Finding {
    finding: delassus::doctor::Finding,
}

#[pymethods]
impl Finding {
    /// `note`, `warning` or `error`.
    #[getter]
    fn severity(&self) -> &'static str {
        match self.finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// What kind of trouble it is.
    #[getter]
    fn kind(&self) -> &'static str {
        self.finding.kind.name()
    }

    /// What is wrong, in a sentence.
    #[getter]
    fn what(&self) -> &str {
        &self.finding.what
    }

    /// The first few places concerned, the worst first.
    #[getter]
    fn places(&self) -> Vec<String> {
        self.finding.places.clone()
    }

    /// How many places there are in all.
    #[getter]
    fn count(&self) -> usize {
        self.finding.count
    }

    /// How bad it is at the worst place.
    #[getter]
    fn number(&self) -> f64 {
        self.finding.number
    }

    /// What the number counts.
    #[getter]
    fn unit(&self) -> &'static str {
        self.finding.unit
    }

    /// What to do about it.
    #[getter]
    fn remedy(&self) -> &str {
        &self.finding.remedy
    }

    fn __repr__(&self) -> String {
        format!(
            "<Finding: {}, {}: {}>",
            self.severity(),
            self.kind(),
            self.finding.what
        )
    }
}

/// Everything found, the worst first, and the solver that `auto` would take.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Diagnosis {
    diagnosis: delassus::doctor::Diagnosis,
}

#[pymethods]
impl Diagnosis {
    /// What is wrong; empty if nothing is.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        let findings = self.diagnosis.findings.iter().cloned();
        findings.map(|finding| Finding { finding }).collect()
    }

    /// Whether nothing was found but notes.
    #[getter]
    fn healthy(&self) -> bool {
        matches!(self.diagnosis.worst(), None | Some(Severity::Note))
    }

    /// The solver that `auto` takes first.
    #[getter]
    fn solver(&self) -> &'static str {
        self.diagnosis.solver.first.solver
    }

    /// Why it takes that one.
    #[getter]
    fn why(&self) -> &'static str {
        self.diagnosis.solver.why
    }

    fn __repr__(&self) -> String {
        let count = self.diagnosis.findings.len();
        format!("<Diagnosis: {count} findings, solver {}>", self.solver())
    }

    fn __str__(&self) -> String {
        let mut text = String::new();
        for finding in self.findings() {
            text.push_str(&format!(
                "{}: {}: {}\n",
                finding.severity(),
                finding.kind(),
                finding.what()
            ));
            if !finding.finding.places.is_empty() {
                text.push_str(&format!(
                    "  where   {}\n",
                    finding.finding.places.join("; ")
                ));
            }
            let (number, unit) = (finding.number(), finding.unit());
            text.push_str(&format!(
                "  number  {unit}: {number:.3e}\n  remedy  {}\n",
                finding.remedy()
            ));
        }
        if text.is_empty() {
            text.push_str("nothing wrong was found\n");
        }
        text + &format!("solver: auto takes {}: {}", self.solver(), self.why())
    }
}

/// Looks for what is wrong with a problem: conflicts, redundant rows, ratios of mass, scales.
///
/// >>> import delassus
/// >>> delassus.doctor(delassus.lcp([[1]], [-1])).healthy
/// True
#[pyfunction]
#[pyo3(signature = (problem, *, tolerance=1e-6))]
pub(crate) fn doctor(
    py: Python<'_>,
    problem: &Bound<'_, Problem>,
    tolerance: f64,
) -> PyResult<Diagnosis> {
    let flag = Flag::take();
    let limits = Limits {
        tolerance: Some(tolerance),
        ..Limits::default()
    };
    let stop = limits.apply(Stop {
        cancel: Some(flag.cancel()),
        ..Stop::default()
    })?;
    let problem = problem.get().problem.as_ref();
    let diagnosis = interruptible(py, &flag, || of_problem(problem, None, stop))?;
    Ok(Diagnosis { diagnosis })
}
