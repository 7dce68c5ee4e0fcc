//! Lemke's algorithm: complementary pivoting, for any linear complementarity problem and for contacts.
//!
#![doc = include_str!("../../../docs/lemke.md")]

mod back;
mod basis;
mod bodies;
mod choice;
mod columns;
pub mod contact;
mod crash;
mod crowd;
mod degree;
mod dense;
mod driver;
mod every;
mod free;
mod fronts;
mod game;
mod guess;
mod island;
mod kernel;
mod lcp;
mod matrix;
mod meter;
mod method;
mod murty;
mod partition;
mod path;
mod point;
pub(crate) mod ratio;
pub mod reduced;
mod rescue;
mod scaled;
mod single;
mod solve;
mod sparse;
mod standard;
pub mod structural;
mod table;
mod values;
mod warm;
mod written;

pub use driver::Lemke;
pub use lcp::Lcp;
pub use method::{CoverChoice, Method};
pub use murty::murty;
pub use ratio::Pivot;
pub use solve::{Cover, LcpAnswer, LcpOptions, solve};

use crate::solver::Status;

/// How a run of pivots ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// z₀ left the basis: the values are a solution, to be verified.
    Solved,
    /// The driving variable can grow for ever.
    Ray,
    /// The allowed pivots are used up.
    PivotLimit,
    /// The allowed time is used up.
    TimeLimit,
    /// The basis became singular, or numbers lost all meaning.
    Breakdown,
}

impl End {
    /// The status of a report.
    pub(crate) fn status(self) -> Status {
        match self {
            End::Solved => Status::Solved,
            End::Ray => Status::Ray,
            End::PivotLimit => Status::PivotLimit,
            End::TimeLimit => Status::TimeLimit,
            End::Breakdown => Status::Breakdown,
        }
    }
}

/// Limits of one run of pivots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most pivots.
    pub(crate) pivots: usize,
    /// The moment to stop at.
    pub(crate) deadline: Option<std::time::Instant>,
}

impl Limits {
    /// The end a run meets that has done so many pivots, if any.
    pub(crate) fn reached(&self, pivots: usize) -> Option<End> {
        if self.pivots <= pivots {
            return Some(End::PivotLimit);
        }
        let late = self
            .deadline
            .is_some_and(|deadline| deadline <= std::time::Instant::now());
        late.then_some(End::TimeLimit)
    }
}

#[cfg(test)]
mod tests;
