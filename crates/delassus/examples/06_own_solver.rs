//! A solver of one's own, judged like all others: damped Jacobi for unilateral rows.
//!
//! `cargo run -p delassus --example 06_own_solver`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::problem::delassus::BlockMatrix;
use delassus::solver::{Monitor, SweepStats};
use delassus::{BuildError, Fit, Law, Problem, Solution, Solver, Status, Stop};

struct Damped(f64);

impl Solver for Damped {
    fn name(&self) -> &'static str {
        "damped"
    }
    fn fit(&self, law: &Law) -> Fit {
        // With a law that has no rule here the solve ends as `unsupported`, not with a wrong answer.
        [Fit::No, Fit::Exact][usize::from(*law == Law::Unilateral)]
    }
    fn stop(&self) -> Stop {
        Stop::default()
    }
    fn run(&mut self, problem: &Problem, x: &mut Solution, monitor: &mut Monitor<'_>) -> Status {
        let (s, n) = (problem.delassus_dense(), problem.n_rows());
        let mut w = vec![0.0; n];
        loop {
            // λ ← max(0, λ − ω D⁻¹w), all rows from the same w; the monitor decides when to stop.
            problem.row_velocity(&x.v, &x.lambda, &mut w);
            let mut stats = SweepStats::default();
            for i in 0..n {
                let d = s[i * n + i];
                let z = (x.lambda[i] - self.0 * w[i] / d).max(0.0);
                let moved = d * (z - x.lambda[i]);
                stats.eta_squared += moved * moved;
                stats.eta_max = stats.eta_max.max(moved.abs());
                x.lambda[i] = z;
            }
            problem.velocity(&x.lambda, &mut x.v);
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
    let mut solution = Solution::zeros(&problem);
    println!("{}", Damped(0.6).solve(&problem, &mut solution));
    println!("impulses {:.3?}", solution.lambda);
    Ok(())
}
