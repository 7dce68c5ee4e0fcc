//! A solver of one's own, judged like all others: projected gradient steps for unilateral rows.
//!
//! `cargo run -p delassus --example 06_own_solver`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::problem::delassus::BlockMatrix;
use delassus::solver::{Monitor, SweepStats};
use delassus::{BuildError, Fit, Law, Problem, Solution, Solver, Status, Stop};

struct Gradient(f64);

impl Solver for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
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
        let mut w = vec![0.0; problem.n_rows()];
        loop {
            // λ ← max(0, λ − ρw) = λ − min(λ, ρw); the monitor decides when to stop.
            problem.row_velocity(&x.v, &x.lambda, &mut w);
            let mut stats = SweepStats::default();
            for (lambda, w) in x.lambda.iter_mut().zip(&w) {
                let moved = lambda.min(self.0 * w);
                *lambda -= moved;
                stats.eta_squared += (moved / self.0).powi(2);
                stats.eta_max = stats.eta_max.max((moved / self.0).abs());
            }
            problem.velocity(&x.lambda, &mut x.v);
            if let Some(status) = monitor.after_sweep(stats, &x.lambda) {
                return status;
            }
        }
    }
}

fn main() -> Result<(), BuildError> {
    // Two unit weights on each other, gaining 0.1 m/s downwards: S and c by hand.
    let entries = [(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)];
    let matrix = BlockMatrix::from_entries(&[1; 2], &entries)?;
    let problem = Problem::dual(matrix, vec![0.0, -0.1], &[Law::Unilateral; 2])?;
    let report = Gradient(0.4).solve(&problem, &mut Solution::zeros(&problem));
    println!("{report}");
    Ok(())
}
