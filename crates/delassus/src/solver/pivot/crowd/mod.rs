//! Islands of many contacts: a guess, a short path, and compliance that fades, before any long path is followed.
//!
//! [`Crowd`] is the only door: `attempts.rs` asks it before paths from nothing where an island [`Crowd::is_one`], and for
//! [`Crowd::softened`] where such paths are lost. The chapter on contacts says what happens in which order. Without this
//! folder nothing but these two attempts would be missing.
//!
//! | file | what is there |
//! |---|---|
//! | this file | the door, and compliance that fades |
//! | `crash.rs` | solutions in the basis of a guess, sweeps, and the path from there |
//! | `guess.rs` | impulses that are nearly right, and sweeps over them |
//! | `bodies.rs` | bases solved over the bodies |
//! | `path.rs` | Lemke's path from a guess |

mod bodies;
mod crash;
mod guess;
mod path;

use self::bodies::BodySystem;
use self::guess::Guess;
use super::attempts::{Island, Plan};
use super::contact::ContactLcp;
use super::{ACCEPTED, Lemke};
use crate::solver::Status;

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

/// Arrays kept between solves.
#[derive(Clone, Debug, Default)]
pub(super) struct CrowdWork {
    guess: Guess,
    system: BodySystem,
}

/// An island, and the solver whose attempts these are.
pub(super) struct Crowd<'a, 'b> {
    lemke: &'a mut Lemke,
    island: &'a mut Island<'b>,
    lcp: &'a ContactLcp,
}

impl<'a, 'b> Crowd<'a, 'b> {
    pub(super) fn new(
        lemke: &'a mut Lemke,
        island: &'a mut Island<'b>,
        lcp: &'a ContactLcp,
    ) -> Crowd<'a, 'b> {
        Crowd { lemke, island, lcp }
    }

    /// Whether a path from nothing would be long.
    pub(super) fn is_one(lcp: &ContactLcp) -> bool {
        let mut units = 0..lcp.columns.units.len();
        let tree = units.any(|unit| lcp.columns.parts(unit).iter().any(|part| 6 < part.width));
        let most = if tree { MANY_OF_TREE } else { MANY };
        !lcp.columns.single && most < lcp.normals.len()
    }

    /// What is tried before paths from nothing are followed; none where they have to be.
    pub(super) fn before_paths(&mut self) -> Option<Status> {
        if self.guessed() {
            return Some(Status::Solved);
        }
        let contacts = self.lcp.normals.len();
        // A few contacts of a tree may still have a short path, and it is exact.
        if contacts <= MANY {
            self.lemke.work.meter.begin(8);
            let plan = Plan::reduced(self.lemke.pivot);
            let outcome = self.lemke.attempt(self.lcp, plan, self.island.spent);
            if outcome.status == Status::Solved {
                self.lemke.work.impulses(self.lcp, self.island.lambda);
                return Some(Status::Solved);
            }
        }
        let far = FAR < contacts;
        self.lemke.work.meter.begin(if far { 1 } else { 2 });
        if self.softened() {
            return Some(Status::Solved);
        }
        far.then_some(Status::PivotLimit)
    }

    /// From a guess, or from none.
    fn guessed(&mut self) -> bool {
        let (lcp, island) = (self.lcp, &mut *self.island);
        let options = self
            .lemke
            .options_of(lcp, &[], self.lemke.pivot, island.spent);
        let Lemke { work, crowd, .. } = &mut *self.lemke;
        work.meter.begin(4);
        let outcome = crash::solve(lcp, island.guess, 1, &options, work, crowd);
        island.spent.pivots += outcome.pivots;
        if outcome.residual.is_finite() {
            work.impulses(lcp, island.lambda);
        }
        outcome.status == Status::Solved
    }

    /// From impulses that are nearly right, with compliance that keeps rows from depending on each other. Each answer
    /// is the centre of the next problem, so that what compliance does to it fades: until nothing is left of it, or
    /// for as long as there are rounds, and the best is kept.
    pub(super) fn softened(&mut self) -> bool {
        let (lcp, pivot, facets) = (self.lcp, self.lemke.pivot, self.lemke.directions);
        let Island {
            problem,
            blocks,
            lambda,
            spent,
            ..
        } = &mut *self.island;
        let mut soft = ContactLcp::default();
        let (mut delta, mut least) = (SOFTEST, HARDEST);
        let mut centre = lambda.to_vec();
        let (mut best, mut kept) = (f64::INFINITY, lambda.to_vec());
        for _ in 0..ROUNDS {
            if !soft.refill_soft(problem, blocks, facets, delta, lambda) {
                break;
            }
            let options = self.lemke.options_of(&soft, &[], pivot, spent);
            let Lemke { work, crowd, .. } = &mut *self.lemke;
            let outcome = crash::solve(&soft, Some(lambda), TURNS, &options, work, crowd);
            spent.pivots += outcome.pivots;
            if outcome.residual.is_finite() {
                work.impulses(&soft, lambda);
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
            let options = self.lemke.options_of(lcp, &[], pivot, spent);
            let Lemke { work, crowd, .. } = &mut *self.lemke;
            let residual = crash::residual(lcp, lambda, &options, work, crowd);
            if residual < best {
                best = residual;
                work.impulses(lcp, &mut kept);
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
