//! Many bodies from a guess: sweeps say which contacts carry load and which slip, and that basis is solved.
//!
//! From nothing, a path has several times as many pivots as there are contacts, each with a system of its size. Here
//! few systems do: solved in the basis of the guess, then in the one its solution shows, and so on while that leads
//! to an answer. Where it does not, sweeps from the guess show another basis to start from.
//!
//! ```text
//! θ − ν            positive: the contact carries load
//! τ − σ/ρ          within its polygon: it sticks, else it slips along the side or corner nearest to it
//! ```
//!
//! Nothing but a point that obeys the laws to the last digits counts.

use std::time::Instant;

use super::CrowdWork;
use super::bodies::OverBodies;
use super::guess::Guess;
use super::path;
use crate::solver::Status;
use crate::solver::pivot::contact::pivots::{Friction, Pivoting};
use crate::solver::pivot::contact::{ContactLcp, PivotOptions, PivotOutcome, PivotWork};

/// The turns in which solutions follow each other, this many at most.
const DARING: usize = 2;
const SOLUTIONS: usize = 5;
/// Sweeps of the first turn; each later one has twice as many.
const SWEEPS: usize = 150;
/// Most pivots of one path.
const PIVOTS: usize = 100;
/// A point is right up to this much of max|q|.
const RIGHT: f64 = 1e-10;

/// Attempts from a guess on their way.
pub(super) struct Crash<'a> {
    over: OverBodies<'a>,
    options: &'a PivotOptions<'a>,
    /// max|q|.
    scale: f64,
    outcome: PivotOutcome,
}

/// Solves in bases that impulses of the whole problem lead to, in so many turns. The status is `breakdown` where that
/// leads nowhere. Sweeps count as pivots, and so do pairs exchanged between two bases.
pub(super) fn solve(
    lcp: &ContactLcp,
    lambda: Option<&[f64]>,
    turns: usize,
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
    crowd: &mut CrowdWork,
) -> PivotOutcome {
    with_guess(lcp, lambda, options, work, crowd, |crash, guess| {
        crash.over.system.plan(lcp);
        crash.turns(turns, guess);
    })
}

/// The residual of impulses of the whole problem, relative to max|q|; the point they are is left in [`PivotWork`].
pub(super) fn residual(
    lcp: &ContactLcp,
    lambda: &[f64],
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
    crowd: &mut CrowdWork,
) -> f64 {
    let outcome = with_guess(lcp, Some(lambda), options, work, crowd, |crash, guess| {
        crash.outcome.residual = crash.over.judge(guess) / crash.scale;
    });
    outcome.residual
}

/// Does something with impulses read as a guess, whose arrays are those of the last time.
fn with_guess(
    lcp: &ContactLcp,
    lambda: Option<&[f64]>,
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
    crowd: &mut CrowdWork,
    act: impl FnOnce(&mut Crash<'_>, &mut Guess),
) -> PivotOutcome {
    let mut run = Pivoting::new(lcp, options, work, Friction::FromStart);
    run.outcome.status = Status::Breakdown;
    if run.prepare().is_some() {
        return run.outcome;
    }
    let (scale, outcome) = (run.scale, run.outcome);
    let CrowdWork { guess, system } = crowd;
    guess.read(lcp, lambda);
    let mut crash = Crash {
        over: OverBodies { lcp, work, system },
        options,
        scale,
        outcome,
    };
    act(&mut crash, guess);
    crash.outcome
}

impl Crash<'_> {
    fn turns(&mut self, turns: usize, guess: &mut Guess) {
        let lcp = self.over.lcp;
        // Forth and back, every number is read and written.
        let sweep = 4 * lcp.columns.values.len() as u64;
        // The guess itself comes first: where nothing has changed, it is right.
        if self.accepts(guess) || self.solutions(guess) {
            return;
        }
        for turn in 0..turns {
            let sweeps = SWEEPS << turn;
            let over = (0..sweeps).any(|_| {
                guess.sweep(lcp);
                self.outcome.pivots += 1;
                self.over.work.meter.spend(sweep)
            });
            let late = self
                .options
                .deadline
                .is_some_and(|end| end <= Instant::now());
            if over || late || self.options.pivots < self.outcome.pivots {
                break;
            }
            if turn < DARING && self.solutions(guess) {
                return;
            }
            let mut end = guess.clone();
            let left = self.options.pivots.saturating_sub(self.outcome.pivots);
            let followed = path::follow(&mut self.over, &mut end, self.scale, left.min(PIVOTS));
            self.outcome.pivots += followed.pivots;
            if followed.arrived && self.accepts(&end) {
                return;
            }
            // The answer is a solution in the basis at the end of the path.
            if followed.arrived && self.over.solve_near(&end) {
                self.read_solution(&mut end);
                if self.accepts(&end) {
                    return;
                }
            }
        }
        // What the sweeps have found is the best there is.
        self.outcome.residual = self.over.judge(guess) / self.scale;
    }

    /// Solves in the basis of the guess, then in the one that the solution shows, while that may lead to an answer.
    fn solutions(&mut self, guess: &Guess) -> bool {
        self.outcome.pivots += self.over.show(guess);
        let mut next = guess.clone();
        let mut least = f64::INFINITY;
        for _ in 0..SOLUTIONS {
            if self.over.charge() || !self.over.solve_near(&next) {
                return false;
            }
            self.read_solution(&mut next);
            if self.accepts(&next) {
                return true;
            }
            // Where it leads away it will not come back.
            let residual = self.over.judge(&next);
            if least <= residual {
                return false;
            }
            least = residual;
            next.aim(self.over.lcp);
            let changes = self.over.show(&next);
            self.outcome.pivots += changes;
            if changes == 0 {
                return false;
            }
        }
        false
    }

    /// Whether these impulses are an answer. If so, they are the point of the run.
    fn accepts(&mut self, guess: &Guess) -> bool {
        let residual = self.over.judge(guess);
        let right = residual <= RIGHT * self.scale;
        if right {
            self.outcome.residual = residual / self.scale;
            self.outcome.status = Status::Solved;
        }
        right
    }

    /// The impulses of the values.
    fn read_solution(&self, guess: &mut Guess) {
        let values = &self.over.work.values;
        self.over.read(&values.pairs, &values.free, guess);
    }
}
