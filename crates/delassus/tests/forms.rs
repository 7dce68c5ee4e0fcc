//! The same answer whatever the form: primal or dual, carried velocities or carried residuals, two bodies or
//! many, rows that repeat or contradict each other.

mod common;

use common::planted::{Recipe, draw, planted};
use common::scenes::{self, Wrench, ball, conflict};
use common::{assert_finite, distance, label, rebuilt, solve, sweeps, variants, with_rule};
use delassus::math::Random;
use delassus::problem::delassus::BlockMatrix;
use delassus::problem::{Form, Problem};
use delassus::solver::Rule;
use delassus::solver::sweep::gauss_seidel::{Order, SweepKind};
use delassus::{Fit, GaussSeidel, Law, Residual, Solution, Solver, Status, Stop};

/// Law residual to reach [m/s], as in `planted.rs`.
const LAW: f64 = 1e-10;
/// Two ways to add up the same few products differ by rounding; a dozen sweeps do not amplify it beyond this.
const ROUNDING: f64 = 1e-12;
/// Residual times condition number of these problems [m/s].
const VELOCITY: f64 = 1e-7;

fn strict(rule: Rule) -> GaussSeidel {
    GaussSeidel {
        stop: Stop {
            tolerance: LAW,
            sweeps: 20_000,
            ..Stop::default()
        },
        ..with_rule(rule)
    }
}

/// Every law in one problem, between rigid bodies.
fn mixture() -> Vec<(Law, usize)> {
    vec![
        (Law::Equality, 3),
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::Unilateral, 2),
        (Law::FrictionCone { mu: 0.3 }, 2),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::Interval { lo: -0.2, hi: 0.3 }, 1),
        (Law::FrictionBox { mu: 0.4 }, 3),
        (Law::EllipticCone { mu: [0.0, 0.4] }, 3),
    ]
}

#[test]
fn carried_residuals_give_the_iterates_of_carried_velocities() {
    // [GS11 Alg 2.1] against [GS11 Alg 2.2]: the same splitting, so the same numbers sweep by sweep.
    let recipe = Recipe {
        blocks: mixture(),
        sigma: (0.0, 0.2),
        ..Recipe::chain(Law::Equality, 1, 8)
    };
    let planted = planted(&recipe, 11);
    let warm = draw(&mut Random::new(5), planted.problem.n_rows());
    for local in variants().iter().filter(|v| v.sweep == SweepKind::Local) {
        let residual = GaussSeidel {
            sweep: SweepKind::Residual,
            ..local.clone()
        };
        for count in 1..=12 {
            let (first, a) = sweeps(local, &planted.problem, &warm, count);
            let (second, b) = sweeps(&residual, &planted.problem, &warm, count);
            let off = distance(&a.lambda, &b.lambda).max(distance(&a.v, &b.v));
            assert!(off <= ROUNDING, "{} sweep {count}: {off:e}", label(local));
            let (first, second) = (first.history[count - 1], second.history[count - 1]);
            assert!((first.eta - second.eta).abs() <= ROUNDING);
            assert!((first.dual_decrease - second.dual_decrease).abs() <= ROUNDING);
        }
    }
}

#[test]
fn dual_form_gives_the_iterates_of_the_primal_form() {
    let recipe = Recipe {
        blocks: mixture(),
        mixed: true,
        sigma: (0.05, 0.2),
        ..Recipe::chain(Law::Equality, 1, 8)
    };
    let planted = planted(&recipe, 12);
    let dual = planted.problem.to_dual();
    assert!(matches!(dual.form(), Form::Dual(_)));
    let warm = draw(&mut Random::new(6), dual.n_rows());
    for variant in &variants() {
        for count in 1..=8 {
            let (_, a) = sweeps(variant, &planted.problem, &warm, count);
            let (_, b) = sweeps(variant, &dual, &warm, count);
            let off = distance(&a.lambda, &b.lambda);
            assert!(off <= ROUNDING, "{} sweep {count}: {off:e}", label(variant));
            assert!(b.v.is_empty());
        }
    }
}

