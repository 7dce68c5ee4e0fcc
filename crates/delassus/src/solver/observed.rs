//! A solver that is watched: somebody sees every solve, and the solver and whoever called it notice nothing.

use std::fmt;
use std::time::Duration;

use super::auto::Choices;
use super::{Fit, Monitor, Report, SmallSteps, Solver, Status, Stop};
use crate::law::Law;
use crate::problem::{Problem, Solution};

/// One solve as the observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What was to be solved.
    pub problem: &'a Problem,
    /// The impulses it started from, as they were handed in: any length means a start from zero but the right one.
    pub start: &'a [f64],
    /// The answer.
    pub solution: &'a Solution,
    /// How it went.
    pub report: &'a Report,
}

/// Any solver with an observer, who is told of each solve after it.
pub struct Observed<'a, F: FnMut(Seen<'_>)> {
    solver: &'a mut dyn Solver,
    observer: F,
    start: Vec<f64>,
    sees_all: bool,
}

impl<'a, F: FnMut(Seen<'_>)> Observed<'a, F> {
    /// Watches a solver: every problem is written out and shown.
    pub fn new(solver: &'a mut dyn Solver, observer: F) -> Observed<'a, F> {
        Observed {
            solver,
            observer,
            start: Vec::new(),
            sees_all: true,
        }
    }

    /// Watches a solver as far as problems are written out anyway: those that somebody solves in its place, by
    /// [`Solver::solves_joints_at_once`], are not shown.
    pub fn lightly(solver: &'a mut dyn Solver, observer: F) -> Observed<'a, F> {
        Observed {
            sees_all: false,
            ..Observed::new(solver, observer)
        }
    }
}

impl<F: FnMut(Seen<'_>)> fmt::Debug for Observed<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observed")
            .field(&self.solver.name())
            .finish()
    }
}

impl<F: FnMut(Seen<'_>)> Solver for Observed<'_, F> {
    fn name(&self) -> &'static str {
        self.solver.name()
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.solver.options()
    }

    fn fit(&self, law: &Law) -> Fit {
        self.solver.fit(law)
    }

    fn fit_of(&self, problem: &Problem) -> Fit {
        self.solver.fit_of(problem)
    }

    fn stop(&self) -> Stop {
        self.solver.stop()
    }

    fn limit(&mut self, stop: Stop) -> bool {
        self.solver.limit(stop)
    }

    fn solves_joints_at_once(&self) -> Option<Choices> {
        match self.sees_all {
            true => None,
            false => self.solver.solves_joints_at_once(),
        }
    }

    fn advice(&self, status: Status) -> Option<String> {
        self.solver.advice(status)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.solver.run(problem, solution, monitor)
    }

    fn takes_small_steps(&self) -> bool {
        self.solver.takes_small_steps()
    }

    fn sweep_small_steps(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        steps: &mut SmallSteps<'_>,
    ) -> bool {
        self.start.clear();
        self.start.extend_from_slice(lambda);
        self.solver.sweep_small_steps(problem, lambda, steps)
    }

    fn judge_sweeps(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        elapsed: Duration,
    ) -> Report {
        let report = self.solver.judge_sweeps(problem, solution, elapsed);
        (self.observer)(Seen {
            problem,
            start: &self.start,
            solution,
            report: &report,
        });
        report
    }

    fn solve_unseen(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        self.solver.solve_unseen(problem, solution)
    }

    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        self.start.clone_from(&solution.lambda);
        let report = self.solver.solve(problem, solution);
        (self.observer)(Seen {
            problem,
            start: &self.start,
            solution,
            report: &report,
        });
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GaussSeidel, Residual, gallery};

    #[test]
    fn an_observer_sees_the_start_and_the_report_and_changes_no_bit() {
        let problem = gallery::build("stack:3").unwrap();
        let mut alone = Solution::zeros(&problem);
        alone.lambda[0] = 0.25;
        let (start, mut watched) = (alone.lambda.clone(), alone.clone());
        let report = GaussSeidel::default().solve(&problem, &mut alone);
        let (mut solver, mut seen) = (GaussSeidel::default(), Vec::new());
        let mut observed = Observed::new(&mut solver, |solve: Seen<'_>| {
            assert_eq!(solve.start, start);
            let faults = Residual::by_block(solve.problem, &solve.solution.lambda);
            let worst = solve.report.residual.worst_block.unwrap();
            assert_eq!(
                faults[worst.index()].to_bits(),
                solve.report.residual.law.to_bits()
            );
            seen.push(solve.report.iterations);
        });
        observed.solve(&problem, &mut watched);
        assert_eq!((alone, vec![report.iterations]), (watched, seen));
    }
}
