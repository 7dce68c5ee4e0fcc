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

use crate::solver::Status;
use crate::solver::pivot::contact::basis::Slot;
use crate::solver::pivot::contact::pivots::{Options, Outcome, Run, Work};
use crate::solver::pivot::contact::{ContactLcp, NONE};
use crate::solver::pivot::crowd::guess::{Guess, State};
use crate::solver::pivot::crowd::path;

/// The turns in which solutions follow each other, this many at most.
const DARING: usize = 2;
const SOLUTIONS: usize = 5;
/// Sweeps of the first turn; each later one has twice as many.
const SWEEPS: usize = 150;
/// Most pivots of one path.
const PIVOTS: usize = 100;
/// A point is right up to this much of max|q|.
const RIGHT: f64 = 1e-10;

/// Solves in bases that impulses of the whole problem lead to, in so many turns. The status is `breakdown` where that
/// leads nowhere. Sweeps count as pivots, and so do pairs exchanged between two bases.
pub(crate) fn solve(
    lcp: &ContactLcp,
    lambda: Option<&[f64]>,
    most: usize,
    options: &Options<'_>,
    work: &mut Work,
) -> Outcome {
    guessing(lcp, lambda, options, work, |run, guess| {
        run.work.basis.many = true;
        run.work.basis.bodies.plan(lcp);
        turns(lcp, most, options, run, guess);
    })
}

/// The residual of impulses of the whole problem, relative to max|q|; the point they are is left in [`Work`].
pub(crate) fn residual(
    lcp: &ContactLcp,
    lambda: &[f64],
    options: &Options<'_>,
    work: &mut Work,
) -> f64 {
    let outcome = guessing(lcp, Some(lambda), options, work, |run, guess| {
        run.outcome.residual = run.work.judge(lcp, guess) / run.scale;
    });
    outcome.residual
}

/// Does something with impulses read as a guess, whose arrays are those of the last time.
fn guessing(
    lcp: &ContactLcp,
    lambda: Option<&[f64]>,
    options: &Options<'_>,
    work: &mut Work,
    act: impl FnOnce(&mut Run<'_>, &mut Guess),
) -> Outcome {
    let mut guess = std::mem::take(&mut work.guess);
    let mut run = Run::new(lcp, options, work, false);
    run.outcome.status = Status::Breakdown;
    if run.prepare().is_none() {
        guess.read(lcp, lambda);
        act(&mut run, &mut guess);
    }
    run.work.guess = guess;
    run.outcome
}

fn turns(
    lcp: &ContactLcp,
    most: usize,
    options: &Options<'_>,
    run: &mut Run<'_>,
    guess: &mut Guess,
) {
    // Forth and back, every number is read and written.
    let sweep = 4 * lcp.columns.values.len() as u64;
    // The guess itself comes first: where nothing has changed, it is right.
    if run.try_point(lcp, guess) || solutions(lcp, run, guess) {
        return;
    }
    for turn in 0..most {
        let sweeps = SWEEPS << turn;
        let over = (0..sweeps).any(|_| {
            guess.sweep(lcp);
            run.outcome.pivots += 1;
            run.work.meter.spend(sweep)
        });
        let late = options.deadline.is_some_and(|end| end <= Instant::now());
        if over || late || options.pivots < run.outcome.pivots {
            break;
        }
        if turn < DARING && solutions(lcp, run, guess) {
            return;
        }
        let mut end = guess.clone();
        let left = options.pivots.saturating_sub(run.outcome.pivots);
        let pivots = left.min(PIVOTS);
        let (pivots, arrived) = path::follow(lcp, run.work, &mut end, run.scale, pivots);
        run.outcome.pivots += pivots;
        if arrived && run.try_point(lcp, &end) {
            return;
        }
        // The answer is a solution in the basis at the end of the path.
        if arrived && run.work.solve_near(lcp, &end) {
            run.work.read_solution(lcp, &mut end);
            if run.try_point(lcp, &end) {
                return;
            }
        }
    }
    // What the sweeps have found is the best start for another solver.
    run.outcome.residual = run.work.judge(lcp, guess) / run.scale;
}

/// Solves in the basis of the guess, then in the one that the solution shows, while that may lead to an answer.
fn solutions(lcp: &ContactLcp, run: &mut Run<'_>, guess: &Guess) -> bool {
    run.outcome.pivots += run.work.show(lcp, guess);
    let mut next = guess.clone();
    let mut least = f64::INFINITY;
    for _ in 0..SOLUTIONS {
        if run.work.charge() || !run.work.solve_near(lcp, &next) {
            return false;
        }
        run.work.read_solution(lcp, &mut next);
        if run.try_point(lcp, &next) {
            return true;
        }
        // Where it leads away it will not come back.
        let residual = run.work.judge(lcp, &next);
        if least <= residual {
            return false;
        }
        least = residual;
        next.aim(lcp);
        let changes = run.work.show(lcp, &next);
        run.outcome.pivots += changes;
        if changes == 0 {
            return false;
        }
    }
    false
}

impl Run<'_> {
    /// Whether these impulses are an answer. If so, they are the point of the run.
    fn try_point(&mut self, lcp: &ContactLcp, guess: &Guess) -> bool {
        let residual = self.work.judge(lcp, guess);
        let right = residual <= RIGHT * self.scale;
        if right {
            self.outcome.residual = residual / self.scale;
            self.outcome.status = Status::Solved;
        }
        right
    }
}