#[test]
fn assembled_delassus_matrix_is_the_definition() {
    // S = G M⁻¹ Gᵀ + Σ against plain elimination, with dense and rigid masses and three masses per block.
    let recipe = Recipe {
        blocks: mixture(),
        touches: 3,
        mixed: true,
        sigma: (0.0, 0.5),
        ..Recipe::chain(Law::Equality, 1, 8)
    };
    let planted = planted(&recipe, 13);
    let assembled = common::dense::assemble(&planted.problem);
    let flat: Vec<f64> = assembled.s.concat();
    assert!(distance(&planted.problem.delassus_dense(), &flat) <= ROUNDING);
    assert!(distance(planted.problem.c(), &assembled.c) <= ROUNDING);
    let diagonals = planted.problem.diagonal_blocks();
    for (k, block) in planted.problem.blocks().iter().enumerate() {
        let expected: Vec<f64> = block
            .rows()
            .flat_map(|i| assembled.s[i][block.rows()].to_vec())
            .collect();
        assert!(distance(diagonals.block(k), &expected) <= ROUNDING);
    }
}

#[test]
fn blocks_on_many_masses_of_both_kinds_are_solved() {
    for touches in [1, 3, 5] {
        for rule in [Rule::Iso, Rule::Exact] {
            for seed in 0..6 {
                let recipe = Recipe {
                    blocks: mixture(),
                    touches,
                    masses: 9,
                    mixed: true,
                    sigma: (0.05, 0.2),
                };
                let planted = planted(&recipe, seed);
                let (report, solution) = solve(&mut strict(rule), &planted.problem);
                assert_finite(&report, &solution, "many masses");
                assert_eq!(
                    report.status,
                    Status::Solved,
                    "{touches} {seed} {rule:?}: {report}"
                );
                assert!(report.residual.law <= LAW);
            }
        }
    }
}

#[test]
fn rows_that_touch_no_mass_neither_move_anything_nor_break_anything() {
    // A zero diagonal block: laws that hold at once (q = 0, or slack) are met, the others are reported.
    let laws = [
        (Law::Equality, 2),
        (Law::Unilateral, 1),
        (Law::Interval { lo: -1.0, hi: 1.0 }, 1),
        (Law::FrictionBox { mu: 0.5 }, 3),
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::FrictionCone { mu: 0.5 }, 2),
        (Law::EllipticCone { mu: [0.5, 0.2] }, 3),
    ];
    for (law, rows) in laws {
        for (wanted, met) in [(0.0, true), (1.0, false)] {
            if let (Law::Interval { .. }, false) = (law, met) {
                // A bounded row gives way: w = −1 is met at the upper bound, so it is not a conflict.
                continue;
            }
            for variant in variants().iter().filter(|v| v.relax == 1.0) {
                let mut builder = Problem::builder();
                builder.add_mass(ball(1.0, 0.5), &[0.3; 6]).unwrap();
                builder
                    .add_block(law, &[], &vec![0.0; rows], &vec![wanted; rows])
                    .unwrap();
                let problem = builder.build().unwrap();
                let mut solver = GaussSeidel {
                    stop: Stop {
                        sweeps: 2000,
                        ..Stop::default()
                    },
                    ..variant.clone()
                };
                for lambda in [0.0, 0.7] {
                    let mut solution = Solution::from_lambda(&problem, vec![lambda; rows]);
                    let report = solver.solve(&problem, &mut solution);
                    let what = format!("{law:?} q {wanted} {}: {report}", label(&solver));
                    assert_finite(&report, &solution, &what);
                    let solved = report.status == Status::Solved;
                    if solver.fit(&law) == Fit::Exact {
                        assert_eq!(solved, met, "{what}");
                    }
                    assert_eq!(solution.v, Solution::zeros(&problem).v, "{what}");
                }
            }
        }
    }
}

#[test]
fn bounded_rows_that_touch_no_mass_go_to_the_bound_their_velocity_asks_for() {
    let law = Law::Interval { lo: -1.0, hi: 2.0 };
    for (wanted, expected) in [(1.0, 2.0), (-1.0, -1.0)] {
        let mut builder = Problem::builder();
        builder.add_block(law, &[], &[0.0], &[wanted]).unwrap();
        let problem = builder.build().unwrap();
        let (report, solution) = solve(&mut GaussSeidel::default(), &problem);
        assert_eq!(report.status, Status::Solved);
        assert_eq!(solution.lambda, [expected]);
    }
}

