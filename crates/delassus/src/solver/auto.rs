//! The solver that picks a solver: by the problem's class, its size and the tolerance asked for.
//!
#![doc = include_str!("../../docs/auto.md")]

mod parts;
mod proof;
mod table;

use std::fmt;
use std::time::{Duration, Instant};

pub use self::table::{Choice, TABLE, choose};
use super::sweep::gauss_seidel::GaussSeidel;
use super::{Fit, Monitor, Report, Solver, Status, Stop, Sweep, from_spec};
use crate::law::Law;
use crate::math::max_abs;
use crate::problem::{Problem, Solution};
use parts::Sum;

/// What was chosen for a part of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The line of the table.
    pub choice: Choice,
    /// Islands of the part; zero where the problem was not taken apart.
    pub islands: usize,
}

/// The solver that picks a solver, and another one where the first does not solve.
pub struct Auto {
    /// When to stop.
    pub stop: Stop,
    /// Seed of solvers that use chance.
    pub seed: u64,
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

impl Auto {
    /// A solver with this stopping rule and seed.
    pub fn new(stop: Stop, seed: u64) -> Auto {
        Auto {
            stop,
            seed,
            made: Vec::new(),
        }
    }

    /// The solver of this name and stopping rule, made on first use.
    fn with(&mut self, spec: &'static str, stop: Stop) -> Option<&mut Box<dyn Solver + Send>> {
        let known = |(name, solver): &(&str, Box<dyn Solver + Send>)| {
            *name == spec && solver.stop() == stop
        };
        let at = match self.made.iter().position(known) {
            Some(at) => at,
            None => {
                self.made.retain(|(name, _)| *name != spec);
                let solver = from_spec(spec, stop, self.seed).ok()?;
                self.made.push((spec, solver));
                self.made.len() - 1
            }
        };
        self.made.get_mut(at).map(|(_, solver)| solver)
    }

    /// The limits of one attempt: sweeps as the table says, time by what is left.
    fn limits(&self, sweeps: Option<usize>, spent: Duration) -> Stop {
        let asked = self.stop.sweeps;
        Stop {
            sweeps: match sweeps {
                Some(sweeps) if 0.0 < self.stop.tolerance => asked.min(sweeps),
                _ => asked,
            },
            time: self.stop.time.map(|limit| limit.saturating_sub(spent)),
            ..self.stop
        }
    }
}

impl Solver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    /// For every law there is a solver that obeys it exactly.
    fn fit(&self, _law: &Law) -> Fit {
        Fit::Exact
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    /// That of the solvers chosen: no single one obeys every mixture of laws.
    fn fit_of(&self, problem: &Problem) -> Fit {
        let fit = |part: &Problem| {
            let chosen = from_spec(choose(part, self.stop.tolerance).solver, self.stop, 0);
            chosen.map_or(Fit::No, |solver| solver.fit_of(part))
        };
        match parts::parts(problem).as_slice() {
            [] => fit(problem),
            parts => parts
                .iter()
                .map(|part| fit(&part.problem))
                .max()
                .unwrap_or(Fit::Exact),
        }
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        match self.with(choose(problem, self.stop.tolerance).solver, self.stop) {
            Some(solver) => solver.run(problem, solution, monitor),
            None => Status::Unsupported,
        }
    }

    /// Solves islands of different kinds separately, each kind by its own line of the table.
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        let begin = Instant::now();
        let parts = parts::parts(problem);
        if parts.is_empty() {
            return self.solve_part(problem, solution, (0, Duration::ZERO));
        }
        let mut lambda = std::mem::take(&mut solution.lambda);
        if lambda.len() != problem.n_rows() || !max_abs(&lambda).is_finite() {
            lambda = vec![0.0; problem.n_rows()];
        }
        let spent = (self.stop, begin.elapsed());
        let mut sum = Sum::new((problem, &parts), &lambda, spent);
        for (i, part) in parts.iter().enumerate() {
            let mut own = part.share(&lambda);
            let report = self.solve_part(&part.problem, &mut own, (part.islands, sum.spent()));
            part.put(&own.lambda, &mut lambda);
            sum.add(i, report);
        }
        *solution = Solution::from_lambda(problem, lambda);
        match sum.finish(solution) {
            Some(report) => report,
            None => self.solve_part(problem, solution, (0, Duration::ZERO)),
        }
    }
}

