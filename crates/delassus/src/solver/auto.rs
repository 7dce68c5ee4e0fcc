//! The solver that picks a solver: by the problem's class, its size and the tolerance asked for.
//!
#![doc = include_str!("../../../../docs/auto.md")]

mod parts;
mod proof;

use std::fmt;
use std::time::{Duration, Instant};

use super::gauss_seidel::GaussSeidel;
use super::{Fit, Monitor, Report, Solver, Status, Stop, Sweep, from_spec};
use crate::law::Law;
use crate::math::max_abs;
use crate::problem::mass::MassBlock;
use crate::problem::{Form, Problem, Solution};
use parts::Sum;

/// Rows beyond which a dense matrix costs more than it saves.
const DENSE_ROWS: usize = 1000;
/// Contacts up to which colouring them costs more than it saves.
const FEW_CONTACTS: usize = 24;
/// Contacts up to which pivoting is so quick that sweeps which creep are not worth waiting for.
const SOME_CONTACTS: usize = 100;
/// Contacts up to which pivoting is worth a try.
const MORE_CONTACTS: usize = 400;
/// Most contacts for each body where lanes pay: those of one body follow each other whatever the colours.
const CROWD: usize = 8;
/// A tolerance below this is a tight one \[m/s\].
const TIGHT: f64 = 1e-4;
/// Most pivots: a limit on sweeps says nothing about them.
const PIVOTS: usize = 1_000_000;

/// One line of the table: what a problem is like and who solves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the problem is like.
    pub class: &'static str,
    /// The solver that is tried first, as it would be typed.
    pub solver: &'static str,
    /// Sweeps it gets before the next one is tried; all that are allowed where `None`.
    pub sweeps: Option<usize>,
    /// Who goes on where it does not solve, one after the other.
    pub then: &'static [&'static str],
    /// Why this one.
    pub why: &'static str,
}

/// What was chosen for a part of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The line of the table.
    pub choice: Choice,
    /// Islands of the part; zero where the problem was not taken apart.
    pub islands: usize,
}

/// The table, as the chapter prints it.
pub const TABLE: [Choice; 12] = [
    EMPTY, FACETS, MATRIX, TREES, JOINTS, MECHANISM, FEW, CROWDED, SOME_LOOSE, SOME_TIGHT, MORE,
    MANY,
];

/// Who goes on with contacts: what needs no order of sweeps, then rules that cycle on different problems.
const CONTACTS_THEN: [&str; 4] = [
    "lemke",
    "jacobi,accelerate=nesterov",
    "gauss-seidel,rule=exact",
    "gauss-seidel",
];

const EMPTY: Choice = Choice {
    class: "no rows",
    solver: "gauss-seidel",
    sweeps: None,
    then: &[],
    why: "there is nothing to solve",
};
const FACETS: Choice = Choice {
    class: "faceted cones with friction",
    solver: "lemke",
    sweeps: None,
    then: &["lemke,pivot=lex,cover=scaled", "lemke-standard"],
    why: "only pivoting obeys them",
};
const MATRIX: Choice = Choice {
    class: "rows with bounds, given by their matrix, at most 1000",
    solver: "lemke",
    sweeps: None,
    then: &["gauss-seidel,rule=exact"],
    why: "pivoting needs no symmetry and ends with an answer or a proof that there is none",
};
const TREES: Choice = Choice {
    class: "equalities on kinematic trees, at most 1000 rows",
    solver: "kkt",
    sweeps: None,
    then: &["direct", "gauss-seidel"],
    why: "trees answer their rows by articulated-body passes, and one dense factor settles them",
};
const JOINTS: Choice = Choice {
    class: "other equalities alone",
    solver: "direct",
    sweeps: None,
    then: &["lemke", "gauss-seidel"],
    why: "joints alone are a linear system, solved at once whatever the masses",
};
const MECHANISM: Choice = Choice {
    class: "equalities and other laws",
    solver: "hybrid,rule=exact",
    sweeps: Some(3000),
    then: &[
        "lemke",
        "jacobi,accelerate=nesterov",
        "jacobi,rule=exact,accelerate=nesterov",
        "hybrid",
        "hybrid,rule=exact",
        "gauss-seidel,rule=exact",
    ],
    why: "joints are factored, so contacts feel the whole mechanism and ratios of mass do not matter; where sweeps creep, momentum ends it",
};
const FEW: Choice = Choice {
    class: "at most 24 contacts, limits and motors",
    solver: "gauss-seidel",
    sweeps: Some(300),
    then: &CONTACTS_THEN,
    why: "nothing needs setting up, and most are done in a few sweeps; where they creep, as in stacks, pivoting ends it",
};
const CROWDED: Choice = Choice {
    class: "more contacts, more than 8 for each body or given by their matrix",
    solver: "gauss-seidel",
    sweeps: Some(3000),
    then: &CONTACTS_THEN,
    why: "contacts of one body follow each other whatever the colours",
};
const SOME_LOOSE: Choice = Choice {
    class: "25 to 100 contacts, to 1e-4 m/s or coarser",
    solver: "coloured",
    sweeps: Some(1000),
    then: &CONTACTS_THEN,
    why: "independent contacts go side by side in lanes, and even stacks need few sweeps",
};
const SOME_TIGHT: Choice = Choice {
    class: "25 to 100 contacts, to a finer tolerance",
    solver: "coloured",
    sweeps: Some(300),
    then: &CONTACTS_THEN,
    why: "loose piles are done in 200 sweeps; stacks need thousands, and pivoting is quicker",
};
const MORE: Choice = Choice {
    class: "101 to 400 contacts",
    solver: "coloured",
    sweeps: Some(2000),
    then: &["lemke", "jacobi,accelerate=nesterov"],
    why: "loose piles are done in 1000 sweeps; tall stacks are not, and pivoting still ends in time",
};
const MANY: Choice = Choice {
    class: "more than 400 contacts",
    solver: "coloured",
    sweeps: None,
    then: &["jacobi,accelerate=nesterov"],
    why: "independent contacts go side by side in lanes and on threads, and pivots would be too many",
};

