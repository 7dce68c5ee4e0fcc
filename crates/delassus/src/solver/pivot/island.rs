//! One island on its way to an answer, and what the whole run has spent.

use std::time::{Duration, Instant};

use crate::index::BlockId;
use crate::problem::Problem;
use crate::solver::Certificate;

/// Blocks that depend on each other, and where their impulses go.
pub(crate) struct Island<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) blocks: &'a [BlockId],
    /// Impulses of the whole problem that are nearly right, those of the last step.
    pub(crate) guess: Option<&'a [f64]>,
    /// Impulses of the whole problem, of which those of this island are written.
    pub(crate) lambda: &'a mut [f64],
    pub(crate) budget: &'a mut Budget,
}

/// What a run has spent and found.
pub(crate) struct Budget {
    pub(crate) pivots: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) certificate: Option<Certificate>,
}

impl Budget {
    /// Nothing spent yet, and so much time.
    pub(crate) fn new(time: Option<Duration>) -> Budget {
        Budget {
            pivots: 0,
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            certificate: None,
        }
    }

    pub(crate) fn left(&self, most: usize) -> usize {
        most.saturating_sub(self.pivots)
    }

    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Whether nothing is left after something was spent: without pivots trivial problems are still answered.
    pub(crate) fn is_spent(&self, most: usize) -> bool {
        self.pivots != 0 && self.left(most) == 0
    }
}
