//! One island: which path of pivots is followed after which, until an answer is verified.
//!
//! ```text
//! lemke              the basis of a guess; reduced, reduced by lex, structural with ones and with three covering vectors
//!                    by chance; the path of a game; the dense matrix with the same covering vectors; where the laws are
//!                    those of the problem, the dense matrix in twice the digits
//! lemke-reduced      reduced, reduced by lex, structural, structural by lex
//! lemke-structural   structural, structural by lex
//! lemke-standard     the dense matrix
//! ```
//!
//! A problem given by its Delassus matrix has no columns to pivot on, and all four use the dense matrix. No attempt is
//! that of another solver: where all of them fail the island keeps the best impulses met, and the status says how the
//! last path ended.

use super::budget::Spent;
use super::contact::{self, ContactLcp, PivotOptions, PivotOutcome, warm_start};
use super::lcp::game::solve_game;
use super::lcp::laws::WrittenOut;
use super::lcp::ratio::Pivot;
use super::lcp::solve::{Cover, LcpAnswer, LcpOptions, solve, solve_without_proof};
use super::{CoverChoice, Lemke, Method};
use crate::index::BlockId;
use crate::math::Random;
use crate::problem::Problem;
use crate::solver::{Certificate, Status};

/// Covering vectors by chance that are tried before the dense matrix, and with it.
const CHANCES: u64 = 3;
/// Most contacts for which the basis of a guess is mended by exchanges: each solves a dense system anew.
const MENDED: usize = 500;
/// Most unknowns of a dense matrix: it takes 8 n² bytes, three times.
const LARGEST: usize = 6000;
/// The same in twice the digits, where a path takes half a second, and multiplications of doubles that a product costs.
const LARGEST_WIDE: usize = 250;
const WIDE_PRODUCT: u64 = 20;
/// Pivots for each unknown beyond which a path is a cycle or would not end in time anyway, and the same of small problems:
/// where digits are missing paths wander, and those in twice the digits are to have their turn.
const LONG: usize = 50;
const LONG_WHERE_SMALL: usize = 8;

/// Blocks that depend on each other, and where their impulses go.
pub(super) struct Island<'a> {
    pub(super) problem: &'a Problem,
    pub(super) blocks: &'a [BlockId],
    /// Impulses of the whole problem that are nearly right, those of the last step.
    pub(super) guess: Option<&'a [f64]>,
    /// Impulses of the whole problem, of which those of this island are written.
    pub(super) lambda: &'a mut [f64],
    pub(super) spent: &'a mut Spent,
}

/// One attempt without matrix.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Friction added where load appears, instead of all of it from the start.
    reduced: bool,
    pivot: Pivot,
    /// Which covering vector by chance, or zero for the solver's own.
    chance: u64,
}

impl Plan {
    fn reduced(pivot: Pivot) -> Plan {
        Plan {
            reduced: true,
            pivot,
            chance: 0,
        }
    }

    fn structural(pivot: Pivot) -> Plan {
        Plan {
            reduced: false,
            ..Plan::reduced(pivot)
        }
    }
}

impl Method {
    /// The attempts without matrix, in order.
    fn plans(self, pivot: Pivot) -> Vec<Plan> {
        let reduced = [Plan::reduced(pivot), Plan::reduced(Pivot::Lex)];
        let structural = [Plan::structural(pivot), Plan::structural(Pivot::Lex)];
        match self {
            Method::Best => {
                let mut plans = reduced.to_vec();
                plans.extend((0..=CHANCES).map(|chance| Plan {
                    chance,
                    ..Plan::structural(pivot)
                }));
                plans
            }
            // Where the covering vector would grow too large, the structural method has to finish; where large pivots
            // cycle, the lexicographic rule.
            Method::Reduced => [reduced, structural].concat(),
            Method::Structural => structural.to_vec(),
            Method::Standard => Vec::new(),
        }
    }
}

impl Lemke {
    /// One island: without matrix where that is possible, else with it.
    pub(super) fn solve_island(&mut self, island: &mut Island<'_>) -> Status {
        let mut lcp = std::mem::take(&mut self.lcp);
        let columns = self.method != Method::Standard
            && lcp.refill(island.problem, island.blocks, self.directions);
        let found = match columns {
            true => self.without_matrix(island, &lcp),
            false => Err(Status::Unsupported),
        };
        self.lcp = lcp;
        found.unwrap_or_else(|lost| self.by_matrix(island, lost))
    }