/// What [`Auto`] takes for a problem, or for a part of one whose islands are all of one kind. It looks at laws, form,
/// sizes and the tolerance alone, so that the same problem always gets the same.
pub fn choose(problem: &Problem, tolerance: f64) -> Choice {
    let (mut equalities, mut others, mut contacts) = (0, 0, 0);
    for block in problem.blocks() {
        match block.law {
            Law::FrictionFacets { mu, .. } if mu != 0.0 => return FACETS,
            Law::Equality => equalities += 1,
            law => {
                others += 1;
                contacts += usize::from(law.is_contact());
            }
        }
    }
    match problem.form() {
        _ if problem.blocks().is_empty() => EMPTY,
        Form::Dual(_) if contacts == 0 && others != 0 && problem.n_rows() <= DENSE_ROWS => MATRIX,
        Form::Dual(_) if others == 0 => JOINTS,
        Form::Primal(primal) if others == 0 => {
            let tree = |mass: &MassBlock| matches!(mass, MassBlock::Tree(_));
            match primal.mass().iter().any(tree) && problem.n_rows() <= DENSE_ROWS {
                true => TREES,
                false => JOINTS,
            }
        }
        Form::Primal(_) if 0 < equalities => MECHANISM,
        _ if others <= FEW_CONTACTS => FEW,
        Form::Primal(primal) if CROWD * primal.mass().len() < others => CROWDED,
        Form::Dual(_) => CROWDED,
        Form::Primal(_) if MORE_CONTACTS < others => MANY,
        Form::Primal(_) if SOME_CONTACTS < others => MORE,
        Form::Primal(_) if tolerance < TIGHT => SOME_TIGHT,
        Form::Primal(_) => SOME_LOOSE,
    }
}

/// The solver that picks a solver, and another one where the first does not solve.
pub struct Auto {
    /// When to stop; `iterations` counts sweeps, pivots are not limited by it.
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

    /// The limits of one attempt: pivots are limited by the size of the problem, sweeps as the table says, and time by
    /// what is left.
    fn limits(&self, spec: &str, sweeps: Option<usize>, spent: Duration) -> Stop {
        let asked = self.stop.iterations;
        let iterations = match sweeps {
            _ if self.stop.tolerance <= 0.0 => asked,
            _ if spec.starts_with("lemke") => asked.max(PIVOTS),
            Some(sweeps) => asked.min(sweeps),
            None => asked,
        };
        Stop {
            iterations,
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
        let stop = self.limits(choice.solver, choice.sweeps, spent);
        let mut report = match self.with(choice.solver, stop) {
            Some(solver) => solver.solve(problem, solution),
            None => GaussSeidel::default().solve(problem, solution),
        };
        for &spec in choice.then {
            if is_final(&report) || self.stop.tolerance <= 0.0 {
                break;
            }
            let stop = self.limits(spec, None, spent + report.elapsed);
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
                    let (stop, begin) = (self.limits(spec, None, spent), Instant::now());
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
        let chapter = include_str!("../../../../docs/auto.md");
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
