//! The solver behind `lemke`, `lemke-reduced`, `lemke-structural` and `lemke-standard`.
//!
//! Islands are solved one by one. `lemke` goes from fast to robust: reduced, then structural, then the dense
//! matrix, each answer verified before it is believed; the other three run their own method alone. A problem given
//! by its Delassus matrix has no columns to pivot on, and all four use the dense matrix.

use std::time::{Duration, Instant};

use super::contact::ContactLcp;
use super::crash;
use super::meter::Meter;
use super::ratio::Pivot;
use super::reduced;
use super::rescue::Rescue;
use super::structural::{self, Options, Outcome, Work};
use super::warm;
use crate::index::BlockId;
use crate::law::Law;
use crate::math::Random;
use crate::problem::{Problem, Solution};
use crate::solver::catalogue::name_of;
use crate::solver::{Certificate, Fit, Monitor, Solver, Status, Stop};

/// Largest natural residual of a scaled island, relative to its max|q|, that the driver accepts.
const ACCEPTED: f64 = 1e-9;
/// More contacts than this on several bodies are guessed at before paths are followed.
const MANY: usize = 120;
/// The same for contacts of trees: their links are many bodies in one, and their contacts depend on each other.
const MANY_OF_TREE: usize = 24;
/// Most contacts for which the basis of a guess is mended by exchanges, whose systems are not solved over the bodies.
const DENSE: usize = 500;
/// More than this, and a path from nothing would not end in reasonable time.
const FAR: usize = 500;
/// Compliance that keeps rows from depending on each other, for rows of unit length: at first, and at least.
const SOFTEST: f64 = 1e-3;
const HARDEST: f64 = 1e-6;
/// Residual of a scaled island, relative to its max|q|, at which nothing is left of it.
const FADED: f64 = 1e-14;
/// Most times that its answer is the centre of the next one, and turns of each time.
const ROUNDS: usize = 12;
const TURNS: usize = 4;
/// Multiplications that `lemke` may do for an island unless it is told otherwise, in millions.
const BUDGET: u64 = 2000;
/// Covering vectors by chance that are tried before the dense matrix.
pub(super) const CHANCES: u64 = 3;

/// Which form of the problem is pivoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// One after the other until an answer is verified.
    #[default]
    Driver,
    /// Contacts without matrix, friction added where load appears.
    Reduced,
    /// Contacts without matrix, all of it from the start.
    Structural,
    /// The dense matrix.
    Standard,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 4] = [
        Method::Driver,
        Method::Reduced,
        Method::Structural,
        Method::Standard,
    ];

    /// The name of the solver on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Driver => "lemke",
            Method::Reduced => "lemke-reduced",
            Method::Structural => "lemke-structural",
            Method::Standard => "lemke-standard",
        }
    }
}

/// The covering vector c of w = Mz + c z₀ + q, as a choice by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoverChoice {
    /// Ones.
    #[default]
    Ones,
    /// Ones after scaling.
    Scaled,
    /// By chance, from the solver's seed.
    Random,
}

impl CoverChoice {
    /// All choices, with the names used on the command line.
    pub const NAMES: [(&'static str, CoverChoice); 3] = [
        ("ones", CoverChoice::Ones),
        ("scaled", CoverChoice::Scaled),
        ("random", CoverChoice::Random),
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        name_of(&CoverChoice::NAMES, self)
    }
}

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
    /// When to stop; `iterations` counts pivots.
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