    /// The attempts without matrix. The error is how the last of them ended, where the dense matrix has to be tried.
    fn without_matrix(
        &mut self,
        island: &mut Island<'_>,
        lcp: &ContactLcp,
    ) -> Result<Status, Status> {
        let joints = lcp.frees.len() as u64;
        // The joints alone are one system.
        if !self.work.meter.afford(joints.pow(3) / 3) {
            return Ok(Status::PivotLimit);
        }
        if self.resumed(island, lcp) {
            return Ok(Status::Solved);
        }
        self.paths(island, lcp)
    }

    /// From the basis of a guess, where there is one.
    fn resumed(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> bool {
        let near = island.guess.filter(|_| lcp.normals.len() <= MENDED);
        let Some(guess) = near.filter(|guess| lcp.is_loaded(guess)) else {
            return false;
        };
        let options = self.options_of(lcp, &[], self.pivot, island.spent);
        self.work.meter.begin(4);
        let outcome = warm_start::solve(lcp, guess, &options, &mut self.work);
        island.spent.pivots += outcome.pivots;
        let solved = outcome.status == Status::Solved;
        if solved {
            self.work.impulses(lcp, island.lambda);
        }
        solved
    }

    /// The paths of the method, one after the other. The error is the end of the last one where all of `lemke` are lost.
    fn paths(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> Result<Status, Status> {
        let best = self.method == Method::Best;
        let mut last = Status::Breakdown;
        for plan in self.method.plans(self.pivot) {
            if island.spent.is_over() {
                return Ok(Status::PivotLimit);
            }
            if self.work.meter.is_cancelled() {
                return Ok(Status::Interrupted);
            }
            // A path that wanders leaves something to the next.
            self.work.meter.begin(if best { 2 } else { 1 });
            let outcome = self.attempt(lcp, plan, island.spent);
            if outcome.residual.is_finite() {
                self.work.impulses(lcp, island.lambda);
            }
            last = outcome.status;
            if matches!(last, Status::Solved | Status::TimeLimit) {
                return Ok(last);
            }
            // After a path that cycled or lost its digits the next plan is tried; a ray is an answer.
            let lost = matches!(last, Status::PivotLimit | Status::Breakdown);
            if !best && !lost {
                return Ok(last);
            }
        }
        if best { Err(last) } else { Ok(last) }
    }

    /// One path without matrix.
    fn attempt(&mut self, lcp: &ContactLcp, plan: Plan, spent: &mut Spent) -> PivotOutcome {
        let mut cover = Vec::new();
        if plan.chance != 0 || self.cover == CoverChoice::Random {
            let mut random = self.chance(plan.chance);
            cover.extend((0..lcp.n_cover()).map(|_| random.range(0.5, 2.0)));
        }
        let options = self.options_of(lcp, &cover, plan.pivot, spent);
        let outcome = match plan.reduced {
            true => contact::reduced(lcp, &options, &mut self.work),
            false => contact::structural(lcp, &options, &mut self.work),
        };
        spent.pivots += outcome.pivots;
        outcome
    }

    /// Numbers of one covering vector by chance.
    fn chance(&self, round: u64) -> Random {
        Random::new(self.seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Limits of one attempt, with this covering vector and this rule for ties.
    fn options_of<'a>(
        &self,
        lcp: &ContactLcp,
        cover: &'a [f64],
        pivot: Pivot,
        spent: &Spent,
    ) -> PivotOptions<'a> {
        PivotOptions {
            pivot,
            cover,
            pivots: spent.pivots_left().min(longest(lcp.n_pairs())),
            deadline: spent.deadline,
        }
    }

    /// The dense matrix; `lemke` tries other covering vectors where a ray proves nothing. Where it would be too large the
    /// status stays the one given.
    fn by_matrix(&mut self, island: &mut Island<'_>, lost: Status) -> Status {
        let n = WrittenOut::count(island.problem, island.blocks, self.directions);
        if LARGEST < n {
            return lost;
        }
        let pivot = (n as u64).pow(2).max(1);
        if !self.work.meter.afford(pivot.saturating_mul(n as u64)) {
            return Status::PivotLimit;
        }
        self.work.meter.begin(1);
        let written = WrittenOut::new(island.problem, island.blocks, self.directions);
        let rounds = match self.method {
            Method::Best => CHANCES,
            // The plain method ends where its path does.
            _ => 0,
        };
        if self.method == Method::Best {
            let options = self.matrix_options(pivot, island.spent);
            if let Some(answer) = solve_game(&written.lcp, &options) {
                island.spent.pivots += answer.pivots;
                written.impulses(&answer.z, island.lambda);
                return Status::Solved;
            }
        }
        let mut status = Status::Breakdown;
        for round in 0..=rounds {
            if self.work.meter.is_cancelled() {
                return Status::Interrupted;
            }
            let mut options = self.matrix_options(pivot, island.spent);
            if self.method == Method::Best {
                options.pivots = options.pivots.min(4 * longest(n));
            }
            if options.pivots == 0 && island.spent.pivots != 0 {
                return Status::PivotLimit;
            }
            options.cover = match (round, self.cover) {
                (0, CoverChoice::Ones) => Cover::Ones,
                (0, CoverChoice::Scaled) => Cover::Scaled,
                _ => Cover::Random(self.chance(round).bits()),
            };
            // The rows are the same in every round, and so would be the search for a proof.
            let answer = match round {
                0 => solve(&written.lcp, &options),
                _ => solve_without_proof(&written.lcp, &options),
            };
            island.spent.pivots += answer.pivots;
            self.work.meter.spend(pivot * answer.pivots as u64);
            if round == 0 || answer.status == Status::Solved {
                status = answer.status;
                written.impulses(&answer.z, island.lambda);
                island.spent.certificate = certificate(&written, &answer, island.lambda.len());
            }
            let hopeless = answer.farkas.is_some() || status == Status::TimeLimit;
            if answer.status == Status::Solved || hopeless {
                return status;
            }
        }
        status
    }

    /// The dense matrix of one island in twice the digits: how far its impulses were from an answer before they were rounded
    /// \[m/s\]; `None` where it is too large or too dear.
    pub(super) fn in_twice_the_digits(&self, island: &mut Island<'_>) -> Option<f64> {
        let n = WrittenOut::count(island.problem, island.blocks, self.directions);
        // About two exchanges for each unknown, within the budget of an island.
        let cost = WIDE_PRODUCT * 2 * (n as u64).pow(3) / 1_000_000;
        let dear = self.budget != 0 && self.budget < cost;
        if LARGEST_WIDE < n || dear || island.spent.pivots_left() == 0 {
            return None;
        }
        let s = island.problem.delassus_wide(island.blocks)?;
        let written = WrittenOut::new(island.problem, island.blocks, self.directions);
        let most = island.spent.pivots_left().min(longest(n));
        let (found, off) = written.solve_wide(island.problem, &s, most);
        written.put(&found, island.lambda);
        Some(off)
    }

    /// Limits of one path with matrix, whose pivots cost about so many multiplications each.
    fn matrix_options(&self, pivot: u64, spent: &Spent) -> LcpOptions {
        let affordable = usize::try_from(self.work.meter.left() / pivot).unwrap_or(usize::MAX);
        LcpOptions {
            pivot: self.pivot,
            pivots: spent.pivots_left().min(affordable),
            time: spent.time_left(),
            ..LcpOptions::default()
        }
    }
}

/// Most pivots of a path with so many unknowns.
fn longest(n: usize) -> usize {
    let each = match n <= LARGEST_WIDE {
        true => LONG_WHERE_SMALL,
        false => LONG,
    };
    100 + each * n
}

/// What a path found instead of an answer, in the rows of the whole problem.
fn certificate(written: &WrittenOut, answer: &LcpAnswer, rows: usize) -> Option<Certificate> {
    let spread = |x: &[f64]| {
        let mut spread = vec![0.0; rows];
        written.add(x, &mut spread);
        spread
    };
    let farkas = answer.farkas.as_deref().filter(|_| written.is_plain());
    Some(Certificate {
        ray: spread(answer.ray.as_deref()?),
        farkas: farkas.map(spread),
    })
}
