//! What goes on where pivoting has failed or has used up what it may cost: a world must go on.
//!
//! First the solver that `auto` takes for such a problem, then accelerated Jacobi, then sweeps in order with the exact
//! rule, each from the best there is: only solvers that obey the laws, and none for a matrix given as such, whose sweeps
//! need not converge. The failure remains the status unless one of them solves.

use crate::problem::{Form, Problem, Solution};
use crate::solver::auto::choose;
use crate::solver::{Fit, Monitor, Status, Stop, from_spec};

/// Sweeps of each solver that goes on.
const SWEEPS: usize = 5000;
/// Who goes on after the one that `auto` takes.
const THEN: [&str; 2] = ["jacobi,accelerate=nesterov", "gauss-seidel,rule=exact"];

/// How pivoting ended.
pub(super) struct Rescue {
    pub(super) failed: Status,
    /// Whether it might have gone on if more had been allowed.
    pub(super) short: bool,
    pub(super) stop: Stop,
    pub(super) seed: u64,
}

impl Rescue {
    /// Solves by others, telling the monitor who and why.
    pub(super) fn go_on(
        &self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        if matches!(problem.form(), Form::Dual(_)) {
            return self.failed;
        }
        let why = match self.short {
            true => "the work allowed to pivoting was used up before it had an answer",
            false => "pivoting found no answer that could be verified",
        };
        let first = choose(problem, self.stop.tolerance).solver;
        let then = THEN.into_iter().filter(|spec| *spec != first);
        for spec in std::iter::once(first).chain(then) {
            let stop = Stop {
                sweeps: self.stop.sweeps.min(SWEEPS),
                ..self.stop
            };
            let solver = from_spec(spec, stop, self.seed);
            let Some(mut solver) = solver.ok().filter(|_| !spec.starts_with("lemke")) else {
                continue;
            };
            if solver.fit_of(problem) == Fit::No {
                continue;
            }
            if solver.reads_velocity() {
                solution.v.resize(problem.n_velocities(), 0.0);
                problem.velocity(&solution.lambda, &mut solution.v);
            } else {
                solution.v.clear();
            }
            monitor.hand_over(solver.name(), SWEEPS, why);
            match solver.run(problem, solution, monitor) {
                Status::Solved => return Status::Solved,
                Status::Interrupted => return Status::Interrupted,
                _ => {}
            }
        }
        self.failed
    }
}
