//! The compiled half of the Python package `delassus`: what `python/delassus` imports as `delassus._delassus`.
//!
//! Everything given from Python is checked here, before the engine sees it: shapes, kinds of numbers, finiteness.
//! Solves and steps run without the interpreter's lock, and Ctrl-C ends them.

mod answer;
mod arrays;
mod batch;
mod derivative;
mod differentiate;
mod doctor;
mod draft;
mod error;
mod handle;
mod interrupt;
mod joint;
mod keys;
mod pieces;
mod primal;
mod problem;
mod robot;
mod shape;
mod solve;
mod state;
mod step;
mod tape;
mod view;
mod world;

use pyo3::prelude::*;

/// Problems, solvers, worlds and robots; see the package `delassus`.
#[pymodule]
mod _delassus {
    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::batch::{Batch, BatchReport};
    #[pymodule_export]
    use crate::derivative::{Derivative, derivative};
    #[pymodule_export]
    use crate::differentiate::StepDerivative;
    #[pymodule_export]
    use crate::doctor::{Diagnosis, Finding, doctor};
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::handle::{Body, Joint};
    #[pymodule_export]
    use crate::problem::{Problem, friction, lcp};
    #[pymodule_export]
    use crate::robot::Robot;
    #[pymodule_export]
    use crate::shape::Shape;
    #[pymodule_export]
    use crate::solve::{solve, solvers, variants};
    #[pymodule_export]
    use crate::step::StepReport;
    #[pymodule_export]
    use crate::tape::Recording;
    #[pymodule_export]
    use crate::view::View;
    #[pymodule_export]
    use crate::world::World;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
