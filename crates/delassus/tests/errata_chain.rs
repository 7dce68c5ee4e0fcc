//! Slips of the chain notes [Chain]: each test does what is printed, shows what goes wrong with it, and shows the
//! library right in the same situation. `docs/errata.md` lists them by key.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::dense::{self, Assembled};
use common::{distance, scenes};
use delassus::solver::jacobi::Scheme;
use delassus::{Jacobi, Problem, Solution, Solver, Status, gallery};

/// λ⁺ = λ − D⁻¹(G v − q + Σλ) for all blocks from one v, as printed in (37), in the signs of the library.
fn printed_step(problem: &Problem, a: &Assembled, v: &[f64], lambda: &mut [f64]) {
    let gv = dense::apply(&a.g, v);
    let free = dense::apply(&a.g, &a.free_velocity);
    for block in problem.blocks() {
        let d: dense::Matrix = block
            .rows()
            .map(|i| a.s[i][block.rows()].to_vec())
            .collect();
        // c = G v¹ − q, so q = G v¹ − c; joints are rigid here.
        let r: Vec<f64> = block.rows().map(|i| gv[i] - free[i] + a.c[i]).collect();
        for (i, z) in block.rows().zip(dense::solve(&d, &r)) {
            lambda[i] -= z;
        }
    }
}

#[test]
fn warm_start_with_cleared_velocity_changes_is_as_bad_as_a_cold_one() {
    // errata Chain-warm: the multipliers are kept from the last step, the velocity changes are cleared. The first
    // λ-pass then corrects for impulses that are already there.
    let problem = gallery::build("chain:40").unwrap();
    let a = dense::assemble(&problem);
    let minus_c: Vec<f64> = a.c.iter().map(|c| -c).collect();
    let exact = dense::solve(&a.s, &minus_c);
    let size = dense::norm(&exact);
    let error = |lambda: &[f64]| {
        let off: Vec<f64> = lambda.iter().zip(&exact).map(|(a, b)| a - b).collect();
        dense::norm(&off) / size
    };
    let (mut warm, mut cold) = (exact.clone(), vec![0.0; exact.len()]);
    printed_step(&problem, &a, &a.free_velocity, &mut warm);
    printed_step(&problem, &a, &a.free_velocity, &mut cold);
    let (warm, cold) = (error(&warm), error(&cold));
    assert!(0.1 < warm, "printed warm start: {warm}, cold {cold}");
    // Ours starts from the velocity of the impulses and stays at the answer.
    for (_, scheme) in Scheme::NAMES {
        let mut solver = Jacobi {
            scheme,
            ..Jacobi::default()
        };
        (solver.stop.tolerance, solver.stop.iterations) = (0.0, 1);
        let mut solution = Solution::from_lambda(&problem, exact.clone());
        solver.solve(&problem, &mut solution);
        assert!(error(&solution.lambda) < 1e-9, "{scheme:?}");
    }
}

#[test]
fn half_as_fast_as_gauss_seidel_is_true_of_chains_only() {
    // errata Chain-rate: ρ_GS = ρ_J² on chains; where a body carries more blocks the printed step may diverge.
    let star = scenes::star(16, 20.0);
    let chain = scenes::chain(6, 0.0, 1);
    let radius = |problem: &Problem| {
        let a = dense::assemble(problem);
        let (d, _) = dense::split(problem, &a.s);
        let inverse = dense::inverse(&d);
        let n = a.s.len();
        let step = dense::product(&inverse, &a.s);
        let matrix = (0..n)
            .map(|i| (0..n).map(|j| f64::from(i == j) - step[i][j]).collect())
            .collect();
        dense::spectral_radius(&matrix, 4001)
    };
    assert!(radius(&chain) < 1.0);
    assert!(1.5 < radius(&star));
    let solve = |scheme, problem: &Problem| {
        let mut solver = Jacobi {
            scheme,
            ..Jacobi::default()
        };
        let mut solution = Solution::zeros(problem);
        (solver.solve(problem, &mut solution).status, solution)
    };
    assert_eq!(solve(Scheme::Plain, &chain).0, Status::Solved);
    assert_eq!(solve(Scheme::Plain, &star).0, Status::Diverged);
    assert_eq!(solve(Scheme::Split, &star).0, Status::Solved);
    let (split, plain) = (solve(Scheme::Split, &chain), solve(Scheme::Plain, &chain));
    assert!(distance(&split.1.v, &plain.1.v) < 1e-6);
}
