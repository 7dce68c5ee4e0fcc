//! What a run may cost: pivots and time as the caller says, and multiplications, which are counted and not timed, so
//! that the same problem ends at the same place on any machine.
//!
//! One attempt after the other gets a share of the multiplications that are left, so that a path that wanders leaves
//! something to the next.

use std::time::{Duration, Instant};

use crate::solver::Certificate;
use crate::solver::cancel::Cancel;

/// When this much time will have passed; never where that is beyond the clock.
pub(super) fn deadline(time: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(time?)
}

/// What a run has spent and found.
pub(super) struct Spent {
    pub(super) pivots: usize,
    /// Most pivots.
    most: usize,
    pub(super) deadline: Option<Instant>,
    /// What the island at hand has instead of an answer.
    pub(super) certificate: Option<Certificate>,
}

impl Spent {
    /// Nothing spent yet; so many pivots and so much time are allowed.
    pub(super) fn new(most: usize, time: Option<Duration>) -> Spent {
        Spent {
            pivots: 0,
            most,
            deadline: deadline(time),
            certificate: None,
        }
    }

    /// Pivots that are left.
    pub(super) fn pivots_left(&self) -> usize {
        self.most.saturating_sub(self.pivots)
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Whether no pivot is left after some were made: where none are allowed trivial problems are still answered.
    pub(super) fn is_over(&self) -> bool {
        self.pivots != 0 && self.pivots_left() == 0
    }
}

/// Counts what is done for an island. The default counts without a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    done: u64,
    /// Most multiplications in all, and up to the end of the attempt under way.
    most: u64,
    end: u64,
    /// Whether an attempt has met its end.
    short: bool,
    cancel: Option<Cancel>,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::new(None, None)
    }
}

impl Meter {
    /// Nothing done yet; no limit where there is none.
    pub(super) fn new(most: Option<u64>, cancel: Option<Cancel>) -> Meter {
        let most = most.unwrap_or(u64::MAX);
        Meter {
            done: 0,
            most,
            end: most,
            short: false,
            cancel,
        }
    }

    /// Another island begins, which may do as much.
    pub(super) fn renew(&mut self) {
        (self.done, self.end) = (0, self.most);
    }

    /// Another attempt begins, which may do this part of what is left.
    pub(super) fn begin(&mut self, part: u64) {
        self.end = self.done.saturating_add(self.left() / part.max(1));
    }

    /// Multiplications that are left in all.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.done)
    }

    /// Counts multiplications. True where the attempt has to end.
    #[inline]
    pub(super) fn spend(&mut self, count: u64) -> bool {
        self.done = self.done.saturating_add(count);
        self.short |= self.end <= self.done;
        self.end <= self.done || self.is_cancelled()
    }

    /// Counts one system of n unknowns, factored anew, and a pass over so many other numbers.
    #[inline]
    pub(super) fn spend_system(&mut self, n: usize, others: usize) -> bool {
        let n = n as u64;
        self.spend(n * n * n / 3 + 4 * n * n + 4 * others as u64)
    }

    /// Whether an attempt ended because of its limit, for this island or one before.
    pub(super) fn is_short(&self) -> bool {
        self.short
    }

    /// Whether the caller has asked to stop.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_raised)
    }

    /// Leaves something undone that would cost more than is left.
    pub(super) fn afford(&mut self, count: u64) -> bool {
        let enough = count <= self.left();
        self.short |= !enough;
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_share_what_is_left_and_the_last_one_gets_all_of_it() {
        let mut meter = Meter::new(Some(100), None);
        meter.begin(2);
        assert!(!meter.spend(49) && !meter.is_short());
        assert!(meter.spend(1) && meter.is_short());
        meter.begin(2);
        assert!(!meter.spend(24) && meter.spend(6));
        assert!(meter.afford(20) && !meter.afford(21));
        meter.begin(1);
        assert!(!meter.spend(19) && meter.spend(1));
        assert_eq!(meter.left(), 0);
        meter.renew();
        assert!(!meter.spend(99) && meter.is_short());
    }

    #[test]
    fn without_a_limit_nothing_ends_unless_the_caller_asks() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static FLAG: AtomicBool = AtomicBool::new(false);
        let mut meter = Meter::new(None, Some(Cancel::new(&FLAG)));
        assert!(!meter.spend(u64::MAX / 2));
        FLAG.store(true, Ordering::Relaxed);
        assert!(meter.spend(1) && !meter.is_short());
    }
}