impl Work {
    /// Makes basic what the impulses show to be positive. Returns how many pairs that exchanges.
    fn show(&mut self, lcp: &ContactLcp, guess: &Guess) -> usize {
        let mut changes = 0;
        for (i, &theta) in guess.theta.iter().enumerate() {
            changes += self.put(1 + i, 0.0 < theta);
        }
        for g in 0..lcp.groups.len() {
            changes += self.set_state(lcp, g, guess.state(lcp, g));
        }
        changes
    }

    /// Puts z of a pair into the basis or takes it out. Returns 1 if that is a change.
    pub(crate) fn put(&mut self, slot: usize, basic: bool) -> usize {
        if self.basis.basic[slot] == basic {
            return 0;
        }
        self.basis.set(slot, basic);
        1
    }

    /// The basic variables of a group in this state. Returns how many pairs that exchanges.
    pub(crate) fn set_state(&mut self, lcp: &ContactLcp, g: usize, state: State) -> usize {
        let (at, count) = (self.basis.at[g], lcp.groups[g].count);
        let [i, j] = directions_of(count, state);
        let mut changes = 0;
        for k in 0..count {
            changes += self.put(at + k, k == i || k == j);
        }
        let slips = matches!(state, State::Side(..) | State::Corner(_));
        changes + self.put(at + count, slips)
    }

    /// Counts what systems over the bodies have cost. True where the attempt has to end.
    pub(crate) fn charge(&mut self) -> bool {
        let done = std::mem::take(&mut self.basis.bodies.done);
        self.meter.spend(done)
    }

    /// Solves in the basis at hand, near the impulses given. False where there is no solution.
    fn solve_near(&mut self, lcp: &ContactLcp, guess: &Guess) -> bool {
        if self.basis.assemble(lcp, None) == 0.0 {
            return false;
        }
        self.start_near(lcp, guess);
        self.refresh(lcp);
        true
    }

    /// Solutions start from the impulses given.
    pub(crate) fn start_near(&mut self, lcp: &ContactLcp, guess: &Guess) {
        let mut start = std::mem::take(&mut self.basis.start);
        start.clear();
        start.resize(self.basis.slots.len(), 0.0);
        start[1..=guess.theta.len()].copy_from_slice(&guess.theta);
        for (g, group) in lcp.groups.iter().enumerate() {
            let at = self.basis.at[g];
            let mut basic = (0..group.count).filter(|k| self.basis.basic[at + k]);
            let d = |k: usize| lcp.directions[group.start + k];
            let [x, y] = guess.friction[g];
            match (basic.next(), basic.next()) {
                (Some(i), Some(j)) => {
                    let (a, b) = (d(i), d(j));
                    let det = a[0] * b[1] - a[1] * b[0];
                    start[at + i] = (x * b[1] - y * b[0]) / det;
                    start[at + j] = (a[0] * y - a[1] * x) / det;
                }
                (Some(i), None) => {
                    let [a, b] = d(i);
                    start[at + i] = (a * x + b * y) / (a * a + b * b);
                }
                _ => {}
            }
        }
        self.basis.start = start;
        self.basis.free_start.clear();
        self.basis.free_start.extend_from_slice(&guess.free);
    }

    /// The impulses of the values.
    fn read_solution(&self, lcp: &ContactLcp, guess: &mut Guess) {
        self.read_guess(lcp, &self.values, &self.free, guess);
    }

    /// The impulses of a table and of free multipliers.
    pub(crate) fn read_guess(
        &self,
        lcp: &ContactLcp,
        table: &[f64],
        free: &[f64],
        guess: &mut Guess,
    ) {
        guess.theta.fill(0.0);
        guess.friction.fill([0.0; 2]);
        for (slot, &value) in table.iter().enumerate() {
            match self.basis.slots[slot] {
                _ if !self.basis.basic[slot] => {}
                Slot::Normal(i) => guess.theta[i] = value,
                Slot::Direction(g, j) => {
                    let [a, b] = lcp.directions[lcp.groups[g].start + j];
                    let [x, y] = guess.friction[g];
                    guess.friction[g] = [x + a * value, y + b * value];
                }
                Slot::Bound(_) | Slot::Cover => {}
            }
        }
        guess.free.copy_from_slice(free);
        guess.find_velocity(lcp);
    }

    /// The residual of the impulses once they obey their bounds; the point is left for whoever likes it.
    fn judge(&mut self, lcp: &ContactLcp, guess: &Guess) -> f64 {
        let mut lawful = guess.clone();
        lawful.settle(lcp);
        lawful.point(lcp, &mut self.point);
        self.point.residual(lcp)
    }
}

/// Basic directions of a group of so many in this state; [`NONE`] where there are fewer. What sticks is written in two
/// that are nearly at right angles, whatever its friction is, or in the only one there is.
fn directions_of(count: usize, state: State) -> [usize; 2] {
    match state {
        State::Idle => [NONE; 2],
        State::Stick if count < 3 => [0, NONE],
        State::Stick => [0, (count / 4).max(1)],
        State::Side(i, j) => [i, j],
        State::Corner(i) => [i, NONE],
    }
}
