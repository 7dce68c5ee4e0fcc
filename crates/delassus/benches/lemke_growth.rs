//! How Lemke's methods grow with a stack of blocks: pivots, the kernel, and time, for 5 to 100 blocks.
//!
//! `cargo bench --bench lemke_growth`, or with the name of a method and one number of blocks behind `--` for a counter of
//! instructions to look at that alone.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use delassus::gallery::experiments;
use delassus::solver::pivot::{Lemke, Method};
use delassus::{Solution, Solver, Status, Stop};

/// Wrenches on the top block.
const WRENCHES: usize = 5;

fn main() {
    let words: Vec<String> = std::env::args().filter(|word| word != "--bench").collect();
    let sizes = match words.get(2) {
        Some(size) => vec![size.parse().unwrap()],
        None => vec![5, 10, 20, 50, 100],
    };
    let asked = |method: &Method| words.get(1).is_none_or(|name| name == method.name());
    println!("method            blocks  contacts  solved    pivots        ms");
    for method in [Method::Structural, Method::Reduced]
        .into_iter()
        .filter(asked)
    {
        for &blocks in &sizes {
            row(method, blocks);
        }
    }
}

fn row(method: Method, blocks: usize) {
    // Aligned on the ground, then turned and aligned in turns: six contacts a face on average.
    let faces: Vec<usize> = (0..blocks).map(|i| 4 + 4 * (i % 2)).collect();
    let stack = experiments::stack(&faces);
    let mut solver = Lemke::new(method);
    solver.stop = Stop {
        tolerance: 1e-9,
        ..Stop::default()
    };
    let (mut pivots, mut time, mut solved) = (0, 0.0, 0);
    for problem in &stack.problems(WRENCHES, 1).unwrap() {
        let report = solver.solve(problem, &mut Solution::zeros(problem));
        solved += usize::from(report.status == Status::Solved);
        pivots += report.iterations;
        time += report.elapsed.as_secs_f64();
    }
    let mean = |sum: f64| sum / WRENCHES as f64;
    println!(
        "{:16}  {blocks:6}  {:8}  {solved:4}/{WRENCHES}  {:8.1}  {:8.3}",
        method.name(),
        stack.contacts(),
        mean(pivots as f64),
        1e3 * mean(time)
    );
}
