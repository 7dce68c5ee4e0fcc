//! One island on its way to an answer, and what the whole run has spent.

use std::time::{Duration, Instant};

use crate::index::BlockId;
use crate::problem::Problem;
use crate::solver::Certificate;

/// Blocks that depend on each other, and where their impulses go.
pub(super) struct Island<'a> {
    pub(super) problem: &'a Problem,
    pub(super) blocks: &'a [BlockId],
    /// Impulses of the whole problem that are nearly right, those of the last step.
    pub(super) guess: Option<&'a [f64]>,
    /// Impulses of the whole problem, of which those of this island are written.
    pub(super) lambda: &'a mut [f64],
    pub(super) budget: &'a mut Budget,
}

/// What a run has spent and found.
pub(super) struct Budget {
    pub(super) pivots: usize,
    pub(super) deadline: Option<Instant>,
    pub(super) certificate: Option<Certificate>,
}

impl Budget {
    /// Nothing spent yet, and so much time.
    pub(super) fn new(time: Option<Duration>) -> Budget {
        Budget {
            pivots: 0,
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            certificate: None,
        }
    }

    pub(super) fn left(&self, most: usize) -> usize {
        most.saturating_sub(self.pivots)
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Whether nothing is left after something was spent: without pivots trivial problems are still answered.
    pub(super) fn is_spent(&self, most: usize) -> bool {
        self.pivots != 0 && self.left(most) == 0
    }
}
