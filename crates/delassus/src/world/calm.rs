//! Sweeps that are cut short, and calm.
//!
//! An overlap is parted at the velocity q = (e/h) depth. Solved exactly, that velocity ends with the overlap. In a deep
//! pile some sweeps carry the push only a few bodies far: it throws those aside, and next step they land. So where a
//! number of sweeps is asked for and no tolerance, half of them push and give the velocity v_A that moves the bodies.
//! The other half goes on from there without the push,
//!
//! ```text
//! M v_B = p + Gᵀλ_B      w = G v_B + Σλ_B − (q − push)
//! ```
//!
//! and v_B is the velocity that bodies keep: overlaps are parted, and nothing flies. The impulses of the step are λ_B,
//! which belong to it.
//!
//! Where contacts are all there is, a solver may divide the step into small ones, with a push and a calm sweep for each:
//! [`SmallSteps`]. The impulses of the step are then the sums of theirs, and they are judged as an answer to the
//! problem of the whole step, whose contacts want what they want at its end and no push.

use std::time::Instant;

use glam::DVec3;

use super::assemble::{self, Assembly};
use super::{MovedBy, Surface, World};
use crate::collide::ContactPoint;
use crate::math::parallel::{self, CHUNK};
use crate::problem::Solution;
use crate::solver::{Report, SmallSteps, Solver, Stop};

/// Contacts or bodies that a thread copies numbers of at a time.
const MANY: usize = 8 * CHUNK;

/// Memory of small steps: gaps of the contacts, velocities at the beginning, mean velocities.
#[derive(Debug, Default)]
pub(super) struct Small {
    gaps: Vec<f64>,
    old: Vec<f64>,
    pub(super) mean: Vec<f64>,
}

/// A step whose sweeps are shared between pushing and calming.
pub(super) struct Halves {
    asked: Stop,
    /// Sweeps without the push.
    calming: usize,
}

impl Halves {
    /// Limits the solver to the sweeps that push; `None` where all is solved at once: with a tolerance, a single sweep
    /// or no contact, on soft contacts, and in a world with robots.
    pub(super) fn begin(
        world: &World,
        solver: &mut dyn Solver,
        assembly: &Assembly,
    ) -> Option<Halves> {
        let asked = solver.stop();
        let calming = asked.sweeps / 2;
        let whole = 0.0 < asked.tolerance || calming == 0 || assembly.contacts.is_empty();
        // Springs hold by their overlap: without the push they would give way.
        let soft = 0.0 < world.settings.contact_compliance;
        if whole || soft || !world.robots().is_empty() {
            return None;
        }
        let sweeps = asked.sweeps - calming;
        let limited = solver.limit(Stop { sweeps, ..asked });
        limited.then_some(Halves { asked, calming })
    }

    /// Gives the solver its limits back.
    pub(super) fn end(&self, solver: &mut dyn Solver) {
        solver.limit(self.asked);
    }
}

impl World {
    /// The step in small ones; `None` where it is not swept, where something else than hard contacts without restitution
    /// is there, and where the solver cannot. Returns also the mean velocity that bodies move with.
    pub(super) fn in_small_steps(
        &mut self,
        solver: &mut dyn Solver,
        (assembly, contacts): (&mut Assembly, &[ContactPoint]),
        solution: &mut Solution,
        h: f64,
    ) -> Option<(Report, Vec<f64>)> {
        let asked = solver.stop();
        let count = asked.sweeps / 2;
        let swept = asked.tolerance <= 0.0 && 0 < count;
        if !swept || !assembly.is_contacts_alone() || !self.has_calm_contacts() {
            return None;
        }
        let start = Instant::now();
        let mut spare = std::mem::take(&mut self.spare.small);
        self.fill_small(assembly, contacts, &mut spare);
        let part = h / count as f64;
        // Overlaps part as slowly as in the whole step: by the same damping time.
        let share = self.hold_contacts(h).coefficients(part).e;
        let mut mean = std::mem::take(&mut spare.mean);
        let mut steps = SmallSteps {
            h,
            count,
            old: &spare.old,
            share,
            fastest: assemble::PUSH,
            gaps: &mut spare.gaps,
            mean: &mut mean,
        };
        let done = solver.sweep_small_steps(&assembly.problem, &mut solution.lambda, &mut steps);
        let found = done.then(|| {
            let elapsed = start.elapsed();
            let gaps = &spare.gaps;
            let wanted = |block: usize| (-gaps[block] / part).min(0.0);
            assembly.problem.want_normals(wanted);
            solver.judge_sweeps(&assembly.problem, solution, elapsed)
        });
        match found {
            Some(report) => {
                self.spare.small = spare;
                Some((report, mean))
            }
            None => {
                self.spare.small = Small { mean, ..spare };
                None
            }
        }
    }

