//! One trait, many solvers: what a solver is, how it stops, and what it reports.
//!
//! A solver reads a [`Problem`], improves a [`Solution`] and says how it ended. It never grades itself: the
//! provided [`Solver::solve`] times the run and asks the judge behind [`Residual::of`].

/// `stop` and `limit` of a [`Solver`] whose field `stop` is the rule it stops by.
macro_rules! stops_by_its_field {
    () => {
        fn stop(&self) -> crate::solver::Stop {
            self.stop
        }

        fn limit(&mut self, stop: crate::solver::Stop) -> bool {
            self.stop = stop;
            true
        }
    };
}

pub mod auto;
mod cancel;
mod catalogue;
pub mod exact;
mod monitor;
pub mod newton;
mod observed;
pub mod pivot;
mod small_steps;
pub mod sweep;
mod topology;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub use cancel::Cancel;
pub use catalogue::{Description, SpecError, catalogue, choose, from_spec, relaxation};
pub use monitor::{Monitor, Sweep, SweepStats};
pub use observed::{Observed, Seen};
pub use small_steps::SmallSteps;
pub use sweep::Rule;
pub use topology::Topology;

pub use crate::linalg::Rank;

use crate::law::Law;
use crate::math::max_abs;
use crate::problem::residual::{Judge, Residual};
use crate::problem::{Block, Problem, Solution};

/// How a run ended. Not converging is a result, not an error: the best iterate comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The law residual is within the tolerance (for an approximate solver: that of its own law).
    Solved,
    /// The allowed iterations are used up.
    IterationLimit,
    /// The allowed time is used up.
    TimeLimit,
    /// The residual no longer falls.
    Stalled,
    /// The iterates grow without bound.
    Diverged,
    /// Impulses can grow for ever along a ray.
    Ray,
    /// The allowed pivots, or the work allowed to them, are used up.
    PivotLimit,
    /// Arithmetic broke down.
    Breakdown,
    /// The solver has no answer for this problem's laws or form.
    Unsupported,
    /// Somebody asked for an early end.
    Interrupted,
    /// The residual is as small as rounding lets it be, and the tolerance is smaller still.
    RoundingFloor,
}

impl Status {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Status::Solved => "solved",
            Status::IterationLimit => "iteration-limit",
            Status::TimeLimit => "time-limit",
            Status::Stalled => "stalled",
            Status::Diverged => "diverged",
            Status::Ray => "ray",
            Status::PivotLimit => "pivot-limit",
            Status::Breakdown => "breakdown",
            Status::Unsupported => "unsupported",
            Status::Interrupted => "interrupted",
            Status::RoundingFloor => "rounding-floor",
        }
    }
}

/// Whether a solver obeys a law or an approximation of it. A comparison that hides this compares different problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Its fixed points are exactly the law's solutions.
    Exact,
    /// It obeys an approximation of the law: a box or facets for a cone, a convex relaxation.
    Approximate,
    /// It cannot treat the law.
    No,
}

impl Fit {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Fit::Exact => "exact",
            Fit::Approximate => "approximate",
            Fit::No => "no",
        }
    }
}

/// Tolerance where none is asked for, relative to the row velocities without impulses.
const RELATIVE_TOLERANCE: f64 = 1e-10;
/// It is at least this share of the velocities that cancel in a row: a few dozen roundings.
const ROUNDING: f64 = 1e-14;
/// Smallest speed that it refers to \[m/s\].
const SMALLEST_SPEED: f64 = 1e-12;
/// Most sweeps where only the tolerance matters.
const MANY_SWEEPS: usize = 1_000_000;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Largest acceptable law residual \[m/s\]. Zero means: exactly `sweeps` sweeps, last iterate returned.
    pub tolerance: f64,
    /// Most sweeps, for solvers that sweep.
    pub sweeps: usize,
    /// Most pivots, for solvers that pivot; they also limit them by the size of the problem.
    pub pivots: usize,
    /// Whether to end as soon as the rate of the residual says that `sweeps` will not do.
    pub forecast: bool,
    /// Most time.
    pub time: Option<Duration>,
    /// What to write down after each sweep.
    pub record: Record,
    /// Whether somebody may ask for an early end.
    pub cancel: Option<Cancel>,
}

impl Stop {
    /// When a solve of this problem stops where nothing is asked for: a tolerance relative to the speeds there are, but
    /// never below what rounding can tell, and so many sweeps that only the tolerance matters.
    ///
    /// tolerance = max(10⁻¹⁰ ‖c‖∞, 10⁻¹⁴ s), with c the row velocities without impulses and s the size of the
    /// velocities that cancel in a row, at least 10⁻¹² m/s.
    pub fn for_problem(problem: &Problem) -> Stop {
        let rounding = ROUNDING * problem.velocity_scale().max(SMALLEST_SPEED);
        Stop {
            tolerance: (RELATIVE_TOLERANCE * max_abs(problem.c())).max(rounding),
            sweeps: MANY_SWEEPS,
            ..Stop::default()
        }
    }

