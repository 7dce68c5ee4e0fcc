//! The substeps of eight chains, one after the other while they are in the cache.

use pulp::Arch;

use super::lanes::{BeadMass, BeadWork, State, Team};
use super::pass::{Arena, largest};
use super::rattle::{self, Begin};
use super::{Integrator, Rattle, Solve, spook};
use crate::problem::stabilise::Stabilise;

/// Damping time of SPOOK in substeps: critical.
const DAMPING: f64 = 2.0;

/// A step as all teams take it.
pub(super) struct Plan {
    /// Length of a substep \[s\].
    pub(super) h: f64,
    pub(super) substeps: u32,
    pub(super) integrator: Integrator,
    pub(super) gravity: [f64; 3],
    pub(super) arch: Arch,
}

/// What a team did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) substeps: u32,
    pub(super) tried: u32,
    pub(super) iterations: u32,
    pub(super) coarse: u32,
    pub(super) refused: bool,
}

/// Memory of one thread.
#[derive(Default)]
pub(super) struct Space {
    work: Vec<BeadWork>,
    before: Vec<State>,
}

impl Plan {
    /// All substeps of a team; a team that would leave the finite numbers stays as it was.
    pub(super) fn step(&self, links: &[BeadMass], team: &mut Team, space: &mut Space) -> Count {
        space.work.resize(links.len(), BeadWork::default());
        space.before.clear();
        space.before.extend_from_slice(&team.beads);
        let mut arena = Arena {
            links,
            anchor: &team.anchor,
            gravity: self.gravity,
            beads: &mut team.beads,
            work: &mut space.work,
        };
        let mut count = Count::default();
        match self.integrator {
            Integrator::Spook(solve) => self.spook(&mut arena, solve, &mut count),
            Integrator::Rattle(rattle) => self.rattle(&mut arena, rattle, &mut count),
        }
        let finite = team.beads.iter().all(State::is_finite);
        if !finite {
            team.beads.copy_from_slice(&space.before);
            count.refused = true;
        }
        count
    }

    fn spook(&self, arena: &mut Arena<'_>, solve: Solve, count: &mut Count) {
        let step = first_order(self.h, 1.0);
        let sweeps = match solve {
            Solve::Exact => 1,
            Solve::Jacobi { sweeps } | Solve::GaussSeidel { sweeps } => sweeps,
        };
        for _ in 0..self.substeps {
            spook::step(arena, self.arch, step, solve);
            count.substeps += 1;
            count.tried += 1;
            count.iterations += sweeps;
        }
    }

    /// Substeps are halved in place: a half must be followed by its other half before a whole one may be tried.
    fn rattle(&self, arena: &mut Arena<'_>, rattle: Rattle, count: &mut Count) {
        let deepest = rattle.adapt.map_or(0, |adapt| adapt.halvings.min(24));
        let angle = rattle.adapt.map_or(f64::INFINITY, |adapt| adapt.angle);
        let rule = (rattle.tolerance, rattle.corrections, angle);
        let whole = 1_u64 << deepest;
        let end = whole * u64::from(self.substeps);
        let mut spin = largest(&arena.run(self.arch, Begin { spin: [0.0; 8] }).spin);
        let (mut done, mut least) = (0, 0);
        while done < end {
            // The longest step that ends where such steps may end and turns no bead too far.
            let aligned = deepest - done.trailing_zeros().min(deepest);
            let mut level = least.max(aligned);
            let turns = |level: u32| spin.sqrt() * self.h / (1_u64 << level) as f64;
            while level < deepest && angle < turns(level) {
                level += 1;
            }
            let h = self.h / (1_u64 << level) as f64;
            count.tried += 1;
            let last = level == deepest;
            let limit = if last { f64::INFINITY } else { angle };
            let taken = rattle::step(arena, self.arch, h, (rule.0, rule.1, limit));
            count.iterations += taken.corrections;
            match taken.spin {
                Some(new) => spin = new,
                None if !last => {
                    least = level + 1;
                    continue;
                }
                None => {
                    // The joints cannot be closed: one step of first order, which can be taken always.
                    // Beads keep half the force of their joints between steps of second order.
                    let step = first_order(h, 2.0);
                    spin = spook::step(arena, self.arch, step, Solve::Exact);
                    arena.run(self.arch, Begin { spin: [0.0; 8] });
                    count.coarse += 1;
                }
            }
            count.substeps += 1;
            done += whole >> level;
            least = 0;
        }
    }
}

fn first_order(h: f64, pull: f64) -> spook::SpookStep {
    let stabilise = Stabilise::Spook {
        compliance: 0.0,
        damping: DAMPING * h,
    };
    spook::SpookStep {
        h,
        coefficients: stabilise.coefficients(h),
        pull,
    }
}

impl State {
    fn is_finite(&self) -> bool {
        let numbers = self.x.iter().chain(&self.q).chain(&self.v).chain(&self.w);
        // A product with zero is zero for every finite number and not-a-number for all others.
        let sum: f64 = numbers.flatten().map(|x| 0.0 * x).sum();
        sum == 0.0
    }
}
