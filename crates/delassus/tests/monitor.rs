//! How a run ends and what it writes down: monitors against dense algebra, limits, stalls, cycles, repeatability.

mod common;

use std::time::Duration;

use common::dense::{self, Matrix};
use common::planted::{Recipe, draw, law_residual, planted};
use common::scenes::{self, Wrench, chain, conflict, one_contact, tilted_rod};
use common::{assert_finite, distance, label, solve, sweeps, variants, with_rule};
use delassus::math::{DMat3, Random};
use delassus::problem::mass::MassBlock;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::solver::{Record, Rule};
use delassus::{Fit, GaussSeidel, Law, Problem, ProblemBuilder, Solution, Solver, Status, Stop};

/// Identities between quantities of size one, a few dozen products each.
const ROUNDING: f64 = 1e-11;

fn mixture() -> Problem {
    let recipe = Recipe {
        blocks: vec![
            (Law::Equality, 3),
            (Law::FrictionCone { mu: 0.5 }, 3),
            (Law::Unilateral, 2),
            (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
            (Law::Interval { lo: -0.2, hi: 0.3 }, 2),
            (Law::FrictionBox { mu: 0.4 }, 3),
            (Law::FrictionCone { mu: 0.3 }, 2),
        ],
        sigma: (0.0, 0.2),
        ..Recipe::chain(Law::Equality, 1, 7)
    };
    planted(&recipe, 31).problem
}

#[test]
fn dual_decrease_is_exact_for_every_law_and_variant() {
    // Changing block k by Δ changes ½λᵀSλ + cᵀλ by wᵀΔ + ½ΔᵀDΔ, whatever rule chose Δ.
    let problem = mixture();
    let assembled = dense::assemble(&problem);
    let start = draw(&mut Random::new(1), problem.n_rows());
    let objective = |x: &[f64]| dense::objective(&assembled.s, &assembled.c, x);
    for variant in &variants() {
        let mut before = objective(&start);
        for count in 1..=5 {
            let (report, solution) = sweeps(variant, &problem, &start, count);
            let after = objective(&solution.lambda);
            let told = report.history[count - 1].dual_decrease;
            let what = format!("{} sweep {count}", label(variant));
            assert!((before - after - told).abs() < ROUNDING, "{what}: {told}");
            before = after;
        }
    }
}

/// r = Sλ + c.
fn residual(assembled: &dense::Assembled, lambda: &[f64]) -> Vec<f64> {
    let moved = dense::apply(&assembled.s, lambda);
    moved.iter().zip(&assembled.c).map(|(s, c)| s + c).collect()
}

#[test]
fn eta_is_the_norm_of_the_residuals_met() {
    // For equality rows r_start = (I + LD⁻¹) r^b and r_end = −LᵀD⁻¹ r^b, so |r^b| follows from either end of a
    // sweep. It vanishes with the residual and only with it.
    let problem = chain(6, 1e-3, 3);
    let assembled = dense::assemble(&problem);
    let (d, l) = dense::split(&problem, &assembled.s);
    let mut lower = d.clone();
    for (row, below) in lower.iter_mut().zip(&l) {
        for (x, y) in row.iter_mut().zip(below) {
            *x += y;
        }
    }
    let mut lambda = vec![0.0; problem.n_rows()];
    for _ in 0..6 {
        // (I + LD⁻¹) r^b = (D + L)(D⁻¹ r^b)
        let start = residual(&assembled, &lambda);
        let step = dense::solve(&lower, &start);
        let met = dense::apply(&d, &step);
        let (report, solution) = sweeps(&GaussSeidel::default(), &problem, &lambda, 1);
        assert!((report.history[0].eta - dense::norm(&met)).abs() < ROUNDING);
        let end = residual(&assembled, &solution.lambda);
        let expected = dense::apply(&dense::transposed(&l), &step);
        let expected: Vec<f64> = expected.iter().map(|x| -x).collect();
        assert!(distance(&end, &expected) < ROUNDING);
        // And ½ r_kᵀD⁻¹r_k summed is the decrease of the objective.
        let decrease = 0.5 * dense::dot(&met, &step);
        assert!((report.history[0].dual_decrease - decrease).abs() < ROUNDING);
        lambda = solution.lambda;
    }
}

#[test]
fn convex_laws_descend_at_every_sweep() {
    for law in [
        Law::Unilateral,
        Law::Interval { lo: -0.3, hi: 0.2 },
        Law::FrictionCone { mu: 0.0 },
    ] {
        let recipe = Recipe {
            masses: 2,
            ..Recipe::chain(law, 3, 6)
        };
        let planted = planted(&recipe, 5);
        for variant in variants().iter().filter(|v| v.fit(&law) == Fit::Exact) {
            let zeros = vec![0.0; planted.problem.n_rows()];
            let (report, _) = sweeps(variant, &planted.problem, &zeros, 60);
            for sweep in &report.history {
                assert!(-1e-14 < sweep.dual_decrease, "{} {sweep:?}", label(variant));
            }
        }
    }
}

#[test]
fn tolerance_zero_runs_exactly_the_sweeps_asked_for() {
    let problem = mixture();
    for variant in &variants() {
        for count in [1, 2, 9, 30] {
            let (report, solution) = sweeps(variant, &problem, &[], count);
            assert_eq!(report.iterations, count);
            assert_eq!(report.history.len(), count);
            assert_eq!(report.status, Status::IterationLimit);
            assert!(report.history.iter().all(|sweep| sweep.law.is_none()));
            // The last iterate comes back, not the best: 9 sweeps are 4 and then 5 more.
            if variant.order == Order::Forward && count == 9 {
                let (_, half) = sweeps(variant, &problem, &[], 4);
                let (_, rest) = sweeps(variant, &problem, &half.lambda, 5);
                assert!(distance(&rest.lambda, &solution.lambda) < ROUNDING);
            }
        }
    }
}

#[test]
fn no_sweeps_at_all_return_the_warm_start() {
    let problem = mixture();
    let lambda = vec![0.1; problem.n_rows()];
    let (report, solution) = sweeps(&GaussSeidel::default(), &problem, &lambda, 0);
    assert_eq!(report.iterations, 0);
    assert_eq!(report.status, Status::IterationLimit);
    assert_eq!(solution, Solution::from_lambda(&problem, lambda));
}

#[test]
fn iteration_limit_returns_an_iterate_and_its_own_residual() {
    let problem = chain(30, 0.0, 4);
    let mut solver = GaussSeidel::default();
    let mut last = f64::INFINITY;
    for iterations in [1, 5, 20, 80] {
        solver.stop = Stop {
            tolerance: 1e-12,
            sweeps: iterations,
            ..Stop::default()
        };
        let (report, solution) = solve(&mut solver, &problem);
        assert_eq!(report.status, Status::IterationLimit);
        assert_eq!(report.iterations, iterations);
        assert_eq!(
            report.residual.law,
            law_residual(&problem, &solution.lambda)
        );
        assert!(report.residual.law < last);
        last = report.residual.law;
        assert!(report.message.is_some());
    }
}

#[test]
fn time_limit_ends_a_run_after_the_sweep_in_which_it_passes() {
    let problem = chain(30, 0.0, 5);
    let mut solver = GaussSeidel::default();
    solver.stop.time = Some(Duration::ZERO);
    let (report, solution) = solve(&mut solver, &problem);
    assert_finite(&report, &solution, "time limit");
    assert_eq!(report.status, Status::TimeLimit);
    assert_eq!(report.iterations, 1);
    assert!(report.message.is_some());
    let (_, one) = sweeps(&GaussSeidel::default(), &problem, &[], 1);
    assert_eq!(solution, one);
    // A limit that is not reached changes nothing.
    solver.stop.time = Some(Duration::from_secs(3600));
    let (limited, a) = solve(&mut solver, &problem);
    let (free, b) = solve(&mut GaussSeidel::default(), &problem);
    assert_eq!(limited.status, Status::Solved);
    assert_eq!((limited.iterations, a), (free.iterations, b));
}

#[test]
fn contradictions_stall_and_say_so() {
    for law in [Law::Equality, Law::Interval { lo: -1e9, hi: 1e9 }] {
        let (report, solution) = solve(&mut GaussSeidel::default(), &conflict(law));
        assert_finite(&report, &solution, "contradiction");
        assert_eq!(report.status, Status::Stalled);
        assert!(report.message.unwrap().contains("conflict"));
        // Noticed, not merely run out of sweeps.
        assert!(report.iterations < Stop::default().sweeps);
    }
}

/// Two sides of a slot that press on a mass of 1 kg between them, each with 1 N s, though each wants `gap` m/s away from
/// it: w₁ = v + gap, w₂ = −v + gap. A sweep takes 2 gap from both impulses and changes neither residual nor η.
fn pressed_from_both_sides(gap: f64) -> (Problem, Solution) {
    let mut builder = Problem::builder();
    let mass =
        delassus::MassBlock::dense(vec![1.0]).expect("a body of 1 kg and rows of one number");
    let body = builder
        .add_mass(mass, &[0.0])
        .expect("a body of 1 kg and rows of one number");
    for side in [1.0, -1.0] {
        builder
            .add_block(Law::Unilateral, &[(body, &[side])], &[0.0], &[-gap])
            .expect("a body of 1 kg and rows of one number");
    }
    let problem = builder
        .build()
        .expect("a body of 1 kg and rows of one number");
    let solution = Solution::from_lambda(&problem, vec![1.0, 1.0]);
    (problem, solution)
}

#[test]
fn a_plateau_that_ends_within_the_sweeps_allowed_is_crossed_and_any_other_is_a_stall() {
    let run = |gap: f64, sweeps: usize| {
        let (problem, mut solution) = pressed_from_both_sides(gap);
        let mut solver = GaussSeidel::default();
        solver.stop.sweeps = sweeps;
        let report = solver.solve(&problem, &mut solution);
        (report.status, report.iterations)
    };
    // The impulses are gone after 1/(2 gap) = 10 000 sweeps, and nothing else shows it before.
    let (status, iterations) = run(5e-5, 100_000);
    assert_eq!(status, Status::Solved);
    assert!((9_000..11_000).contains(&iterations), "{iterations}");
    // Fewer are allowed: this is known long before they are used up.
    let (status, iterations) = run(5e-5, 9_000);
    assert_eq!(status, Status::Stalled);
    assert!(iterations < 6_000, "{iterations}");
    // The sides contradict each other, and the impulses grow for ever.
    let (status, iterations) = run(-5e-5, 100_000);
    assert_eq!(status, Status::Stalled);
    assert!(iterations < 6_000, "{iterations}");
}

#[test]
fn only_the_rule_known_to_diverge_diverges() {
    let mut random = Random::new(6);
    let mut diverged = 0;
    for _ in 0..12 {
        let load = Wrench::draw(&mut random);
        for scene in [scenes::block_in_corner(load), scenes::stack(2, load)] {
            let problem = scene.problem(Law::FrictionCone { mu: 0.3 }, 0.0);
            for (_, rule) in Rule::NAMES {
                let mut solver = with_rule(rule);
                solver.stop.sweeps = 2000;
                let (report, solution) = solve(&mut solver, &problem);
                assert_finite(&report, &solution, rule.name());
                if report.status == Status::Diverged {
                    assert_eq!(rule, Rule::Project, "{report}");
                    diverged += 1;
                }
            }
        }
    }
    assert!(0 < diverged);
}

#[test]
fn iso_rule_that_cycles_on_one_contact_is_stalled_and_exact_or_a_shorter_step_solves_it() {
    // The scalar tangential step makes every fixed point of `iso` a Coulomb solution, but not every sequence
    // converge: where normal and tangents are coupled strongly and friction is large, z_n and the radius μz_n
    // chase each other even on a single contact. Under-relaxation or the exact rule cures it.
    let (mut random, mut cycles) = (Random::new(18), 0);
    for _ in 0..2000 {
        let (mass, rows, g) = tilted_rod(&mut random);
        let problem = one_contact(Law::FrictionCone { mu: 0.8 }, mass, &rows, g);
        let (report, _) = solve(&mut with_rule(Rule::Iso), &problem);
        if report.status == Status::Solved {
            assert!(report.residual.law <= 1e-8);
            continue;
        }
        cycles += 1;
        assert_eq!(report.status, Status::Stalled, "{report}");
        let mut shorter = GaussSeidel {
            relax: 0.5,
            ..with_rule(Rule::Iso)
        };
        for solver in [&mut with_rule(Rule::Exact), &mut shorter] {
            let (report, _) = solve(solver, &problem);
            assert_eq!(report.status, Status::Solved, "{report}");
        }
    }
    // About one rod in a hundred, so the test has something to see and iso is still a fair default.
    assert!((1..=60).contains(&cycles), "{cycles} of 2000");
}

#[test]
fn history_has_one_line_per_sweep_and_every_residual_if_asked() {
    let problem = mixture();
    let mut solver = GaussSeidel::default();
    solver.stop.record = Record::Residuals;
    let (full, first) = solve(&mut solver, &problem);
    solver.stop.record = Record::Sweeps;
    let (short, second) = solve(&mut solver, &problem);
    assert_eq!(first, second, "recording must not change the run");
    for report in [&full, &short] {
        assert_eq!(report.history.len(), report.iterations);
        for (i, sweep) in report.history.iter().enumerate() {
            assert_eq!(sweep.sweep, i + 1);
            assert!(0.0 <= sweep.elapsed_s);
        }
        let last = report.history[report.iterations - 1].law;
        assert_eq!(last, Some(report.residual.law));
    }
    assert!(full.history.iter().all(|sweep| sweep.law.is_some()));
    assert!(short.history.iter().any(|sweep| sweep.law.is_none()));
    for (a, b) in full.history.iter().zip(&short.history) {
        assert_eq!((a.eta, a.dual_decrease), (b.eta, b.dual_decrease));
        assert!(b.law.is_none() || a.law == b.law);
    }
}

#[test]
fn same_input_gives_the_same_bits() {
    let problem = mixture();
    for variant in &variants() {
        let mut solver = variant.clone();
        let (first, a) = solve(&mut solver, &problem);
        // Once more with the same solver, whose work arrays are now used, and with a fresh one.
        let (second, b) = solve(&mut solver, &problem);
        let (_, c) = solve(&mut variant.clone(), &problem);
        assert_eq!(a, b, "{}", label(variant));
        assert_eq!(a, c, "{}", label(variant));
        assert_eq!(first.iterations, second.iterations);
        assert_eq!(first.residual, second.residual);
    }
}

#[test]
fn work_left_by_another_problem_changes_nothing() {
    let (large, small) = (chain(20, 0.0, 1), mixture());
    let mut used = with_rule(Rule::Exact);
    solve(&mut used, &large);
    let (_, again) = solve(&mut used, &small);
    let (_, fresh) = solve(&mut with_rule(Rule::Exact), &small);
    assert_eq!(again, fresh);
}

#[test]
fn shuffled_order_depends_on_its_seed_and_nothing_else() {
    let problem = mixture();
    let run = |seed: u64, order: Order| {
        let solver = GaussSeidel {
            seed,
            order,
            ..GaussSeidel::default()
        };
        sweeps(&solver, &problem, &[], 3).1
    };
    assert_eq!(run(7, Order::Shuffle), run(7, Order::Shuffle));
    assert_ne!(run(7, Order::Shuffle), run(8, Order::Shuffle));
    for order in [Order::Forward, Order::Backward, Order::Symmetric] {
        assert_eq!(run(7, order), run(8, order));
    }
    assert_ne!(run(7, Order::Forward), run(7, Order::Backward));
    assert_ne!(run(7, Order::Forward), run(7, Order::Symmetric));
}

/// The factor by which η falls per sweep, measured between two sweeps: late enough for one mode to be left,
/// early enough to stay above rounding.
fn measured_rate(problem: &Problem, relax: f64, (from, to): (usize, usize)) -> f64 {
    let solver = GaussSeidel {
        relax,
        ..GaussSeidel::default()
    };
    let (report, _) = sweeps(&solver, problem, &[], to);
    let eta = |k: usize| report.history[k - 1].eta;
    (eta(to) / eta(from)).powf(1.0 / (to - from) as f64)
}

#[test]
fn chains_converge_at_the_square_of_the_jacobi_rate() {
    // Block tridiagonal S is consistently ordered: ρ_GS = ρ_J², and ω* = 2/(1 + √(1 − ρ_J²)) gives ω* − 1.
    let problem = chain(6, 1e-3, 1);
    let assembled = dense::assemble(&problem);
    let (d, _) = dense::split(&problem, &assembled.s);
    let n = assembled.s.len();
    let scaled = dense::product(&dense::inverse(&d), &assembled.s);
    let jacobi: Matrix = (0..n)
        .map(|i| {
            let entry = |j: usize| f64::from(u8::from(i == j)) - scaled[i][j];
            (0..n).map(entry).collect()
        })
        .collect();
    // Eigenvalues come in pairs ±ρ, so the power method is run on the square.
    let rho = dense::spectral_radius(&dense::product(&jacobi, &jacobi), 3000).sqrt();
    let plain = measured_rate(&problem, 1.0, (30, 80));
    assert!((plain - rho * rho).abs() < 2e-3, "{plain} {}", rho * rho);
    let best = 2.0 / (1.0 + (1.0 - rho * rho).sqrt());
    let relaxed = measured_rate(&problem, best, (8, 20));
    // At ω* the eigenvalue is defective, so the measured modulus approaches ω* − 1 only like k^(1/k).
    assert!((relaxed - (best - 1.0)).abs() < 0.03, "{relaxed} {best}");
    assert!(relaxed < 0.8 * plain);
}

/// A row that nothing moves and that asks for a velocity cannot be met. The sweeps have nothing to change there,
/// so η is zero; a rule that is approximate on the contact beside it must still not call this solved.
#[test]
fn approximate_rules_do_not_hide_a_violated_row_they_obey() {
    let mut builder = Problem::builder();
    let ball = delassus::MassBlock::rigid(1.0, delassus::math::DMat3::IDENTITY).unwrap();
    let body = builder
        .add_mass(ball, &[1.0, 0.0, -1.0, 0.0, 0.0, 0.0])
        .unwrap();
    let axes = delassus::math::DVec3::AXES;
    let frame = [axes[2], axes[0], axes[1]];
    let rows = delassus::problem::jacobian::point_rows(frame, -axes[2], 1.0);
    let cone = Law::FrictionCone { mu: 0.5 };
    builder
        .add_block(cone, &[(body, &rows)], &[0.0; 3], &[0.0; 3])
        .unwrap();
    builder
        .add_block(Law::Equality, &[], &[0.0], &[1.0])
        .unwrap();
    let problem = builder.build().unwrap();
    for rule in [
        Rule::Box,
        Rule::Ccp,
        Rule::Nonlinear,
        Rule::Project,
        Rule::Iso,
        Rule::Exact,
    ] {
        let mut solution = Solution::zeros(&problem);
        let report = GaussSeidel {
            rule,
            ..Default::default()
        }
        .solve(&problem, &mut solution);
        assert_eq!(report.status, Status::Stalled, "{rule:?}");
        assert!((report.residual.law - 1.0).abs() < 1e-12);
    }
}

/// A unit mass at a speed, with one row along it that wants another.
fn carried(speed: f64, wanted: f64) -> Problem {
    let mut builder = ProblemBuilder::default();
    let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).expect("a unit mass");
    let momentum = [speed, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mass = builder.add_mass(mass, &momentum).expect("it moves");
    let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    builder
        .add_block(Law::Equality, &[(mass, &row)], &[0.0], &[wanted])
        .expect("one row");
    builder.build().expect("a problem")
}

#[test]
fn the_usual_tolerance_follows_the_speeds_down_to_what_rounding_can_tell() {
    let tolerance = |speed, wanted| Stop::for_problem(&carried(speed, wanted)).tolerance;
    // 1e-10 of c = v − q.
    assert_eq!(tolerance(3.0, 1.0), 1e-10 * 2.0);
    // Large velocities that cancel: what is left of them is rounding, 1e-14 of both together.
    assert_eq!(tolerance(1e6, 1e6), 1e-14 * 2e6);
    // Nothing moves, and a positive tolerance is asked for all the same.
    assert_eq!(tolerance(0.0, 0.0), 1e-14 * 1e-12);
}