    /// Whether a run that ended so did the sweeps asked for, where no tolerance was: that is no failure.
    pub fn is_swept_as_asked(&self, status: Status) -> bool {
        self.tolerance <= 0.0 && matches!(status, Status::IterationLimit | Status::Stalled)
    }

    /// Whether somebody has asked for an early end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_raised)
    }
}

/// What the history of a run holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Record {
    /// The cheap monitors of every sweep; the law residual only where it was needed to decide.
    #[default]
    Sweeps,
    /// The law residual after every sweep too. The time this takes is not counted.
    Residuals,
}

impl Default for Stop {
    fn default() -> Stop {
        Stop {
            tolerance: 1e-8,
            sweeps: 10_000,
            pivots: 1_000_000,
            forecast: false,
            time: None,
            record: Record::Sweeps,
            cancel: None,
        }
    }
}

/// One line per sweep: those of a step from a good start need no memory.
pub type History = crate::math::Few<Sweep, 4>;

/// What a run did and how good its answer is.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name of the solver.
    pub solver: &'static str,
    /// Its options as key and value.
    pub options: Vec<(&'static str, String)>,
    /// Whether it obeys the problem's laws.
    pub fit: Fit,
    /// How it ended.
    pub status: Status,
    /// Sweeps or pivots.
    pub iterations: usize,
    /// Quality of the answer, by the one judge.
    pub residual: Residual,
    /// One entry per sweep; none where a step was taken in small ones.
    pub history: History,
    /// Time of the run, judging excluded.
    pub elapsed: Duration,
    /// What to know where the status is not `solved`, or where it is but not by the first solver tried, or without some
    /// rows.
    pub message: Option<String>,
    /// The solver that gave the answer, where it is not the first one tried.
    pub fallback: Option<&'static str>,
    /// What [`auto`] chose for each part of the problem, and why; empty for every other solver.
    pub chosen: auto::Choices,
    /// What a pivoting solver found instead of an answer.
    pub certificate: Option<Certificate>,
    /// Which rows are independent, from a solver that factors them.
    pub rank: Option<Rank>,
}

/// A ray along which a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// How the impulses can grow for ever along it.
    pub ray: Vec<f64>,
    /// y with Sᵀy ≤ 0, cᵀy < 0 and y ≥ 0 (any sign, and Sᵀy = 0, in equality rows): proof that no impulses at all
    /// give row velocities w ≥ 0. Only for problems of unilateral and equality rows, and by `auto` where the normals of
    /// contacts with friction contradict each other or the joints.
    pub farkas: Option<Vec<f64>>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen: Vec<&str> = self
            .chosen
            .iter()
            .map(|part| part.choice.first.solver)
            .collect();
        write!(
            f,
            "{}{}{}  {}  {} iterations  law {:.1e} m/s  momentum {:.0e}  {:.3} ms",
            self.solver,
            if chosen.is_empty() { "" } else { " → " },
            chosen.join(" and "),
            self.status.name(),
            self.iterations,
            self.residual.law,
            self.residual.momentum,
            1e3 * self.elapsed.as_secs_f64()
        )
    }
}

/// Anything that solves a [`Problem`].
pub trait Solver {
    /// The solver's name on the command line.
    fn name(&self) -> &'static str;

