//! Lemke's algorithm: complementary pivoting, for any linear complementarity problem and for contacts.
//!
//! | folder or file | what is there |
//! |---|---|
//! | this file | [`Lemke`], the solver behind `lemke`, `lemke-reduced`, `lemke-structural` and `lemke-standard`, and its options |
//! | `attempts.rs` | which path is followed after which, for one island |
//! | `budget.rs` | what a run may cost, counted and not timed |
//! | `lcp/` | problems with a matrix: the problem, ratio test, pivots, proofs, games |
//! | `contact/` | contacts without matrix: columns, basis, kernel, pivots, expansion, warm start |
//!
#![doc = include_str!("../../../docs/lemke.md")]

mod attempts;
mod budget;
pub mod contact;
mod lcp;

pub use lcp::Lcp;
pub use lcp::ratio::Pivot;
pub use lcp::solve::{Cover, LcpAnswer, LcpOptions, solve};

use self::attempts::Island;
use self::budget::{Meter, Spent};
use self::contact::{ContactLcp, PivotWork};
use super::catalogue::name_of;
use super::{Fit, Monitor, Solver, Status, Stop};
use crate::law::Law;
use crate::problem::{Problem, Solution};

/// Largest natural residual of a scaled problem, relative to its max|q|, that counts as solved.
const ACCEPTED: f64 = 1e-9;
/// Multiplications that `lemke` may do for an island unless it is told otherwise, in millions.
const BUDGET: u64 = 2000;

/// Which form of the problem is pivoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Lloyd's method in its best form: reduced, then structural, then the dense matrix, until an answer is verified.
    #[default]
    Best,
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
        Method::Best,
        Method::Reduced,
        Method::Structural,
        Method::Standard,
    ];

    /// The name of the solver on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Best => "lemke",
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

/// Most rows of a problem that is solved again by its matrix for a few more digits: a matter of milliseconds.
const SHARPENED: usize = 200;

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
    /// The contact problem of the island at hand.
    lcp: ContactLcp,
    work: PivotWork,
}

impl Default for Lemke {
    fn default() -> Lemke {
        Lemke::new(Method::Best)
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
            budget: if method == Method::Best { BUDGET } else { 0 },
            lcp: ContactLcp::default(),
            work: PivotWork::default(),
        }
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
            law if law.has_spin_rows() => Fit::No,
            _ => Fit::Exact,
        }
    }

    stops_by_its_field!();

    fn reads_velocity(&self) -> bool {
        false
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
        let mut spent = Spent::new(self.stop.pivots, self.stop.time);
        let mut lambda = std::mem::take(&mut solution.lambda);
        // The basis of a guess is worth a try; the other methods follow their own path alone.
        let warm = self.method == Method::Best && lambda.iter().any(|x| *x != 0.0);
        let guess = warm.then(|| lambda.clone());
        lambda.fill(0.0);
        let (mut status, mut proven) = (Status::Solved, false);
        let most = (self.budget != 0).then(|| self.budget.saturating_mul(1_000_000));
        self.work.meter = Meter::new(most, self.stop.cancel);
        // Islands one by one. The first that has no answer says how the run ends; the others are solved all the same.
        for blocks in problem.islands() {
            self.work.meter.renew();
            let found = self.solve_island(&mut Island {
                problem,
                blocks: &blocks,
                guess: guess.as_deref(),
                lambda: &mut lambda,
                spent: &mut spent,
            });
            if status == Status::Solved {
                status = found;
                let certificate = spent.certificate.take();
                proven = certificate.as_ref().is_some_and(|one| one.farkas.is_some());
                monitor.certify(certificate);
            }
        }
        // v is left out: the judge makes it of the impulses.
        solution.v.clear();
        solution.lambda = lambda;
        let mut ended = monitor.pivoted(spent.pivots, &solution.lambda, status);
        // Where impulses depend on each other a path may end on a ray whose z₀ is rounding: it ends on an answer.
        if ended == Status::Ray && !proven && monitor.accepts(&solution.lambda).is_some() {
            ended = Status::Solved;
            monitor.certify(None);
        }
        // A path without matrix may keep fewer digits than are asked for; the matrix of a small problem has them.
        let vague = status == Status::Solved && ended == Status::Breakdown;
        if vague && self.method == Method::Best && problem.n_rows() <= SHARPENED {
            let mut standard = Lemke {
                method: Method::Standard,
                ..self.clone()
            };
            let mut sharper = Solution::zeros(problem);
            if standard.run(problem, &mut sharper, monitor) == Status::Solved {
                (*solution, ended) = (sharper, Status::Solved);
            }
        }
        let lost = matches!(ended, Status::Breakdown | Status::PivotLimit | Status::Ray);
        if lost && !proven && self.method == Method::Best && self.fit_of(problem) == Fit::Exact {
            let sharper = self.sharpen(problem, solution, monitor, &mut spent);
            ended = sharper.unwrap_or(ended);
        }
        match ended {
            Status::Solved | Status::TimeLimit => ended,
            _ if self.stop.is_cancelled() => Status::Interrupted,
            _ => ended,
        }
    }
}

impl Lemke {
    /// All islands in twice the digits: solved, or as near as rounding allows; `None` where that is no help, and then
    /// nothing has changed.
    fn sharpen(
        &self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
        spent: &mut Spent,
    ) -> Option<Status> {
        let (mut lambda, mut off) = (vec![0.0; problem.n_rows()], 0.0_f64);
        for blocks in problem.islands() {
            let own = self.in_twice_the_digits(&mut Island {
                problem,
                blocks: &blocks,
                guess: None,
                lambda: &mut lambda,
                spent,
            })?;
            off = off.max(own);
        }
        // An answer before it was rounded: what is left now is rounding, however large. Needles that roll under loads make
        // centimetres a second of the last digit of an impulse.
        let known = off <= self.stop.tolerance;
        let law = monitor.judge.judge(problem, &lambda).law;
        let ended = match monitor.pivoted(0, &lambda, Status::Solved) {
            Status::Solved => Status::Solved,
            _ if problem.explains_by_rounding(&lambda, law) => Status::RoundingFloor,
            _ if known && law <= problem.floor(&lambda).row => Status::RoundingFloor,
            _ => return None,
        };
        monitor.certify(None);
        let v = Vec::new();
        *solution = Solution { v, lambda };
        Some(ended)
    }
}
