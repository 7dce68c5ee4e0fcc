//! Islands of many contacts: a guess, a short path, and compliance that fades, before any long path is followed.

pub(crate) mod bodies;
pub(crate) mod crash;
pub(crate) mod guess;
pub(crate) mod path;

use crate::solver::Status;
use crate::solver::pivot::attempts::{ACCEPTED, Lemke};
use crate::solver::pivot::contact::ContactLcp;
use crate::solver::pivot::island::Island;
use crate::solver::pivot::method::Plan;

/// More contacts than this on several bodies are guessed at before paths are followed.
const MANY: usize = 120;
/// The same for contacts of trees: their links are many bodies in one, and their contacts depend on each other.
const MANY_OF_TREE: usize = 24;
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

/// Whether a path from nothing would be long.
pub(crate) fn is_many(lcp: &ContactLcp) -> bool {
    let mut units = 0..lcp.columns.units.len();
    let tree = units.any(|unit| lcp.columns.parts(unit).iter().any(|part| 6 < part.width));
    let most = if tree { MANY_OF_TREE } else { MANY };
    !lcp.columns.single && most < lcp.normals.len()
}

impl Lemke {
    /// One island of many contacts, before paths from nothing are followed; none where they have to be.
    pub(crate) fn crowd(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> Option<Status> {
        if self.guessed(island, lcp) {
            return Some(Status::Solved);
        }
        // A few contacts of a tree may still have a short path, and it is exact.
        if lcp.normals.len() <= MANY {
            self.work.meter.begin(8);
            let outcome = self.attempt(lcp, Plan::reduced(self.pivot), island.budget);
            if outcome.is_good() {
                self.work.impulses(lcp, island.lambda);
                return Some(Status::Solved);
            }
        }
        let far = FAR < lcp.normals.len();
        self.work.meter.begin(if far { 1 } else { 2 });
        if self.softened(island, lcp) {
            return Some(Status::Solved);
        }
        far.then_some(Status::PivotLimit)
    }

    /// Many bodies, from a guess.
    fn guessed(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> bool {
        let options = self.options_of(lcp, &[], self.pivot, island.budget);
        self.work.meter.begin(4);
        let outcome = crash::solve(lcp, island.guess, 1, &options, &mut self.work);
        island.budget.pivots += outcome.pivots;
        if outcome.residual.is_finite() {
            self.work.impulses(lcp, island.lambda);
        }
        outcome.status == Status::Solved
    }

    /// From impulses that are nearly right, with compliance that keeps rows from depending on each other. Each answer
    /// is the centre of the next problem, so that what compliance does to it fades: until nothing is left of it, or
    /// for as long as there are rounds, and the best is kept.
    pub(crate) fn softened(&mut self, island: &mut Island<'_>, lcp: &ContactLcp) -> bool {
        let Island {
            problem,
            blocks,
            lambda,
            budget,
            ..
        } = island;
        let mut soft = ContactLcp::default();
        let (mut delta, mut least) = (SOFTEST, HARDEST);
        let mut centre = lambda.to_vec();
        let (mut best, mut kept) = (f64::INFINITY, lambda.to_vec());
        for _ in 0..ROUNDS {
            if !soft.refill_soft(problem, blocks, self.directions, delta, lambda) {
                break;
            }
            let options = self.options_of(&soft, &[], self.pivot, budget);
            let outcome = crash::solve(&soft, Some(lambda), TURNS, &options, &mut self.work);
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
            let options = self.options_of(lcp, &[], self.pivot, budget);
            let residual = crash::residual(lcp, lambda, &options, &mut self.work);
            if residual < best {
                best = residual;
                self.work.impulses(lcp, &mut kept);
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
}