    /// Its options as key and value, as they would be typed.
    fn options(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether it obeys the law, an approximation of it, or neither.
    fn fit(&self, law: &Law) -> Fit;

    /// When it stops.
    fn stop(&self) -> Stop;

    /// Stops by another rule from now on, with all it keeps between solves. False where it cannot: make it anew.
    fn limit(&mut self, _stop: Stop) -> bool {
        false
    }

    /// Whether [`Solver::run`] starts from v: one that reads λ alone is handed an empty v, and may leave it empty for
    /// the judge to fill in.
    fn reads_velocity(&self) -> bool {
        true
    }

    /// Whether it solves equalities alone exactly and at once, whatever the numbers; then what its report says was
    /// chosen for them. Whoever holds such a problem in a better form than written out may solve it in its place, and
    /// answers to the same judge.
    fn solves_joints_at_once(&self) -> Option<auto::Choices> {
        None
    }

    /// What to tell the user after a run that ended so, where the usual sentence would not do.
    fn advice(&self, _status: Status) -> Option<String> {
        None
    }

    /// Improves `solution`, which holds the warm start, telling the monitor after each sweep.
    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status;

    /// Whether a number of sweeps without a tolerance is what it is made for: [`Solver::sweep_small_steps`].
    fn takes_small_steps(&self) -> bool {
        false
    }

    /// Does the sweeps asked for in small steps, from these impulses to those of the whole step. False where it cannot,
    /// and then nothing has changed.
    fn sweep_small_steps(
        &mut self,
        _problem: &Problem,
        _lambda: &mut [f64],
        _steps: &mut SmallSteps<'_>,
    ) -> bool {
        false
    }

    /// The worst fit over the problem's laws.
    fn fit_of(&self, problem: &Problem) -> Fit {
        problem
            .blocks()
            .iter()
            .map(|block| self.fit(&block.law))
            .max()
            .unwrap_or(Fit::Exact)
    }

    /// The same as [`Solver::solve`], but whoever watches is not told: for what a step solves besides its problem.
    fn solve_unseen(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        self.solve(problem, solution)
    }

    /// Judges what [`Solver::sweep_small_steps`] left.
    fn judge_sweeps(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        elapsed: Duration,
    ) -> Report {
        let mut judge = Judge::new(problem);
        let residual = judge.complete(problem, solution);
        let status = match residual.law.is_finite() {
            true => Status::IterationLimit,
            false => Status::Diverged,
        };
        Report {
            solver: self.name(),
            options: self.options(),
            fit: self.fit_of(problem),
            status,
            iterations: self.stop().sweeps,
            residual,
            history: History::new(),
            elapsed,
            message: message(self, problem, status),
            fallback: None,
            chosen: auto::Choices::new(),
            certificate: None,
            rank: None,
        }
    }

    /// Solves and judges. `solution` comes in as the warm start (a wrong size or a number that is not finite
    /// makes it a cold start) and goes out as the answer: the last iterate if solved or if an exact number of
    /// sweeps was asked for, else the best one met.
    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        let cold = solution.lambda.len() != problem.n_rows()
            || !crate::math::max_abs(&solution.lambda).is_finite();
        if cold {
            solution.lambda.clear();
            solution.lambda.resize(problem.n_rows(), 0.0);
        }
        if self.reads_velocity() {
            solution.v.resize(problem.n_velocities(), 0.0);
            problem.velocity(&solution.lambda, &mut solution.v);
        } else {
            solution.v.clear();
        }
        let fit = self.fit_of(problem);
        let mut monitor = Monitor::new(problem, self.stop(), |law| self.fit(law));
        let (status, elapsed) = if fit == Fit::No {
            (Status::Unsupported, Duration::ZERO)
        } else {
            let status = self.run(problem, solution, &mut monitor);
            let elapsed = monitor.start().elapsed();
            (status, elapsed.saturating_sub(monitor.recording()))
        };
        let (status, residual) = monitor.conclude(status, solution);
        let substitute = monitor.substitute();
        Report {
            solver: self.name(),
            options: self.options(),
            fit,
            status,
            iterations: monitor.sweeps(),
            residual,
            message: message(self, problem, status)
                .or_else(|| substitute.map(|substitute| substitute.told())),
            fallback: substitute.map(|substitute| substitute.solver),
            chosen: auto::Choices::new(),
            rank: monitor.take_rank(),
            certificate: monitor.take_certificate().filter(|_| status == Status::Ray),
            history: monitor.into_history(),
            elapsed,
        }
    }
}

/// The solver that does the work of another one, by the same method.
#[derive(Clone, Copy, Debug)]
struct Substitute {
    /// Its name.
    solver: &'static str,
    /// Why the other one does not.
    why: &'static str,
}

impl Substitute {
    /// A sentence for the user.
    fn told(&self) -> String {
        format!("{}; the answer is that of {}", self.why, self.solver)
    }
}

/// A sentence for the user where the run did not solve.
fn message<S: Solver + ?Sized>(solver: &S, problem: &Problem, status: Status) -> Option<String> {
    let misfit = |block: &&Block| solver.fit(&block.law) == Fit::No;
    let misfit = match status {
        Status::Unsupported => problem.blocks().iter().find(misfit),
        _ => None,
    };
    if let (None, Some(advice)) = (misfit, solver.advice(status)) {
        return Some(advice);
    }
    let text = match status {
        Status::Solved => return None,
        Status::IterationLimit if solver.stop().tolerance <= 0.0 => {
            "the sweeps asked for were done; no tolerance was set".to_owned()
        }
        Status::IterationLimit => {
            "the allowed sweeps were used up before the tolerance was reached; allow more or relax the tolerance".to_owned()
        }
        Status::TimeLimit => "the allowed time was used up before the tolerance was reached".to_owned(),
        Status::Stalled => {
            "the residual stopped falling: rows may conflict or depend on each other, or the sweeps cycle; try another rule, or some compliance".to_owned()
        }
        Status::Diverged => {
            "the iterates grew without bound; the best iterate is returned: try rule=iso or rule=exact".to_owned()
        }
        Status::Unsupported => {
            let law = misfit.map_or("its form", |block| block.law.name());
            let name = solver.name();
            format!("{name} has no rule for {law}; choose a solver that `delassus list solvers` shows to fit it")
        }
        Status::Ray => {
            "impulses can grow for ever along a ray: the rows may contradict each other, as a certificate proves where there is one; else try another solver, or some compliance".to_owned()
        }
        Status::PivotLimit => {
            "the allowed pivots were used up; allow more, or try pivot=lex, which never cycles".to_owned()
        }
        Status::Interrupted => "somebody asked for an early end".to_owned(),
        Status::RoundingFloor => {
            "the residual is at the floor of rounding, and the tolerance lies below it: impulses this large cannot cancel any better; ask for a coarser tolerance".to_owned()
        }
        _ => "the run broke down; see the residual of the returned iterate".to_owned(),
    };
    Some(text)
}
