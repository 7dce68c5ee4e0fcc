//! A solver of your own, judged like all others: damped Jacobi for unilateral rows.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::problem::delassus::BlockMatrix;
use delassus::solver::{Monitor, SweepStats};
use delassus::{BuildError, Fit, GaussSeidel, Law, Problem, Solution, Solver, Status, Stop};

struct Jacobi(f64);

impl Solver for Jacobi {
    fn name(&self) -> &'static str {
        "my-jacobi"
    }
    fn fit(&self, law: &Law) -> Fit {
        match law {
            Law::Unilateral => Fit::Exact,
            _ => Fit::No, // the solve ends as `unsupported`, not with a wrong answer
        }
    }
    fn stop(&self) -> Stop {
        Stop::default()
    }
    fn run(&mut self, problem: &Problem, x: &mut Solution, monitor: &mut Monitor<'_>) -> Status {
        let (s, n) = (problem.delassus_dense(), problem.n_rows());
        let mut w = vec![0.0; n];
        loop {
            // All rows move at once, from the same w.
            problem.row_velocity(&x.v, &x.lambda, &mut w);
            let mut stats = SweepStats::default();
            for i in 0..n {
                let z = (x.lambda[i] - self.0 * w[i] / s[i * n + i]).max(0.0);
                let moved = s[i * n + i] * (z - x.lambda[i]);
                stats.eta_squared += moved * moved;
                stats.eta_max = stats.eta_max.max(moved.abs());
                x.lambda[i] = z;
            }
            problem.velocity(&x.lambda, &mut x.v);
            // The monitor decides when to stop; it measures the law residual itself.
            if let Some(status) = monitor.after_sweep(stats, &x.lambda) {
                return status;
            }
        }
    }
}

fn main() -> Result<(), BuildError> {
    // Three unit weights on top of each other, each gaining 0.1 m/s downwards: S and c by hand.
    let s = [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]];
    let entries: [_; 9] = std::array::from_fn(|e| (e / 3, e % 3, s[e / 3][e % 3]));
    let matrix = BlockMatrix::from_entries(&[1; 3], &entries)?;
    let problem = Problem::dual(matrix, vec![-0.1, 0.0, 0.0], &[Law::Unilateral; 3])?;
    let solvers: [&mut dyn Solver; 2] = [&mut Jacobi(0.6), &mut GaussSeidel::default()];
    for solver in solvers {
        println!("{}", solver.solve(&problem, &mut Solution::zeros(&problem)));
    }
    Ok(())
}
