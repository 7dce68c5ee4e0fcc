//! A solver that is watched: after each solve it can be asked how far every body's rows are from their laws.

use delassus::problem::Form;
use delassus::solver::Monitor;
use delassus::{BlockId, Fit, Law, Problem, Report, Solution, Solver, Status, Stop};

/// Any solver, with the residual of every mass block where that is wanted.
pub(crate) struct Watched {
    inner: Box<dyn Solver + Send>,
    /// Measure.
    pub(crate) wanted: bool,
    /// Largest law residual of the blocks that act on each mass \[m/s\]; empty where not wanted.
    pub(crate) faults: Vec<f64>,
}

impl Watched {
    pub(crate) fn new(inner: Box<dyn Solver + Send>) -> Watched {
        Watched {
            inner,
            wanted: false,
            faults: Vec::new(),
        }
    }
}

impl Solver for Watched {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.inner.options()
    }

    fn fit(&self, law: &Law) -> Fit {
        self.inner.fit(law)
    }

    fn fit_of(&self, problem: &Problem) -> Fit {
        self.inner.fit_of(problem)
    }

    fn stop(&self) -> Stop {
        self.inner.stop()
    }

    fn advice(&self, status: Status) -> Option<String> {
        self.inner.advice(status)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.inner.run(problem, solution, monitor)
    }

    fn solve(&mut self, problem: &Problem, solution: &mut Solution) -> Report {
        let report = self.inner.solve(problem, solution);
        self.faults.clear();
        if self.wanted {
            self.faults = faults(problem, &solution.lambda);
        }
        report
    }
}

/// The judge's natural map, block by block, as the worst of each mass.
fn faults(problem: &Problem, lambda: &[f64]) -> Vec<f64> {
    let Form::Primal(primal) = problem.form() else {
        return Vec::new();
    };
    let mut v = vec![0.0; problem.n_velocities()];
    problem.velocity(lambda, &mut v);
    let mut w = vec![0.0; problem.n_rows()];
    problem.row_velocity(&v, lambda, &mut w);
    let mut worst = vec![0.0; primal.mass().len()];
    for (k, block) in problem.blocks().iter().enumerate() {
        let n = block.n_rows;
        let own = problem.diagonal_blocks().block(k);
        let diagonal: Vec<f64> = (0..n).map(|i| own[i * n + i].abs()).collect();
        if diagonal.contains(&0.0) {
            continue;
        }
        let rows = block.rows();
        let fault = block.law.fault(&lambda[rows.clone()], &w[rows], &diagonal);
        for (mass, _) in primal.jacobian().block(BlockId(k as u32)) {
            worst[mass.index()] = f64::max(worst[mass.index()], fault.natural);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use delassus::GaussSeidel;
    use delassus::scenes;

    #[test]
    fn the_worst_body_has_the_residual_of_the_report() {
        for name in ["stack:5", "necklace:12", "arch"] {
            let mut scene = scenes::build(name).unwrap();
            let (problem, mut solution) = scene.world.problem(0.01).unwrap();
            let mut solver = Watched::new(Box::new(GaussSeidel {
                stop: Stop {
                    tolerance: 0.0,
                    iterations: 3,
                    ..Stop::default()
                },
                ..GaussSeidel::default()
            }));
            solver.wanted = true;
            let report = solver.solve(&problem, &mut solution);
            let worst = solver.faults.iter().copied().fold(0.0, f64::max);
            assert_eq!(worst.to_bits(), report.residual.law.to_bits(), "{name}");
        }
    }
}