    pub(super) fn chance(&self, round: u64) -> Random {
        Random::new(self.seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One island: its impulses go into `lambda`.
    fn island(
        &mut self,
        problem: &Problem,
        island: &[BlockId],
        guess: Option<&[f64]>,
        lambda: &mut [f64],
        budget: &mut Budget,
    ) -> Status {
        let mut contact = std::mem::take(&mut self.lcp);
        let columns =
            self.method != Method::Standard && contact.refill(problem, island, self.directions);
        let found = columns
            .then(|| self.contacts((problem, island), &contact, (guess, lambda), budget))
            .flatten();
        self.lcp = contact;
        found.unwrap_or_else(|| self.dense(problem, island, lambda, budget))
    }

    /// One island without matrix; none where the driver has to go on.
    fn contacts(
        &mut self,
        (problem, island): (&Problem, &[BlockId]),
        contact: &ContactLcp,
        (guess, lambda): (Option<&[f64]>, &mut [f64]),
        budget: &mut Budget,
    ) -> Option<Status> {
        // The joints alone are one system.
        if !self
            .work
            .meter
            .afford((contact.frees.len() as u64).pow(3) / 3)
        {
            return Some(Status::PivotLimit);
        }
        let near = guess.filter(|_| contact.normals.len() <= DENSE);
        if let Some(guess) = near.filter(|guess| contact.is_loaded(guess)) {
            let options = self.options_of(contact, &[], self.pivot, budget);
            self.work.meter.begin(4);
            let outcome = warm::solve(contact, guess, &options, &mut self.work);
            budget.pivots += outcome.pivots;
            if outcome.status == Status::Solved {
                self.work.impulses(contact, lambda);
                return Some(Status::Solved);
            }
        }
        let many = is_many(contact);
        if self.method == Method::Driver && many {
            let found = self.crowd((problem, island), contact, (guess, lambda), budget);
            if found.is_some() {
                return found;
            }
        }
        let mut last = Status::Breakdown;
        for plan in plans(self.method, self.pivot) {
            if budget.is_spent(self.stop.iterations) {
                return Some(Status::PivotLimit);
            }
            if self.work.meter.is_cancelled() {
                return Some(Status::Interrupted);
            }
            // A path that wanders leaves something to the next.
            let part = if self.method == Method::Driver { 2 } else { 1 };
            self.work.meter.begin(part);
            let outcome = self.contact(contact, plan, budget);
            if outcome.residual.is_finite() {
                self.work.impulses(contact, lambda);
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
            let next = outcome.cover_limit || lost;
            if self.method != Method::Driver && !next {
                return Some(last);
            }
        }
        let lost = self.method == Method::Driver && !many && !self.work.meter.is_cancelled();
        self.work.meter.begin(2);
        if lost && self.softened((problem, island), contact, lambda, budget) {
            return Some(Status::Solved);
        }
        (self.method != Method::Driver).then_some(last)
    }

    /// One island of many contacts, before paths from nothing are followed; none where they have to be.
    fn crowd(
        &mut self,
        (problem, island): (&Problem, &[BlockId]),
        contact: &ContactLcp,
        (guess, lambda): (Option<&[f64]>, &mut [f64]),
        budget: &mut Budget,
    ) -> Option<Status> {
        if self.guessed(contact, (guess, lambda), budget) {
            return Some(Status::Solved);
        }
        // A few contacts of a tree may still have a short path, and it is exact.
        if contact.normals.len() <= MANY {
            self.work.meter.begin(8);
            let outcome = self.contact(contact, plan(true, self.pivot, 0), budget);
            if outcome.is_good() {
                self.work.impulses(contact, lambda);
                return Some(Status::Solved);
            }
        }
        let far = FAR < contact.normals.len();
        self.work.meter.begin(if far { 1 } else { 2 });
        if self.softened((problem, island), contact, lambda, budget) {
            return Some(Status::Solved);
        }
        far.then_some(Status::PivotLimit)
    }

    /// Many bodies, from a guess.
    fn guessed(
        &mut self,
        contact: &ContactLcp,
        (guess, lambda): (Option<&[f64]>, &mut [f64]),
        budget: &mut Budget,
    ) -> bool {
        let options = self.options_of(contact, &[], self.pivot, budget);
        self.work.meter.begin(4);
        let outcome = crash::solve(contact, guess, (1, &options), &mut self.work);
        budget.pivots += outcome.pivots;
        if outcome.residual.is_finite() {
            self.work.impulses(contact, lambda);
        }
        outcome.status == Status::Solved
    }

    /// From impulses that are nearly right, with compliance that keeps rows from depending on each other. Each answer
    /// is the centre of the next problem, so that what compliance does to it fades: until nothing is left of it, or
    /// for as long as there are rounds, and the best is kept.
    fn softened(
        &mut self,
        (problem, island): (&Problem, &[BlockId]),
        contact: &ContactLcp,
        lambda: &mut [f64],
        budget: &mut Budget,
    ) -> bool {
        let mut soft = ContactLcp::default();
        let (mut delta, mut least) = (SOFTEST, HARDEST);
        let mut centre = lambda.to_vec();
        let (mut best, mut kept) = (f64::INFINITY, lambda.to_vec());
        for _ in 0..ROUNDS {
            if !soft.refill_soft(problem, island, self.directions, (delta, &*lambda)) {
                break;
            }
            let options = self.options_of(&soft, &[], self.pivot, budget);
            let outcome = crash::solve(&soft, Some(lambda), (TURNS, &options), &mut self.work);
            budget.pivots += outcome.pivots;
            if outcome.residual.is_finite() {
                self.work.impulses(&soft, lambda);
            }
            if outcome.status != Status::Solved {
                if SOFTEST <= delta || HARDEST < least {
                    break;
                }
                // Once it is as soft again as it was, and stays so: that fades too, but slowly.
                lambda.copy_from_slice(&centre);
                least = 10.0 * delta;
                delta = least;
                continue;
            }
            centre.copy_from_slice(lambda);
            let options = self.options_of(contact, &[], self.pivot, budget);
            let residual = crash::residual(contact, lambda, &options, &mut self.work);
            if residual < best {
                best = residual;
                self.work.impulses(contact, &mut kept);
            }
            if best <= FADED {
                break;
            }
            delta = (0.1 * delta).max(least);
        }
        if best <= ACCEPTED {
            lambda.copy_from_slice(&kept);
        }
        best <= ACCEPTED
    }

    /// A run without matrix.
    fn contact(&mut self, lcp: &ContactLcp, plan: Plan, budget: &mut Budget) -> Outcome {
        let mut cover = Vec::new();
        let round = match (plan.chance, self.cover) {
            (0, CoverChoice::Random) => Some(0),
            (0, _) => None,
            (round, _) => Some(round),
        };
        if let Some(round) = round {
            let mut random = self.chance(round);
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

    fn options_of<'a>(
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
            pivots: budget
                .left(self.stop.iterations)
                .min(100 + 50 * lcp.n_pairs()),
            deadline: budget.deadline,
        }
    }
}

/// Whether a path from nothing would be long.
fn is_many(lcp: &ContactLcp) -> bool {
    let mut units = 0..lcp.columns.units.len();
    let tree = units.any(|unit| lcp.columns.parts(unit).iter().any(|part| 6 < part.width));
    let most = if tree { MANY_OF_TREE } else { MANY };
    !lcp.columns.single && most < lcp.normals.len()
}

/// One attempt without matrix.
#[derive(Clone, Copy, Debug)]
struct Plan {
    reduced: bool,
    pivot: Pivot,
    /// Which covering vector by chance, or zero for the solver's own.
    chance: u64,
}

fn plan(reduced: bool, pivot: Pivot, chance: u64) -> Plan {
    Plan {
        reduced,
        pivot,
        chance,
    }
}

/// The attempts without matrix, in order.
fn plans(method: Method, pivot: Pivot) -> Vec<Plan> {
    match method {
        Method::Driver => {
            let mut plans = vec![
                plan(true, pivot, 0),
                plan(true, Pivot::Lex, 0),
                plan(false, pivot, 0),
            ];
            plans.extend((1..=CHANCES).map(|round| plan(false, pivot, round)));
            plans
        }
        // Where the covering vector would grow too large, the structural method has to finish; where large pivots
        // cycle, the lexicographic rule.
        Method::Reduced => vec![
            plan(true, pivot, 0),
            plan(true, Pivot::Lex, 0),
            plan(false, pivot, 0),
            plan(false, Pivot::Lex, 0),
        ],
        Method::Structural => vec![plan(false, pivot, 0), plan(false, Pivot::Lex, 0)],
        Method::Standard => Vec::new(),
    }
}

/// What a run has spent and found.
pub(super) struct Budget {
    pub(super) pivots: usize,
    deadline: Option<Instant>,
    pub(super) certificate: Option<Certificate>,
}

impl Budget {
    pub(super) fn left(&self, most: usize) -> usize {
        most.saturating_sub(self.pivots)
    }

    pub(super) fn time_left(&self) -> Option<Duration> {
        self.deadline
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Whether nothing is left after something was spent: without pivots trivial problems are still answered.
    pub(super) fn is_spent(&self, most: usize) -> bool {
        self.pivots != 0 && self.left(most) == 0
    }
}

impl Outcome {
    /// Whether it is an answer that the driver believes.
    fn is_good(&self) -> bool {
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
        let mut budget = Budget {
            pivots: 0,
            deadline: self
                .stop
                .time
                .and_then(|time| Instant::now().checked_add(time)),
            certificate: None,
        };
        let mut lambda = std::mem::take(&mut solution.lambda);
        // The basis of a guess is worth a try; the other methods follow their own path alone.
        let warm = self.method == Method::Driver && lambda.iter().any(|x| *x != 0.0);
        let guess = warm.then(|| lambda.clone());
        lambda.fill(0.0);
        let mut status = Status::Solved;
        let most = (self.budget != 0).then(|| self.budget.saturating_mul(1_000_000));
        self.work.meter = Meter::new(most, self.stop.cancel);
        for island in problem.islands() {
            self.work.meter.renew();
            let found = self.island(problem, &island, guess.as_deref(), &mut lambda, &mut budget);
            if status == Status::Solved {
                status = found;
                monitor.certify(budget.certificate.take());
            }
        }
        *solution = Solution::from_lambda(problem, lambda);
        let ended = monitor.pivoted(budget.pivots, &solution.lambda, status);
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
