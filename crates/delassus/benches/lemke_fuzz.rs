//! Random contact problems, half of them degenerate by construction, by every method: how each of them ends.
//!
//! `cargo bench --bench lemke_fuzz`, or with a number of problems behind `--`. A false answer or a number that is not
//! finite stops it. What neither method solves alone goes to the driver, and what that does not solve is tried for a
//! proof that no answer exists.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[allow(dead_code)]
#[path = "../tests/lemke_contact/scenes.rs"]
mod scenes;

use std::collections::BTreeMap;

use delassus::solver::pivot::contact::{
    ContactLcp, PivotOptions, PivotOutcome, PivotWork, reduced, structural,
};
use delassus::solver::pivot::{self, Lcp, LcpOptions, Lemke, Method, Pivot};
use delassus::{Law, Problem, Residual, Solution, Solver, Status, Stop};

type Run = fn(&ContactLcp, &PivotOptions<'_>, &mut PivotWork) -> PivotOutcome;
const METHODS: [(&str, Run); 2] = [("structural", structural), ("reduced", reduced)];

/// Whether an answer is one; panics where a method says so and it is none.
fn check(problem: &Problem, lambda: Vec<f64>, solved: bool, what: &str) {
    assert!(lambda.iter().all(|x| x.is_finite()), "{what}");
    if solved {
        let residual = Residual::of(problem, &Solution::from_lambda(problem, lambda));
        let relative = residual.law / problem.velocity_scale().max(1e-3);
        assert!(relative <= 1e-6, "{what}: {residual:?}");
    }
}

/// How `lemke` ends where both methods have failed, with a proof where there is none to find.
fn leftover(problem: &Problem, seed: u64) -> String {
    let mut solver = Lemke::new(Method::Best);
    solver.stop = Stop {
        tolerance: 1e-6 * problem.velocity_scale().max(1e-3),
        ..Stop::default()
    };
    let mut solution = Solution::zeros(problem);
    let report = solver.solve(problem, &mut solution);
    let solved = report.status == Status::Solved;
    check(problem, solution.lambda, solved, &format!("{seed} lemke"));
    if solved {
        return "solved by lemke".to_owned();
    }
    let answer = pivot::solve(&Lcp::of_problem(problem, 8), &LcpOptions::default());
    if answer.farkas.is_some() {
        return "no answer exists, proved".to_owned();
    }
    let compliant = problem.blocks().iter().all(|block| {
        let form = problem.form();
        let delassus::problem::Form::Primal(primal) = form else {
            return false;
        };
        let pressed = !matches!(block.law, Law::Equality | Law::Interval { .. });
        !pressed || 0.0 < primal.sigma()[block.start]
    });
    let kind = if compliant { ", compliant" } else { "" };
    format!("{}, not proved{kind}", report.status.name())
}

fn main() {
    let words: Vec<String> = std::env::args().filter(|word| word != "--bench").collect();
    let count: u64 = words.get(1).map_or(100_000, |n| n.parse().unwrap());
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..count {
        let problem = scenes::fuzz(seed);
        let lcp = ContactLcp::new(&problem, 8).unwrap();
        let mut solved = false;
        for (name, run) in METHODS {
            let options = PivotOptions {
                pivot: [Pivot::Big, Pivot::Lex][(seed / 2 % 2) as usize],
                cover: &[],
                pivots: 2000,
                deadline: None,
            };
            let mut work = PivotWork::default();
            let outcome = run(&lcp, &options, &mut work);
            let mut lambda = vec![0.0; problem.n_rows()];
            work.impulses(&lcp, &mut lambda);
            let good = outcome.status == Status::Solved;
            check(&problem, lambda, good, &format!("{seed} {name}"));
            solved |= good;
            let end = if outcome.cover_limit {
                "cover limit"
            } else {
                outcome.status.name()
            };
            *counts.entry(format!("{name}: {end}")).or_default() += 1;
        }
        if !solved {
            let end = leftover(&problem, seed);
            *counts
                .entry(format!("solved by neither, then: {end}"))
                .or_default() += 1;
        }
    }
    println!("{count} problems");
    for (end, count) in counts {
        println!("{count:8}  {end}");
    }
}
