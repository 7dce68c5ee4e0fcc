//! Every contact rule of Gauss-Seidel on the same problems: who solves which law, and in how many sweeps.
//!
//! `cargo run -p delassus --release --example 02_compare_rules`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::solver::Rule;
use delassus::{GaussSeidel, Solution, Solver, Stop, gallery};

fn main() -> Result<(), gallery::GalleryError> {
    let stop = Stop {
        tolerance: 1e-8,
        sweeps: 20_000,
        ..Stop::default()
    };
    for name in ["slide", "rod", "corner", "peg", "stack", "pile"] {
        let problem = gallery::build(name)?;
        println!("{name}: {} contacts", problem.blocks().len());
        for (_, rule) in Rule::NAMES {
            let mut solver = GaussSeidel {
                stop,
                rule,
                ..GaussSeidel::default()
            };
            let mut solution = Solution::zeros(&problem);
            let report = solver.solve(&problem, &mut solution);
            // `solved` is about the rule's own law; `law` is always about the problem's.
            println!(
                "  {:<10} {:<12} {:<16} {:>6} sweeps  law {:.1e} m/s",
                rule.name(),
                report.fit.name(),
                report.status.name(),
                report.iterations,
                report.residual.law
            );
        }
    }
    Ok(())
}