impl Auto {
    /// Solves by the first choice; where the answer is not within the tolerance the others go on, each from the best
    /// impulses so far. The best answer by the judge is kept; time, iterations and history are those of all.
    fn solve_part(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        (islands, spent): (usize, Duration),
    ) -> Report {
        let choice = choose(problem, self.stop.tolerance);
        let stop = self.limits(choice.sweeps, spent);
        let mut report = match self.with(choice.solver, stop) {
            Some(solver) => solver.solve(problem, solution),
            None => GaussSeidel::default().solve(problem, solution),
        };
        for &spec in choice.then {
            if is_final(&report) || self.stop.tolerance <= 0.0 {
                break;
            }
            let stop = self.limits(None, spent + report.elapsed);
            let Some(solver) = self.with(spec, stop) else {
                continue;
            };
            let mut other = Solution {
                v: Vec::new(),
                lambda: solution.lambda.clone(),
            };
            let mut next = solver.solve(problem, &mut other);
            let within = next.residual.law <= self.stop.tolerance;
            if next.fit == Fit::Approximate && next.status != Status::Interrupted {
                let spent = spent + report.elapsed + next.elapsed;
                if next.status != Status::Solved && !within {
                    // Often the normals alone contradict each other, which holds for the laws themselves too.
                    let (stop, begin) = (self.limits(None, spent), Instant::now());
                    next.certificate = proof::contradiction(problem, stop);
                    next.elapsed += begin.elapsed();
                }
                // The first choice obeys the laws themselves, so these decide, whoever went on.
                let status = match within {
                    true => Status::Solved,
                    false if is_proven(&next) => Status::Ray,
                    false => report.status,
                };
                (next.fit, next.status) = (report.fit, status);
            }
            let better = within || next.residual.law < report.residual.law;
            if better {
                *solution = other;
            }
            report = joined(choice, report, (spec, next), better);
        }
        report.solver = "auto";
        report.options = Vec::new();
        report.chosen = vec![Chosen { choice, islands }];
        report
    }
}

/// Whether it comes with a proof that there is no answer.
fn is_proven(report: &Report) -> bool {
    let certificate = report.certificate.as_ref();
    certificate.is_some_and(|certificate| certificate.farkas.is_some())
}

/// Whether nobody else need try: solved, out of time, interrupted, or proven to have no answer.
fn is_final(report: &Report) -> bool {
    let ended = matches!(
        report.status,
        Status::Solved | Status::TimeLimit | Status::Interrupted
    );
    ended || is_proven(report)
}

/// Two attempts as one: the better answer, the work of both.
fn joined(choice: Choice, first: Report, (spec, next): (&str, Report), better: bool) -> Report {
    let (sweeps, seconds) = (first.iterations, first.elapsed.as_secs_f64());
    let later = next.history.iter().map(|sweep| Sweep {
        sweep: sweep.sweep + sweeps,
        elapsed_s: sweep.elapsed_s + seconds,
        ..*sweep
    });
    let history = first.history.iter().copied().chain(later).collect();
    let iterations = first.iterations + next.iterations;
    let elapsed = first.elapsed + next.elapsed;
    let said = match (first.fallback, first.message.as_ref()) {
        (Some(_), Some(message)) => message.clone(),
        _ => format!("{} ended as {}", choice.solver, first.status.name()),
    };
    let (name, status) = (next.solver, next.status.name());
    // A ray says more than sweeps that did not settle, and its certificate stays with it.
    let ray = match (&first.status, &next.status) {
        (_, Status::Solved) | (Status::Solved, _) => None,
        (Status::Ray, _) => Some(first.certificate.clone()),
        (_, Status::Ray) => Some(next.certificate.clone()),
        _ => None,
    };
    let interrupted = next.status == Status::Interrupted;
    let mut kept = if better { next } else { first };
    if interrupted {
        kept.status = Status::Interrupted;
    }
    if let Some(certificate) = ray {
        (kept.status, kept.certificate) = (Status::Ray, certificate);
    }
    Report {
        message: Some(format!(
            "{said}; {spec} went on from there and ended as {status}"
        )),
        fallback: Some(name),
        history,
        iterations,
        elapsed,
        ..kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solver_of_the_table_can_be_made_and_stands_in_the_chapter() {
        let chapter = include_str!("../../docs/auto.md");
        for choice in TABLE {
            for &spec in [choice.solver].iter().chain(choice.then) {
                assert!(from_spec(spec, Stop::default(), 0).is_ok(), "{spec}");
            }
            let sweeps = choice.sweeps.map(|sweeps| format!(", {sweeps} sweeps"));
            let then: Vec<String> = choice.then.iter().map(|spec| format!("`{spec}`")).collect();
            let line = format!(
                "| {} | `{}`{} | {} | {} |",
                choice.class,
                choice.solver,
                sweeps.unwrap_or_default(),
                then.join(", then "),
                choice.why
            );
            assert!(chapter.contains(&line), "{line}");
        }
    }
}
