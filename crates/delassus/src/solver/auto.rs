//! The ladder: which solvers are tried on a problem, in which order and with what allowance.
//!
//! All such policy stands here. Every other solver does its own method, reports how it ended, and names no other.
#![doc = include_str!("../../docs/auto.md")]

mod floor;
mod parts;
mod proof;
mod table;

use std::fmt;
use std::time::{Duration, Instant};

use super::{Fit, Monitor, Report, Solver, Status, Stop, Sweep, from_spec};
use crate::law::Law;
use crate::math::{Few, max_abs};
use crate::problem::{Problem, Solution};
use parts::Sum;
use table::Allowance::{Anew, Once, Onward, Probe};
pub use table::{Allowance, Choice, PATIENCE, Rung, TABLE, choose};
use table::{EMPTY, JOINTS};

/// Its name on the command line: the solver of everything that names no other.
pub const NAME: &str = "auto";

/// How many times as large a residual at the floor of rounding may be as that of an answer that only stalled: what the last
/// digits of impulses leave is chance, and differs by a decade.
const ALIKE: f64 = 10.0;

/// What was chosen for a part of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The line of the table.
    pub choice: Choice,
    /// Islands of the part; zero where the problem was not taken apart.
    pub islands: usize,
}

impl Default for Chosen {
    /// What is chosen where there is nothing to solve.
    fn default() -> Chosen {
        Chosen {
            choice: EMPTY,
            islands: 0,
        }
    }
}

/// What was chosen for each part: nearly always there is one.
pub type Choices = Few<Chosen, 1>;

/// The solver that picks a solver, and another one where the first does not solve.
pub struct Auto {
    /// When to stop: sweeps, pivots and time of all attempts together, for each part of a problem.
    pub stop: Stop,
    /// Seed of solvers that use chance.
    pub seed: u64,
    /// Impulses that the solve under way was given.
    start: Vec<f64>,
    /// Solvers made so far: what they keep between solves is kept.
    made: Vec<(&'static str, Box<dyn Solver + Send>)>,
}

impl fmt::Debug for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made: Vec<&str> = self.made.iter().map(|(spec, _)| *spec).collect();
        f.debug_struct("Auto")
            .field("stop", &self.stop)
            .field("seed", &self.seed)
            .field("made", &made)
            .finish()
    }
}

impl Solver for Auto {
    fn name(&self) -> &'static str {
        NAME
    }

    /// For every law there is a solver that obeys it exactly.
    fn fit(&self, _law: &Law) -> Fit {
        Fit::Exact
    }

    stops_by_its_field!();

    fn solves_joints_at_once(&self) -> Option<Choices> {
        let chosen = Chosen {
            choice: JOINTS,
            islands: 0,
        };
        (0.0 < self.stop.tolerance).then(|| Choices::from_iter([chosen]))
    }

    /// That of the solvers chosen: no single one obeys every mixture of laws.
    fn fit_of(&self, problem: &Problem) -> Fit {
        let fit = |part: &Problem| {
            let first = choose(part, self.stop.tolerance).first.solver;
            from_spec(first, self.stop, 0).map_or(Fit::No, |solver| solver.fit_of(part))
        };
        let parts = parts::parts(problem).into_iter();
        let worst = parts.map(|part| fit(&part.problem)).max();
        worst.unwrap_or_else(|| fit(problem))
    }

    /// The first attempt alone: a ladder needs a report after each.
    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let first = choose(problem, self.stop.tolerance).first.solver;
        self.with(first, self.stop).run(problem, solution, monitor)
    }

    /// Solves islands of different kinds separately, each kind by its own line of the table.
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        let begin = Instant::now();
        let parts = parts::parts(problem);
        if parts.is_empty() || self.stop.tolerance <= 0.0 {
            return self.climb(problem, solution, (0, Duration::ZERO));
        }
        let mut lambda = std::mem::take(&mut solution.lambda);
        if lambda.len() != problem.n_rows() || !max_abs(&lambda).is_finite() {
            lambda = vec![0.0; problem.n_rows()];
        }
        let spent = (self.stop, begin.elapsed());
        let mut sum = Sum::new((problem, &parts), &lambda, spent);
        for (i, part) in parts.iter().enumerate() {
            let mut own = part.share(&lambda);
            let report = self.climb(&part.problem, &mut own, (part.islands, sum.spent()));
            part.put(&own.lambda, &mut lambda);
            sum.add(i, report);
        }
        *solution = Solution::from_lambda(problem, lambda);
        match sum.finish(solution) {
            Some(report) => report,
            None => self.climb(problem, solution, (0, Duration::ZERO)),
        }
    }
}

