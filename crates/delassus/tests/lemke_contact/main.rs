//! Lemke's algorithm on contacts without the matrix: the structural and the reduced method.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod lloyd;

use std::time::Instant;

use delassus::solver::lemke::Pivot;
use delassus::solver::lemke::contact::ContactLcp;
use delassus::solver::lemke::structural::{Options, Outcome, Work};
use delassus::solver::lemke::{reduced, structural};
use delassus::{Problem, Residual, Solution, Status};

type Method = fn(&ContactLcp, &Options<'_>, &mut Work) -> Outcome;
const METHODS: [(&str, Method); 2] = [
    ("structural", structural::solve),
    ("reduced", reduced::solve),
];
const PIVOTS: [Pivot; 2] = [Pivot::Big, Pivot::Lex];

fn options(pivot: Pivot) -> Options<'static> {
    Options {
        pivot,
        cover: &[],
        pivots: 20_000,
        deadline: None,
    }
}

fn solve(problem: &Problem, method: Method, pivot: Pivot) -> (Outcome, Solution) {
    let lcp = ContactLcp::new(problem, 8).unwrap();
    let mut work = Work::default();
    let outcome = method(&lcp, &options(pivot), &mut work);
    let mut lambda = vec![0.0; problem.n_rows()];
    if outcome.status == Status::Solved {
        work.impulses(&lcp, &mut lambda);
    }
    (outcome, Solution::from_lambda(problem, lambda))
}

#[test]
fn every_published_experiment_is_solved_by_both_methods_and_rules() {
    let (mut worst, mut worst_law): (f64, f64) = (0.0, 0.0);
    let mut failures = Vec::new();
    for geometry in lloyd::all() {
        for (name, method) in METHODS {
            for pivot in PIVOTS {
                let mut pivots = 0;
                for load in 0..geometry.loads() {
                    let problem = geometry.problem(load, lloyd::facets, 0.0);
                    let (outcome, solution) = solve(&problem, method, pivot);
                    let law = Residual::of(&problem, &solution).relative;
                    if outcome.status != Status::Solved
                        || !(law <= 1e-9)
                        || !(outcome.residual <= 1e-9)
                    {
                        failures.push(format!(
                            "{} {load} {name} {pivot:?}: {outcome:?} {law:e}",
                            geometry.name
                        ));
                    }
                    worst = worst.max(outcome.residual);
                    worst_law = worst_law.max(law);
                    pivots += outcome.pivots;
                }
                eprintln!(
                    "{} {name} {pivot:?} {}",
                    geometry.name,
                    pivots as f64 / 20.0
                );
            }
        }
    }
    eprintln!("worst {worst:e} {worst_law:e}");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
#[ignore = "timing"]
fn timing() {
    for geometry in lloyd::all() {
        let problems: Vec<_> = (0..geometry.loads())
            .map(|k| geometry.problem(k, lloyd::facets, 0.0))
            .collect();
        let lcps: Vec<_> = problems
            .iter()
            .map(|p| ContactLcp::new(p, 8).unwrap())
            .collect();
        let mut work = Work::default();
        for (name, method) in METHODS {
            let mut best = vec![f64::INFINITY; lcps.len()];
            let mut pivots = 0;
            for _ in 0..200 {
                pivots = 0;
                for (lcp, best) in lcps.iter().zip(&mut best) {
                    let start = Instant::now();
                    let outcome = method(lcp, &options(Pivot::Big), &mut work);
                    *best = best.min(start.elapsed().as_secs_f64());
                    pivots += outcome.pivots;
                }
            }
            let mean = best.iter().sum::<f64>() / best.len() as f64;
            eprintln!(
                "{:20} {name:10} {:8.2} us {:6.1} pivots {:6.0} ns/pivot",
                geometry.name,
                1e6 * mean,
                pivots as f64 / 20.0,
                1e9 * mean / (pivots as f64 / 20.0)
            );
        }
        let mut best = f64::INFINITY;
        for _ in 0..50 {
            let start = Instant::now();
            let lcp = ContactLcp::new(&problems[0], 8).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            std::hint::black_box(lcp.n_pairs());
        }
        eprintln!("{:20} build {:8.2} us", geometry.name, 1e6 * best);
    }
}

#[test]
#[ignore = "timing"]
fn spin() {
    let geometry = lloyd::all()
        .into_iter()
        .find(|g| g.name == "peg32")
        .unwrap();
    let method = METHODS[usize::from(std::env::var("REDUCED").is_ok())].1;
    let lcps: Vec<_> = (0..20)
        .map(|k| ContactLcp::new(&geometry.problem(k, lloyd::facets, 0.0), 8).unwrap())
        .collect();
    let mut work = Work::default();
    for _ in 0..std::env::var("SPIN").map_or(2000, |n| n.parse().unwrap()) {
        for lcp in &lcps {
            std::hint::black_box(method(lcp, &options(Pivot::Big), &mut work));
        }
    }
}
