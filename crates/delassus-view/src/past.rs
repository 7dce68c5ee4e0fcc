//! The last stretch of a live run, kept to go back to.

use std::collections::VecDeque;

use delassus::world::State;

use crate::frame::Arrow;
use crate::numbers::Numbers;

/// Moments kept at most, and the memory they may take in all, in bytes.
const MOST: usize = 1500;
const ROOM: usize = 64 << 20;
/// Memory of a body or a contact row in a moment, about, in bytes.
const EACH: usize = 250;

/// What one view showed at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) state: State,
    pub(crate) arrows: Vec<Arrow>,
    pub(crate) last: Option<Numbers>,
}

/// All views after a step.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) step: u64,
    pub(crate) panes: Vec<Seen>,
}

/// Moments in the order of their steps, the newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past(VecDeque<Moment>);

impl Past {
    /// Whether a world of so many bodies has room for two moments at least.
    pub(crate) fn fits(bodies: usize) -> bool {
        2 * EACH * bodies <= ROOM
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps a moment; those that were later are another future's.
    pub(crate) fn push(&mut self, moment: Moment) {
        let before = self.0.partition_point(|known| known.step < moment.step);
        self.0.truncate(before);
        let bodies: usize = moment.panes.iter().map(|seen| seen.state.bodies()).sum();
        let arrows: usize = moment.panes.iter().map(|seen| seen.arrows.len()).sum();
        let most = MOST.min(ROOM / (EACH * (bodies + arrows).max(1))).max(2);
        while most <= self.0.len() {
            self.0.pop_front();
        }
        self.0.push_back(moment);
    }

    /// The last moment that is not later than a step, or else the first.
    pub(crate) fn at(&self, step: u64) -> Option<&Moment> {
        let later = self.0.partition_point(|known| known.step <= step);
        self.0.get(later.saturating_sub(1))
    }

    /// Steps of the first and the last moment.
    pub(crate) fn span(&self) -> Option<[u64; 2]> {
        Some([self.0.front()?.step, self.0.back()?.step])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(step: u64) -> Moment {
        let panes = Vec::new();
        Moment { step, panes }
    }

    #[test]
    fn the_past_is_bounded_and_another_future_replaces_the_first() {
        let mut past = Past::default();
        assert!(past.span().is_none() && past.at(3).is_none());
        for step in 0..2000 {
            past.push(moment(2 * step));
        }
        assert_eq!(past.span(), Some([2 * (2000 - MOST as u64), 3998]));
        assert_eq!(past.at(3001).map(|found| found.step), Some(3000));
        assert_eq!(past.at(0).map(|found| found.step), Some(1000));
        past.push(moment(2001));
        assert_eq!(past.span(), Some([1000, 2001]));
    }
}