impl Default for Auto {
    fn default() -> Auto {
        Auto::new(Stop::default(), 0)
    }
}

impl Auto {
    /// A solver with this stopping rule and seed.
    pub fn new(stop: Stop, seed: u64) -> Auto {
        Auto {
            stop,
            seed,
            start: Vec::new(),
            made: Vec::new(),
        }
    }

    /// The solver of this name with this stopping rule, made on first use. What is left of sweeps and time is another
    /// rule at every solve, and what the solver keeps between solves stays.
    fn with(&mut self, spec: &'static str, stop: Stop) -> &mut (dyn Solver + Send) {
        let mut made = self.made.iter_mut();
        let at = made.position(|(name, solver)| *name == spec && solver.limit(stop));
        let at = at.unwrap_or_else(|| {
            let solver = from_spec(spec, stop, self.seed);
            let solver = solver.expect("a test makes every solver of the table");
            self.made.push((spec, solver));
            self.made.len() - 1
        });
        self.made[at].1.as_mut()
    }

    /// Climbs the ladder of the problem's class until an attempt solves, nothing is left, or there is a proof that
    /// nothing can. The best answer by the judge is kept; time, iterations and history are those of all attempts.
    fn climb(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        (islands, spent): (usize, Duration),
    ) -> Report {
        let choice = choose(problem, self.stop.tolerance);
        let fixed = self.stop.tolerance <= 0.0;
        let mut start = std::mem::take(&mut self.start);
        start.clone_from(&solution.lambda);
        let limits = match fixed {
            true => self.stop,
            false => self.limits(choice.first, None, spent),
        };
        let mut report = self
            .with(choice.first.solver, limits)
            .solve(problem, solution);
        let mut story = None;
        // One more attempt, from the start, where the floor is that of the first answer alone.
        let astray = floor::is_of_the_answer_alone(problem, &start, &report);
        let ladder = choice.then.iter().chain(choice.last);
        for &rung in ladder.take(if astray { 1 } else { usize::MAX }) {
            if fixed || (self.is_final(&report, spent) && !astray) {
                break;
            }
            let stop = self.limits(rung, Some(&report), spent);
            if stop.sweeps == 0 && rung.allowance != Once {
                continue;
            }
            let from = match rung.allowance {
                Probe(_) | Onward if !astray => &solution.lambda,
                _ => &start,
            };
            let mut other = Solution {
                v: Vec::new(),
                lambda: from.clone(),
            };
            let before = story.unwrap_or_else(|| told(choice.first, &report));
            let mut next = self.with(rung.solver, stop).solve(problem, &mut other);
            if report.fit == Fit::Exact && next.fit == Fit::Approximate {
                judge_by_the_law(problem, (&report, &mut next), stop);
            }
            let now = format!("{before}, then {}", told(rung, &next));
            let better = is_better(&next, &report);
            if better {
                *solution = other;
            }
            report = joined(report, next, better);
            report.message = Some(now.clone());
            story = Some(now);
        }
        self.start = start;
        if !fixed {
            floor::mark(problem, &solution.lambda, &mut report);
        }
        report.solver = self.name();
        report.options = Vec::new();
        report.chosen = Choices::from_iter([Chosen { choice, islands }]);
        report
    }

    /// The limits of an attempt after those reported: what its allowance says of what is left, and half of the time, or
    /// all of it where everything is done at once.
    fn limits(&self, rung: Rung, before: Option<&Report>, spent: Duration) -> Stop {
        let (swept, pivoted, elapsed) = before.map_or((0, 0, Duration::ZERO), |report| {
            let swept = report.history.len();
            let pivoted = report.iterations.saturating_sub(swept);
            (swept, pivoted, report.elapsed)
        });
        let left = self.stop.sweeps.saturating_sub(swept);
        let whole = before.is_none() && rung.allowance == Once;
        let share = |time: Duration| if whole { time } else { time / 2 };
        Stop {
            sweeps: match rung.allowance {
                Probe(sweeps) => left.min(sweeps),
                // Factors of `newton` are sweeps: what they do not settle is left to others.
                Onward | Anew | Once => left.div_ceil(2),
            },
            pivots: self.stop.pivots.saturating_sub(pivoted),
            forecast: matches!(rung.allowance, Probe(sweeps) if sweeps <= left),
            time: self
                .stop
                .time
                .map(|limit| share(limit.saturating_sub(spent + elapsed))),
            ..self.stop
        }
    }

