//! The solver behind `lemke`, `lemke-reduced`, `lemke-structural` and `lemke-standard`.
//!
//! Islands are solved one by one. `lemke` goes from fast to robust: reduced, then structural, then the dense
//! matrix, each answer verified before it is believed; the other three run their own method alone. A problem given
//! by its Delassus matrix has no columns to pivot on, and all four use the dense matrix.

use super::contact::ContactLcp;
use super::crowd::is_many;
use super::island::{Budget, Island};
use super::meter::Meter;
use super::method::{CoverChoice, Method, Plan};
use super::ratio::Pivot;
use super::reduced;
use super::rescue::Rescue;
use super::structural::{self, Options, Outcome, Work};
use super::warm;
use crate::law::Law;
use crate::math::Random;
use crate::problem::{Problem, Solution};
use crate::solver::{Fit, Monitor, Solver, Status, Stop};

/// Largest natural residual of a scaled island, relative to its max|q|, that the driver accepts.
pub(super) const ACCEPTED: f64 = 1e-9;
/// Most contacts for which the basis of a guess is mended by exchanges, whose systems are not solved over the bodies.
const DENSE: usize = 500;
/// Multiplications that `lemke` may do for an island unless it is told otherwise, in millions.
const BUDGET: u64 = 2000;

/// Lemke's algorithm as a solver.
#[derive(Clone, Debug)]
pub struct Lemke {
    /// Which form is pivoted.
    pub method: Method,
    /// How ties are broken.
    pub pivot: Pivot,
    /// The covering vector.
    pub cover: CoverChoice,
    /// Facets that stand for a round or elliptic cone.
    pub directions: u32,
    /// When to stop.
    pub stop: Stop,
    /// Seed of covering vectors by chance.
    pub seed: u64,
    /// Most multiplications of an island in millions, about; zero for no limit. They are counted and not timed, so that
    /// the same problem ends the same way on any machine.
    pub budget: u64,
    lcp: ContactLcp,
    pub(super) work: Work,
}

impl Default for Lemke {
    fn default() -> Lemke {
        Lemke::new(Method::Driver)
    }
}

impl Lemke {
    /// The solver with its defaults: largest pivots, ones, eight facets.
    pub fn new(method: Method) -> Lemke {
        Lemke {
            method,
            pivot: Pivot::Big,
            cover: CoverChoice::Ones,
            directions: 8,
            stop: Stop::default(),
            seed: 0,
            budget: if method == Method::Driver { BUDGET } else { 0 },
            lcp: ContactLcp::default(),
            work: Work::default(),
        }
    }

