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

use super::World;
use super::assemble::Assembly;
use crate::collide::ContactPoint;
use crate::problem::Solution;
use crate::solver::{Report, Solver, Stop};

/// A step whose sweeps are shared between pushing and calming.
pub(super) struct Halves {
    asked: Stop,
    /// Sweeps without the push.
    calming: usize,
}

impl Halves {
    /// Limits the solver to the sweeps that push; `None` where all is solved at once: with a tolerance, a single sweep
    /// or no contact, and in a world with robots.
    pub(super) fn begin(
        world: &World,
        solver: &mut dyn Solver,
        assembly: &Assembly,
    ) -> Option<Halves> {
        let asked = solver.stop();
        let calming = asked.sweeps / 2;
        let whole = 0.0 < asked.tolerance || calming == 0 || assembly.contacts.is_empty();
        if whole || !world.robots().is_empty() {
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
