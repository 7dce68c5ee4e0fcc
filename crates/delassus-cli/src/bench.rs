//! `delassus bench NAME`: experiments that are repeated with every release, as tables, JSON and pictures.

mod chains;
mod figure;
mod growth;
mod lemke;

use crate::args::{Bench, BenchArgs};
use crate::console::{Printed, Refusal};

/// Runs the benchmark asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<Printed, Refusal> {
    match args.name {
        Bench::Lemke => lemke::run(args),
        Bench::Chains => chains::run(args),
    }
}
