//! Slips of the chain notes [Chain]: each test does what is printed, shows what goes wrong with it, and shows the
//! library right in the same situation. `crates/delassus/docs/errata.md` lists them by key.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::dense::{self, Assembled};
use common::{distance, scenes};
use delassus::chains::{Chain, Chains, Integrator, Solve};
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::solver::sweep::jacobi::Scheme;
use delassus::world::{Body, Gyroscopic};
use delassus::{GaussSeidel, Jacobi, Problem, Solution, Solver, Status, WorldBuilder, gallery};

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
        (solver.stop.tolerance, solver.stop.sweeps) = (0.0, 1);
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

/// A free body with this spin after a second, by steps of 1 ms.
fn free(inertia: DMat3, spin: DVec3, orientation: DQuat, gyroscopic: Gyroscopic) -> (DQuat, DVec3) {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    builder.settings.gyroscopic = gyroscopic;
    builder
        .add_body(Body {
            inertia,
            spin,
            orientation,
            ..Body::default()
        })
        .unwrap();
    let mut world = builder.build().unwrap();
    for _ in 0..1000 {
        world.step(1e-3, &mut GaussSeidel::default()).unwrap();
    }
    let probe = world.bodies().probe(DVec3::ZERO);
    (world.bodies().orientation[0], probe.angular_momentum)
}

#[test]
fn spin_of_the_world_multiplied_from_the_wrong_side_turns_about_another_axis() {
    // errata Chain-turn: q̇ = ½ q ⊗ (0, ω) with ω in world axes; that is the formula for body axes.
    let (start, spin) = (DQuat::from_rotation_x(1.0), DVec3::new(0.0, 0.0, 1.2));
    let right = DQuat::from_rotation_z(1.2) * start;
    let mut printed = start;
    for _ in 0..1000 {
        let rate = printed * DQuat::from_vec4((0.5e-3 * spin).extend(0.0));
        printed = (printed + rate).normalize();
    }
    assert!(0.5 < printed.angle_between(right));
    let (ours, _) = free(DMat3::IDENTITY, spin, start, Gyroscopic::default());
    assert!(ours.angle_between(right) < 1e-6);
}

#[test]
fn without_the_gyroscopic_torque_a_body_that_is_no_sphere_loses_its_momentum() {
    // errata Chain-10: I dω/dt = τ, without ω × Iω.
    let inertia = DMat3::from_diagonal(DVec3::new(1.0, 2.0, 3.0));
    let spin = DVec3::new(0.8, 3.0, 0.6);
    let momentum = inertia * spin;
    let lost = |kind| {
        let (_, after) = free(inertia, spin, DQuat::IDENTITY, kind);
        (after - momentum).length() / momentum.length()
    };
    let (printed, ours) = (lost(Gyroscopic::Off), lost(Gyroscopic::default()));
    assert!(0.2 < printed && ours < 5e-3, "{printed} {ours}");
}

#[test]
fn drift_is_an_error_of_the_step_and_not_of_rounding() {
    // errata Chain-drift: joints open "because of floating point". They open as much in exact arithmetic, and half as
    // much with half the step.
    let opening = |substeps| {
        let chain = Chain::straight(DVec3::ZERO, DVec3::X, 40, 1.0, 0.05);
        let mut chains = Chains::new(DVec3::new(0.0, 0.0, -9.81), &[chain]).unwrap();
        let mut widest = 0.0_f64;
        for _ in 0..30 {
            chains.step(1.0 / 60.0, substeps, Integrator::Spook(Solve::Exact));
            widest = widest.max(chains.measure().opening);
        }
        widest
    };
    let ratios = [4, 8, 16].map(|n| opening(n) / opening(2 * n));
    eprintln!("openings over openings at half the step: {ratios:?}");
    assert!(
        ratios.iter().all(|ratio| (1.6..4.4).contains(ratio)),
        "{ratios:?}"
    );
    assert!(1e-9 < opening(32), "far above rounding");
}

#[test]
fn velocity_changes_that_are_never_added_let_the_chain_fall() {
    // errata Chain-update: the changes of velocity stay in their buffers, and poses are moved without them.
    let gravity = DVec3::new(0.0, 0.0, -9.81);
    let chain = Chain::straight(DVec3::ZERO, DVec3::NEG_Z, 10, 1.0, 0.05);
    let start = chain.beads[9].position;
    let mut chains = Chains::new(gravity, &[chain]).unwrap();
    let (mut velocity, mut printed) = (DVec3::ZERO, start);
    for _ in 0..60 {
        chains.step(
            1.0 / 60.0,
            1,
            Integrator::Spook(Solve::Jacobi { sweeps: 200 }),
        );
        velocity += gravity / 60.0;
        printed += velocity / 60.0;
    }
    let ours = chains.bead(0, 9).unwrap().position;
    assert!(4.0 < (printed - start).length());
    assert!((ours - start).length() < 0.05, "{ours}");
}