#[test]
fn unsymmetric_delassus_matrices_are_solved_in_both_sweeps() {
    // Dual files need not be symmetric. Diagonally dominant, so that Gauss-Seidel must converge; the exact rule
    // has to notice that its contact blocks are not symmetric.
    let laws = [
        (Law::Equality, 2),
        (Law::FrictionCone { mu: 0.4 }, 3),
        (Law::Unilateral, 2),
        (Law::FrictionCone { mu: 0.2 }, 2),
        (Law::FrictionBox { mu: 0.4 }, 3),
    ];
    let sizes: Vec<usize> = laws.iter().map(|law| law.1).collect();
    let laws: Vec<Law> = laws.iter().map(|law| law.0).collect();
    let n: usize = sizes.iter().sum();
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let mut entries = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let dominant = if i == j { 3.0 } else { 0.0 };
                entries.push((i, j, dominant + 0.25 * random.range(-1.0, 1.0)));
            }
        }
        let matrix = BlockMatrix::from_entries(&sizes, &entries).unwrap();
        let problem = Problem::dual(matrix, draw(&mut random, n), &laws).unwrap();
        for rule in [Rule::Iso, Rule::Exact] {
            // Sweep by sweep too: a residual carried by the wrong triangle would be mended by the next exact
            // recomputation and only cost time.
            let local = with_rule(rule);
            let carried = GaussSeidel {
                sweep: SweepKind::Residual,
                ..local.clone()
            };
            for count in 1..=8 {
                let (_, a) = sweeps(&local, &problem, &[], count);
                let (_, b) = sweeps(&carried, &problem, &[], count);
                assert!(
                    distance(&a.lambda, &b.lambda) <= ROUNDING,
                    "{seed} {rule:?}"
                );
            }
            let mut answers = Vec::new();
            for sweep in [SweepKind::Local, SweepKind::Residual] {
                let mut solver = GaussSeidel {
                    sweep,
                    ..strict(rule)
                };
                let (report, solution) = solve(&mut solver, &problem);
                assert_eq!(report.status, Status::Solved, "{seed} {rule:?}: {report}");
                assert_eq!(report.residual.momentum, 0.0);
                answers.push(solution.lambda);
            }
            assert!(distance(&answers[0], &answers[1]) <= VELOCITY);
        }
    }
}

#[test]
fn rows_written_twice_do_not_change_the_velocity() {
    let laws = [
        (Law::Equality, 3),
        (Law::Unilateral, 2),
        (Law::FrictionCone { mu: 0.4 }, 3),
        (Law::FrictionCone { mu: 0.0 }, 3),
    ];
    for (law, rows) in laws {
        for seed in 0..6 {
            let planted = planted(&Recipe::chain(law, rows, 4), seed);
            let problem = rebuilt(&planted.problem, 2, |law| law);
            for variant in &variants() {
                if variant.fit(&law) != Fit::Exact || variant.order == Order::Backward {
                    continue;
                }
                let mut solver = GaussSeidel {
                    stop: strict(Rule::Iso).stop,
                    ..variant.clone()
                };
                let (report, solution) = solve(&mut solver, &problem);
                let what = format!("{law:?} {seed} {}: {report}", label(&solver));
                assert_eq!(report.status, Status::Solved, "{what}");
                let off = distance(&solution.v, &planted.answer.v);
                assert!(off <= VELOCITY, "{what}: v off by {off:e}");
            }
        }
    }
}

#[test]
fn a_block_with_dependent_rows_inside_is_solved() {
    // One equality block of two equal rows: its 2×2 diagonal block is singular.
    let mut builder = Problem::builder();
    let body = builder.add_mass(ball(2.0, 0.5), &[1.0; 6]).unwrap();
    let row = [0.6, 0.8, 0.0, 0.0, 0.0, 0.1];
    let rows = [row, row].concat();
    builder
        .add_block(Law::Equality, &[(body, &rows)], &[0.0; 2], &[0.2; 2])
        .unwrap();
    let problem = builder.build().unwrap();
    for sweep in [SweepKind::Local, SweepKind::Residual] {
        let mut solver = GaussSeidel {
            sweep,
            ..strict(Rule::Iso)
        };
        let (report, solution) = solve(&mut solver, &problem);
        assert_eq!(report.status, Status::Solved, "{report}");
        let velocity: f64 = row.iter().zip(&solution.v).map(|(g, v)| g * v).sum();
        assert!((velocity - 0.2).abs() <= ROUNDING);
    }
}

#[test]
fn conflicting_rows_stall_with_a_finite_best_iterate() {
    for variant in &variants() {
        let mut solver = variant.clone();
        let problem = conflict(Law::Equality);
        let (report, solution) = solve(&mut solver, &problem);
        let what = format!("{}: {report}", label(&solver));
        assert_finite(&report, &solution, &what);
        assert_eq!(report.status, Status::Stalled, "{what}");
        assert!(report.message.is_some());
        // The row served last is 2(1−ω)/(2−ω) m/s from its wish and the other 2/(2−ω): with ω = 1 the whole
        // disagreement of 2 m/s. No velocity serves both better than 1 m/s.
        let worst = 2.0 / (2.0 - solver.relax);
        assert!(report.residual.law <= worst + ROUNDING, "{what}");
        assert!(1.0 - ROUNDING <= report.residual.law, "{what}");
    }
}

