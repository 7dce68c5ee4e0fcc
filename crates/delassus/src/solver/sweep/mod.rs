//! Solvers that visit one block after the other, or all at once, until nothing changes any more.
//!
//! [`gauss_seidel`] is the plain form, [`coloured`] the same with contacts in lanes and on threads, [`jacobi`] visits
//! all blocks at once, [`hybrid`] sees joints as factored lumps. All of them solve one block by [`Rule`].

pub mod coloured;
mod disks;
pub mod gauss_seidel;
pub mod hybrid;
mod inverse;
pub mod jacobi;
mod rule;
mod secular;

pub(in crate::solver) use rule::Locals;
pub use rule::Rule;

use super::catalogue::name_of;
use super::{Fit, Monitor, Solver, Status, Stop, SweepStats, exact, topology};
