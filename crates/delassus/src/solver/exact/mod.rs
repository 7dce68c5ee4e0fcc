//! Solvers of linear systems: equality rows at once, by factorisation.
//!
//! [`direct`] factors along an elimination tree of the bodies, [`kkt`] lets kinematic trees answer their rows.

pub mod direct;
pub mod kkt;

use super::{Fit, Monitor, Rank, Solver, Status, Stop, SweepStats, topology};
use crate::law::Law;

/// A linear system has equalities alone.
fn fit_of(law: &Law) -> Fit {
    match law {
        Law::Equality => Fit::Exact,
        _ => Fit::No,
    }
}