    /// Gaps and velocities at the beginning of a step.
    fn fill_small(&self, assembly: &Assembly, contacts: &[ContactPoint], small: &mut Small) {
        let used = &assembly.contacts;
        small.gaps.resize(used.len(), 0.0);
        let parts = small.gaps.chunks_mut(MANY).zip(used.chunks(MANY));
        parallel::each(parts, |(gaps, used)| {
            for (gap, c) in gaps.iter_mut().zip(used) {
                *gap = contacts[*c].gap;
            }
        });
        small.old.resize(6 * assembly.bodies.len(), 0.0);
        let old = small.old.as_chunks_mut::<6>().0.chunks_mut(MANY);
        parallel::each(old.zip(assembly.bodies.chunks(MANY)), |(old, bodies)| {
            for (old, id) in old.iter_mut().zip(bodies) {
                let (velocity, spin) = (
                    self.bodies.velocity[id.index()],
                    self.bodies.spin[id.index()],
                );
                let [x, y, z] = velocity.to_array();
                let [p, q, r] = spin.to_array();
                *old = [x, y, z, p, q, r];
            }
        });
    }

    /// Whether contacts ask for no velocity of their own: nothing bounces, and what is not moved by impulses rests.
    fn has_calm_contacts(&self) -> bool {
        let bodies = &self.bodies;
        let pairs = self.pairs.iter().map(|(_, surface)| surface);
        let bounces = |surface: &Surface| 0.0 < surface.restitution;
        let driven = |i: usize| {
            let motion = bodies.velocity[i].abs() + bodies.spin[i].abs();
            bodies.motion[i] == MovedBy::Kinematic && motion != DVec3::ZERO
        };
        let hard = self.settings.contact_compliance == 0.0;
        hard && !self.surfaces.iter().chain(pairs).any(bounces) && !(0..bodies.len()).any(driven)
    }

    /// The second half. Returns v_A where it differs from what the bodies keep.
    pub(super) fn calm(
        &self,
        halves: &Halves,
        solver: &mut dyn Solver,
        (assembly, contacts): (&mut Assembly, &[ContactPoint]),
        (solution, report): (&mut Solution, &mut Report),
        h: f64,
    ) -> Option<Vec<f64>> {
        if !halves.asked.is_swept_as_asked(report.status) {
            return None;
        }
        let pushes = assembly.take_pushes(self, contacts, h);
        let pushed = solution.v.clone();
        solver.limit(Stop {
            sweeps: halves.calming,
            ..halves.asked
        });
        let calm = solver.solve_unseen(&assembly.problem, solution);
        report.iterations += calm.iterations;
        report.elapsed += calm.elapsed;
        let swept = halves.asked.is_swept_as_asked(calm.status);
        if pushes && swept {
            return Some(pushed);
        }
        // Without a push it was one solve; and one that failed is told.
        *report = Report {
            iterations: report.iterations,
            elapsed: report.elapsed,
            ..calm
        };
        pushes.then_some(pushed)
    }
}
