//! Lemke on the peg of 32 contacts with 20 loads, by the three methods: pivots and best time per solve.
//!
//! `cargo bench --bench lemke_peg`, or with the name of a method, a number of contacts and of repeats behind `--` for
//! a profiler to look at one of them alone.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use delassus::gallery::experiments;
use delassus::solver::pivot::{Lemke, Method};
use delassus::{Solution, Solver, Status, Stop};

fn main() {
    let words: Vec<String> = std::env::args().filter(|word| word != "--bench").collect();
    let number = |i: usize, default: usize| words.get(i).map_or(default, |n| n.parse().unwrap());
    let (contacts, repeats) = (number(2, 32), number(3, 50));
    let problems = experiments::peg(contacts).problems(20, 1).unwrap();
    let methods = [Method::Standard, Method::Structural, Method::Reduced];
    let asked = |method: &Method| words.get(1).is_none_or(|name| name == method.name());
    for method in methods.into_iter().filter(asked) {
        let mut solver = Lemke::new(method);
        solver.stop = Stop {
            tolerance: 1e-9,
            ..Stop::default()
        };
        let (mut pivots, mut time) = (0, 0.0);
        for problem in &problems {
            let mut best = f64::INFINITY;
            for _ in 0..repeats {
                let report = solver.solve(problem, &mut Solution::zeros(problem));
                assert_eq!(report.status, Status::Solved);
                best = best.min(report.elapsed.as_secs_f64());
                pivots += report.iterations;
            }
            time += best;
        }
        let per = (problems.len() * repeats) as f64;
        let mean = 1e6 * time / problems.len() as f64;
        println!(
            "{:16}  {:6.1} pivots  {mean:8.2} µs",
            method.name(),
            pivots as f64 / per
        );
    }
}
