//! `delassus bench NAME`: experiments that are repeated with every release, as tables, JSON and pictures.

mod chains;
mod figure;
mod growth;
mod lemke;

use delassus::BuildError;
use delassus::chains::ChainError;
use delassus::scenes::ExhibitError;
use delassus::world::StepError;

use crate::args::{Bench, BenchArgs};
use crate::console::Printed;
use crate::refusal::Refusal;
use crate::solvers::SolverError;

/// A measurement that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("{name}: {cause}")]
    Experiment { name: String, cause: BuildError },
    #[error("the chains left the finite numbers")]
    NotFinite,
    #[error(transparent)]
    Chains(#[from] ChainError),
    #[error(transparent)]
    Scene(#[from] ExhibitError),
    #[error(transparent)]
    Step(#[from] StepError),
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Device(#[from] delassus_gpu::GpuError),
    #[error(transparent)]
    Solver(#[from] SolverError),
}

/// Runs the benchmark asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<Printed, Refusal> {
    match args.name {
        Bench::Lemke => lemke::run(args),
        Bench::Chains => chains::run(args),
    }
}
