//! What steps of a world did.

use delassus::world::Step;
use pyo3::prelude::*;

/// What the last of some steps did, and what went wrong in all of them.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct StepReport {
    pub(crate) step: Step,
    /// Time after it [s].
    pub(crate) time: f64,
    /// Steps made.
    pub(crate) steps: u64,
    /// Substeps of all steps that were not solved.
    pub(crate) unsolved: u64,
    /// The worst residual of all steps [m/s].
    pub(crate) worst_residual: f64,
    /// Where the last step is worst, if it was not solved.
    pub(crate) worst: Option<String>,
}

#[pymethods]
impl StepReport {
    /// How the solve of the last step ended; see `Answer.status`.
    #[getter]
    fn status(&self) -> &'static str {
        self.step.report.status.name()
    }

    /// Whether every step was solved, or swept as often as asked.
    #[getter]
    fn solved(&self) -> bool {
        self.unsolved == 0
    }

    /// Substeps that were not solved, of all steps made.
    #[getter]
    fn unsolved(&self) -> u64 {
        self.unsolved
    }

    /// Steps made.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps
    }

    /// Time simulated so far [s].
    #[getter]
    fn time(&self) -> f64 {
        self.time
    }

    /// The law residual of the last step [m/s].
    #[getter]
    fn residual(&self) -> f64 {
        self.step.report.residual.law
    }

    /// The largest law residual of all steps made [m/s].
    #[getter]
    fn worst_residual(&self) -> f64 {
        self.worst_residual
    }

    /// Where the residual of the last step is largest, in words, if it was not solved.
    #[getter]
    fn worst(&self) -> Option<&str> {
        self.worst.as_deref()
    }

    /// Sweeps or pivots of the last step.
    #[getter]
    fn iterations(&self) -> usize {
        self.step.report.iterations
    }

    /// The solver.
    #[getter]
    fn solver(&self) -> &'static str {
        self.step.report.solver
    }

    /// What `auto` took in the last step.
    #[getter]
    fn chosen(&self) -> Vec<&'static str> {
        let parts = self.step.report.chosen.iter();
        parts.map(|part| part.choice.first.solver).collect()
    }

    /// What to know about the last step, in words.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.step.report.message.as_deref()
    }

    /// Contacts in the last step.
    #[getter]
    fn contacts(&self) -> usize {
        self.step.contacts
    }

    /// Deepest penetration met in the last step [m].
    #[getter]
    fn penetration(&self) -> f64 {
        self.step.penetration
    }

    /// Largest violation of a joint after the last step [m or rad].
    #[getter]
    fn violation(&self) -> f64 {
        self.step.violation
    }

    /// Kinetic energy after the last step [J].
    #[getter]
    fn kinetic(&self) -> f64 {
        self.step.probe.kinetic
    }

    /// Potential energy after the last step [J].
    #[getter]
    fn potential(&self) -> f64 {
        self.step.probe.potential
    }

    fn __repr__(&self) -> String {
        format!(
            "<StepReport: {} steps to {:.4} s, {}, {} unsolved, law residual {:.1e} m/s, {} contacts>",
            self.steps,
            self.time,
            self.status(),
            self.unsolved,
            self.worst_residual,
            self.step.contacts
        )
    }
}
