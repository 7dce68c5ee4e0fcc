//! Shared by the integration tests: planted problems, small scenes, dense algebra and the list of variants.
//! Everything goes through the public interface, so that a test can only see what a user can.
#![allow(
    dead_code,
    reason = "every test file compiles its own copy and none uses all of it"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

pub(crate) mod dense;
pub(crate) mod planted;
pub(crate) mod scenes;

use delassus::problem::Form;
use delassus::problem::place::At;
use delassus::solver::Rule;
use delassus::solver::sweep::gauss_seidel::{Order, SweepKind};
use delassus::{BlockId, GaussSeidel, Law, Problem, Report, Solution, Solver, Stop};

/// Largest absolute difference of two vectors; a not-a-number on either side is infinite.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (x, y)| {
        let d = (x - y).abs();
        if d.is_nan() { f64::INFINITY } else { d.max(m) }
    })
}

/// Every number of an answer and of its report is finite.
pub(crate) fn assert_finite(report: &Report, solution: &Solution, what: &str) {
    let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
    assert!(finite(&solution.v) && finite(&solution.lambda), "{what}");
    let r = &report.residual;
    let numbers = [r.law, r.law_rms, r.relative, r.momentum, r.feasibility];
    assert!(finite(&numbers), "{what}: {r:?}");
    assert!(r.complementarity.is_finite(), "{what}: {r:?}");
    for sweep in &report.history {
        assert!(!sweep.eta.is_nan() && !sweep.dual_decrease.is_nan());
    }
}

/// A solver with one rule and everything else as it comes.
pub(crate) fn with_rule(rule: Rule) -> GaussSeidel {
    GaussSeidel {
        rule,
        ..GaussSeidel::default()
    }
}

/// Solves from a cold start; whatever comes of it is finite.
pub(crate) fn solve(solver: &mut impl Solver, problem: &Problem) -> (Report, Solution) {
    let mut solution = Solution::zeros(problem);
    let report = solver.solve(problem, &mut solution);
    assert_finite(&report, &solution, &format!("{report}"));
    (report, solution)
}

/// Runs exactly `sweeps` sweeps from the given impulses and returns the iterate.
pub(crate) fn sweeps(
    solver: &GaussSeidel,
    problem: &Problem,
    lambda: &[f64],
    sweeps: usize,
) -> (Report, Solution) {
    let mut solver = solver.clone();
    solver.stop = Stop {
        tolerance: 0.0,
        sweeps,
        ..Stop::default()
    };
    let mut solution = Solution::from_lambda(problem, lambda.to_vec());
    let report = solver.solve(problem, &mut solution);
    (report, solution)
}

/// Every variant of Gauss-Seidel: rule × sweep × order × relaxation.
pub(crate) fn variants() -> Vec<GaussSeidel> {
    let mut all = Vec::new();
    for (_, rule) in Rule::NAMES {
        for (_, sweep) in SweepKind::NAMES {
            for (_, order) in Order::NAMES {
                for relax in [0.7, 1.0, 1.3] {
                    all.push(GaussSeidel {
                        rule,
                        sweep,
                        order,
                        relax,
                        ..GaussSeidel::default()
                    });
                }
            }
        }
    }
    all
}

/// How a variant would be typed, for messages.
pub(crate) fn label(solver: &GaussSeidel) -> String {
    let options = solver.options();
    let parts: Vec<String> = options.iter().map(|(k, v)| format!("{k}={v}")).collect();
    parts.join(",")
}

/// The same masses and rows again, every block written `copies` times under the law `change` gives it.
pub(crate) fn rebuilt(problem: &Problem, copies: usize, change: impl Fn(Law) -> Law) -> Problem {
    let Form::Primal(primal) = problem.form() else {
        panic!("only a primal problem can be rebuilt");
    };
    let mut builder = Problem::builder();
    let mut start = 0;
    for mass in primal.mass() {
        let end = start + mass.dim();
        builder
            .add_mass(mass.clone(), &primal.p()[start..end])
            .unwrap();
        start = end;
    }
    for (k, block) in problem.blocks().iter().enumerate() {
        let places: Vec<At<'_>> = primal.places(BlockId(k as u32)).collect();
        let rows = block.rows();
        for _ in 0..copies {
            let (sigma, q) = (&primal.sigma()[rows.clone()], &primal.q()[rows.clone()]);
            let law = change(block.law);
            builder.add_block_at(law, &places, sigma, q).unwrap();
        }
    }
    builder.build().unwrap()
}

/// Row velocities of an answer.
pub(crate) fn row_velocities(problem: &Problem, solution: &Solution) -> Vec<f64> {
    let mut w = vec![0.0; problem.n_rows()];
    problem.row_velocity(&solution.v, &solution.lambda, &mut w);
    w
}
