//! Lemke's algorithm: complementary pivoting, for any linear complementarity problem and for contacts.
//!
#![doc = include_str!("../../../docs/lemke.md")]

mod attempts;
mod budget;
pub mod contact;
mod crowd;
mod island;
pub mod lcp;
mod matrix;
mod method;
mod rescue;

pub use attempts::Lemke;
pub use lcp::Lcp;
pub use lcp::murty::murty;
pub use lcp::ratio::Pivot;
pub use lcp::solve::{Cover, LcpAnswer, LcpOptions, solve};
pub use method::{CoverChoice, Method};

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