    /// Numbers of one covering vector by chance.
    pub(super) fn chance(&self, round: u64) -> Random {
        Random::new(self.seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One island: without matrix where that is possible, else with it.
    fn island(&mut self, island: &mut Island<'_>) -> Status {
        let mut lcp = std::mem::take(&mut self.lcp);
        let columns = self.method != Method::Standard
            && lcp.refill(island.problem, island.blocks, self.directions);
        let found = columns.then(|| self.contacts(island, &lcp)).flatten();
        self.lcp = lcp;
        found.unwrap_or_else(|| self.dense(island))
    }

    /// One island without matrix; none where the driver has to go on.
    fn contacts(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> Option<Status> {
        let joints = lcp.frees.len() as u64;
        // The joints alone are one system.
        if !self.work.meter.afford(joints.pow(3) / 3) {
            return Some(Status::PivotLimit);
        }
        if self.resumed(island, lcp) {
            return Some(Status::Solved);
        }
        let crowd = self.method == Method::Driver && is_many(lcp);
        let found = crowd.then(|| self.crowd(island, lcp)).flatten();
        if let Some(status) = found.or_else(|| self.paths(island, lcp)) {
            return Some(status);
        }
        let lost = !crowd && !self.work.meter.is_cancelled();
        self.work.meter.begin(2);
        (lost && self.softened(island, lcp)).then_some(Status::Solved)
    }

    /// From the basis of a guess, where there is one.
    fn resumed(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> bool {
        let near = island.guess.filter(|_| lcp.normals.len() <= DENSE);
        let Some(guess) = near.filter(|guess| lcp.is_loaded(guess)) else {
            return false;
        };
        let options = self.options_of(lcp, &[], self.pivot, island.budget);
        self.work.meter.begin(4);
        let outcome = warm::solve(lcp, guess, &options, &mut self.work);
        island.budget.pivots += outcome.pivots;
        let solved = outcome.status == Status::Solved;
        if solved {
            self.work.impulses(lcp, island.lambda);
        }
        solved
    }

    /// The paths of the method, one after the other; none where all of the driver's are lost.
    fn paths(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> Option<Status> {
        let driver = self.method == Method::Driver;
        let mut last = Status::Breakdown;
        for plan in self.method.plans(self.pivot) {
            if island.budget.is_spent(self.stop.pivots) {
                return Some(Status::PivotLimit);
            }
            if self.work.meter.is_cancelled() {
                return Some(Status::Interrupted);
            }
            // A path that wanders leaves something to the next.
            self.work.meter.begin(if driver { 2 } else { 1 });
            let outcome = self.attempt(lcp, plan, island.budget);
            if outcome.residual.is_finite() {
                self.work.impulses(lcp, island.lambda);
            }
            if outcome.is_good() || outcome.status == Status::TimeLimit {
                return Some(outcome.status);
            }
            last = match outcome.status {
                Status::Solved => Status::Breakdown,
                status => status,
            };
            // A path that cycled or lost its digits goes on by the next plan; a ray is an answer.
            let lost = matches!(last, Status::PivotLimit | Status::Breakdown);
            if !driver && !lost {
                return Some(last);
            }
        }
        (!driver).then_some(last)
    }

    /// One run without matrix.
    pub(super) fn attempt(&mut self, lcp: &ContactLcp, plan: Plan, budget: &mut Budget) -> Outcome {
        let mut cover = Vec::new();
        if plan.chance != 0 || self.cover == CoverChoice::Random {
            let mut random = self.chance(plan.chance);
            cover.extend((0..lcp.n_cover()).map(|_| random.range(0.5, 2.0)));
        }
        let options = self.options_of(lcp, &cover, plan.pivot, budget);
        let outcome = match plan.reduced {
            true => reduced::solve(lcp, &options, &mut self.work),
            false => structural::solve(lcp, &options, &mut self.work),
        };
        budget.pivots += outcome.pivots;
        outcome
    }

    /// Limits of one attempt, with this covering vector and this rule for ties.
    pub(super) fn options_of<'a>(
        &self,
        lcp: &ContactLcp,
        cover: &'a [f64],
        pivot: Pivot,
        budget: &Budget,
    ) -> Options<'a> {
        Options {
            pivot,
            cover,
            // A path that is this long is a cycle or would not end in time anyway.
            pivots: budget.left(self.stop.pivots).min(100 + 50 * lcp.n_pairs()),
            deadline: budget.deadline,
        }
    }
}

impl Outcome {
    /// Whether it is an answer that the driver believes.
    pub(super) fn is_good(&self) -> bool {
        self.status == Status::Solved && self.residual <= ACCEPTED
    }
}

impl Solver for Lemke {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("pivot", self.pivot.name().to_owned()),
            ("cover", self.cover.name().to_owned()),
            ("directions", self.directions.to_string()),
            ("budget", self.budget.to_string()),
        ]
    }

    fn fit(&self, law: &Law) -> Fit {
        match law {
            Law::FrictionCone { mu } if *mu != 0.0 => Fit::Approximate,
            Law::EllipticCone { mu } if *mu != [0.0; 2] => Fit::Approximate,
            _ => Fit::Exact,
        }
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn advice(&self, status: Status) -> Option<String> {
        let short = status == Status::PivotLimit && self.work.meter.is_short();
        short.then(|| {
            let budget = self.budget;
            format!("the work allowed was used up; allow more than budget={budget}, or try another solver")
        })
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let mut budget = Budget::new(self.stop.time);
        let mut lambda = std::mem::take(&mut solution.lambda);
        // The basis of a guess is worth a try; the other methods follow their own path alone.
        let warm = self.method == Method::Driver && lambda.iter().any(|x| *x != 0.0);
        let guess = warm.then(|| lambda.clone());
        lambda.fill(0.0);
        let mut status = Status::Solved;
        let most = (self.budget != 0).then(|| self.budget.saturating_mul(1_000_000));
        self.work.meter = Meter::new(most, self.stop.cancel);
        for blocks in problem.islands() {
            self.work.meter.renew();
            let found = self.island(&mut Island {
                problem,
                blocks: &blocks,
                guess: guess.as_deref(),
                lambda: &mut lambda,
                budget: &mut budget,
            });
            if status == Status::Solved {
                status = found;
                monitor.certify(budget.certificate.take());
            }
        }
        *solution = Solution::from_lambda(problem, lambda);
        let mut ended = monitor.pivoted(budget.pivots, &solution.lambda, status);
        let vague = status == Status::Solved && ended == Status::Breakdown;
        if vague && self.method == Method::Driver {
            let left = budget.time_left();
            if let Some(lambda) = self.sharpened(problem, left, monitor) {
                *solution = Solution::from_lambda(problem, lambda);
                ended = Status::Solved;
            }
        }
        match ended {
            Status::Solved | Status::TimeLimit => ended,
            _ if self.stop.is_cancelled() => Status::Interrupted,
            _ if self.method == Method::Driver => {
                let rescue = Rescue {
                    failed: ended,
                    short: self.work.meter.is_short(),
                    stop: self.stop,
                    seed: self.seed,
                };
                rescue.go_on(problem, solution, monitor)
            }
            _ => ended,
        }
    }
}