#[test]
fn compliance_settles_a_conflict_half_way() {
    let mut builder = Problem::builder();
    let body = builder.add_mass(ball(1.0, 0.5), &[0.0; 6]).unwrap();
    let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for wanted in [1.0, -1.0] {
        builder
            .add_block(Law::Equality, &[(body, &row)], &[0.5], &[wanted])
            .unwrap();
    }
    let problem = builder.build().unwrap();
    let (report, solution) = solve(&mut strict(Rule::Iso), &problem);
    assert_eq!(report.status, Status::Solved);
    assert!(solution.v[0].abs() <= VELOCITY);
}

#[test]
fn scenes_with_redundant_contacts_are_solved_by_both_exact_rules() {
    let mut random = Random::new(21);
    let mut solved = 0;
    for _ in 0..6 {
        let load = Wrench::draw(&mut random);
        for scene in [
            scenes::block_in_corner(load),
            scenes::peg(4, load),
            scenes::stack(3, load),
        ] {
            let problem = scene.problem(Law::FrictionCone { mu: 0.3 }, 0.0);
            for rule in [Rule::Iso, Rule::Exact] {
                let (report, solution) = solve(&mut with_rule(rule), &problem);
                assert_finite(&report, &solution, "scene");
                assert_ne!(report.status, Status::Diverged, "{rule:?}: {report}");
                assert_eq!(Residual::of(&problem, &solution), report.residual);
                solved += usize::from(report.status == Status::Solved);
            }
        }
    }
    assert_eq!(solved, 36);
}

#[test]
fn a_problem_without_rows_is_solved_at_once() {
    let mut builder = Problem::builder();
    builder.add_mass(ball(2.0, 1.0), &[4.0; 6]).unwrap();
    let problem = builder.build().unwrap();
    let (report, solution) = solve(&mut GaussSeidel::default(), &problem);
    assert_eq!(report.status, Status::Solved);
    assert_eq!(solution.v[0], 2.0);
    assert_eq!(report.residual.law, 0.0);
}

#[test]
fn a_contact_whose_normal_moves_nothing_is_judged_by_finite_numbers() {
    // Its normal row has no entry, its tangents do: w_n = −q_n whatever happens. Met where that is slack, reported
    // where it penetrates; never a number that is not finite.
    let laws = [
        Law::FrictionBox { mu: 0.5 },
        Law::FrictionCone { mu: 0.5 },
        Law::FrictionCone { mu: 0.0 },
        Law::EllipticCone { mu: [0.5, 0.2] },
        Law::EllipticCone { mu: [0.0, 0.2] },
        Law::EllipticCone { mu: [0.0; 2] },
    ];
    let mut rows = [0.0; 18];
    (rows[6], rows[13]) = (1.0, 1.0);
    let problem = |law: Law, wanted: f64| {
        let mut builder = Problem::builder();
        let body = builder.add_mass(ball(1.0, 0.5), &[0.3; 6]).unwrap();
        builder
            .add_block(law, &[(body, &rows)], &[0.0; 3], &[wanted, 0.0, 0.0])
            .unwrap();
        builder.build().unwrap()
    };
    for law in laws {
        // An impulse on a contact that separates is wrong, even if it moves nothing.
        let pushed = Solution::from_lambda(&problem(law, -1.0), vec![0.4, 0.0, 0.0]);
        assert!(
            0.1 < Residual::of(&problem(law, -1.0), &pushed).law,
            "{law:?}"
        );
        for (wanted, met) in [(-1.0, true), (0.0, true), (1.0, false)] {
            let problem = problem(law, wanted);
            for rule in [Rule::Iso, Rule::Exact] {
                for lambda in [[0.0; 3], [0.4, 0.1, -0.1]] {
                    let mut solution = Solution::from_lambda(&problem, lambda.to_vec());
                    let report = with_rule(rule).solve(&problem, &mut solution);
                    let what = format!("{law:?} {wanted} {rule:?}: {report}");
                    assert_finite(&report, &solution, &what);
                    assert_eq!(report.status == Status::Solved, met, "{what}");
                }
            }
        }
    }
}