    /// Whether nothing else is tried: solved, out of time, interrupted, or proven to have no answer.
    fn is_final(&self, report: &Report, spent: Duration) -> bool {
        let ended = matches!(
            report.status,
            Status::Solved | Status::Interrupted | Status::RoundingFloor
        );
        let late = |limit: Duration| limit <= spent + report.elapsed;
        ended || self.stop.time.is_some_and(late) || is_proven(report)
    }
}

/// How an attempt ended, in words.
fn told(rung: Rung, report: &Report) -> String {
    format!("{} ended as {}", rung.solver, report.status.name())
}

/// Whether it comes with a proof that there is no answer.
fn is_proven(report: &Report) -> bool {
    let certificate = report.certificate.as_ref();
    certificate.is_some_and(|certificate| certificate.farkas.is_some())
}

/// Whether a run says more than those before it: a solver without a rule for the laws says nothing.
fn is_better(next: &Report, before: &Report) -> bool {
    match (next.status, before.status) {
        (Status::Solved, _) | (_, Status::Unsupported) => true,
        (Status::Unsupported, _) => false,
        // A ray says more than impulses so large that rounding hides what is left.
        (_, Status::RoundingFloor | Status::Ray) => next.residual.law < before.residual.law,
        // What no rounding allows to be better: an answer without a word that is so within a decade is no better.
        (Status::RoundingFloor, _) => next.residual.law <= ALIKE * before.residual.law,
        _ => next.residual.law < before.residual.law,
    }
}

/// The ladder began with a solver that obeys the laws themselves, so these decide about the answer of one that obeys
/// approximations of them. Where that one finds no answer, the normals alone often contradict each other, which is a
/// proof for the laws themselves too.
fn judge_by_the_law(problem: &Problem, (before, next): (&Report, &mut Report), stop: Stop) {
    if matches!(next.status, Status::Interrupted | Status::Unsupported) {
        return;
    }
    let within = next.residual.law <= stop.tolerance;
    if matches!(next.status, Status::Ray | Status::Breakdown) && !within {
        let begin = Instant::now();
        let left = |limit: Duration| limit.saturating_sub(next.elapsed);
        let time = stop.time.map(left);
        next.certificate = proof::contradiction(problem, Stop { time, ..stop });
        next.elapsed += begin.elapsed();
    }
    next.fit = before.fit;
    next.status = match within {
        true => Status::Solved,
        false if is_proven(next) => Status::Ray,
        false => before.status,
    };
}

/// Two attempts as one: the better answer, the work of both. `fallback` names the solver of the answer where it is not
/// that of the first attempt.
fn joined(mut first: Report, next: Report, better: bool) -> Report {
    let (sweeps, seconds) = (first.iterations, first.elapsed.as_secs_f64());
    let iterations = first.iterations + next.iterations;
    let elapsed = first.elapsed + next.elapsed;
    let mut history = std::mem::take(&mut first.history);
    history.extend(next.history.iter().map(|sweep| Sweep {
        sweep: sweep.sweep + sweeps,
        elapsed_s: sweep.elapsed_s + seconds,
        ..*sweep
    }));
    let fallback = match better {
        true => Some(next.solver),
        false => first.fallback,
    };
    // A ray says more than sweeps that did not settle, and its certificate stays with it.
    let ray = match (first.status, next.status) {
        (_, Status::Solved) | (Status::Solved, _) => None,
        (_, Status::RoundingFloor) if better => None,
        (Status::Ray, _) => Some(first.certificate.clone()),
        (_, Status::Ray) => Some(next.certificate.clone()),
        _ => None,
    };
    let interrupted = (next.status == Status::Interrupted).then_some(Status::Interrupted);
    let mut kept = if better { next } else { first };
    if let Some(certificate) = ray {
        (kept.status, kept.certificate) = (Status::Ray, certificate);
    }
    kept.status = interrupted.unwrap_or(kept.status);
    Report {
        fallback,
        history,
        iterations,
        elapsed,
        ..kept
    }
}

#[cfg(test)]
mod tests;
