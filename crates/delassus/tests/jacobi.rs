//! Jacobi: every law on planted problems, the schemes where they converge and where they do not, accelerations,
//! dual form, threads.

#![cfg(all(feature = "parallel", feature = "world"))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::planted::{Recipe, planted};
use common::scenes::{self, grid, star};
use common::{distance, solve, sweeps};
use delassus::math::DVec3;
use delassus::solver::Rule;
use delassus::solver::sweep::jacobi::{Accelerate, Scheme};
use delassus::{Fit, GaussSeidel, Jacobi, Law, Report, Solution, Solver, Status, Stop, gallery};

/// Law residual that a solved problem must reach [m/s].
const LAW: f64 = 1e-10;
/// Distance of v to a unique answer [m/s]: the residual times the condition of these problems (below 1e3).
const VELOCITY: f64 = 1e-7;
/// v is gathered from λ anew in every sweep [m/s].
const MOMENTUM: f64 = 1e-13;

fn jacobi(scheme: Scheme, accelerate: Accelerate, rule: Rule) -> Jacobi {
    Jacobi {
        stop: Stop {
            tolerance: LAW,
            sweeps: 200_000,
            ..Stop::default()
        },
        scheme,
        accelerate,
        rule,
        ..Jacobi::default()
    }
}

fn laws() -> Vec<(Law, usize)> {
    let interval = |lo, hi| Law::Interval { lo, hi };
    vec![
        (Law::Equality, 3),
        (Law::Unilateral, 2),
        (interval(-0.4, 0.3), 2),
        (interval(-0.2, f64::INFINITY), 1),
        (interval(0.2, 0.2), 2),
        (Law::FrictionBox { mu: 0.4 }, 3),
        (Law::FrictionBox { mu: 0.4 }, 2),
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::FrictionCone { mu: 0.0 }, 3),
        (Law::FrictionCone { mu: 0.4 }, 2),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::EllipticCone { mu: [0.5, 0.0] }, 3),
    ]
}

fn safe() -> Vec<Jacobi> {
    let mut all = Vec::new();
    for scheme in [Scheme::Split, Scheme::Damped] {
        for accelerate in [Accelerate::None, Accelerate::Nesterov] {
            for rule in [Rule::Iso, Rule::Exact] {
                all.push(jacobi(scheme, accelerate, rule));
            }
        }
        all.push(jacobi(scheme, Accelerate::Chebyshev, Rule::Iso));
    }
    all
}

/// Every planted problem: five blocks of each law, and all of them mixed, with rigid and dense masses.
fn recipes() -> Vec<Recipe> {
    let mut all: Vec<Recipe> = Vec::new();
    for (law, rows) in laws() {
        all.push(Recipe::chain(law, rows, 5));
    }
    all.push(Recipe {
        blocks: laws().into_iter().take(8).collect(),
        mixed: true,
        ..Recipe::chain(Law::Equality, 1, 8)
    });
    all
}

#[test]
fn safe_schemes_recover_planted_answers_of_every_law() {
    let mut pairs = 0;
    for recipe in recipes() {
        for seed in 0..4 {
            let planted = planted(&recipe, seed);
            for mut solver in safe() {
                if solver.fit_of(&planted.problem) != Fit::Exact {
                    continue;
                }
                pairs += 1;
                let (report, solution) = solve(&mut solver, &planted.problem);
                let what = format!("{:?} seed {seed} {:?}", recipe.blocks[0], solver.options());
                assert_eq!(report.status, Status::Solved, "{what}: {report}");
                assert!(report.residual.momentum <= MOMENTUM, "{what}: {report}");
                let off = distance(&solution.v, &planted.answer.v);
                assert!(off <= VELOCITY, "{what}: v off by {off:e}");
            }
        }
    }
    // Eight variants fit every law, Chebyshev's two fit equalities only.
    assert_eq!(pairs, 4 * (13 * 8 + 2));
}

#[test]
fn warm_restart_from_the_answer_costs_one_sweep() {
    for recipe in recipes() {
        let planted = planted(&recipe, 3);
        for mut solver in safe() {
            if solver.fit_of(&planted.problem) != Fit::Exact {
                continue;
            }
            let mut solution = planted.answer.clone();
            let report = solver.solve(&planted.problem, &mut solution);
            assert_eq!((report.iterations, report.status), (1, Status::Solved));
            assert!(distance(&solution.lambda, &planted.answer.lambda) <= VELOCITY);
        }
    }
}

#[test]
fn splitting_converges_where_plain_steps_diverge() {
    let scenes = [
        ("star", star(16, 20.0)),
        ("grid", grid(5)),
        ("pile", gallery::build("pile:200").unwrap()),
        ("stack", gallery::build("stack:3").unwrap()),
    ];
    for (name, problem) in scenes {
        let (plain, _) = solve(
            &mut jacobi(Scheme::Plain, Accelerate::None, Rule::Iso),
            &problem,
        );
        // Contacts let go of what is too much, so that their impulses jump for ever instead of growing.
        let joints = problem.blocks().iter().all(|b| b.law == Law::Equality);
        if joints {
            assert_eq!(plain.status, Status::Diverged, "{name}: {plain}");
            let message = plain.message.unwrap();
            assert!(message.contains("scheme=split"), "{message}");
        } else {
            let ends = [Status::Diverged, Status::Stalled];
            assert!(ends.contains(&plain.status), "{name}: {plain}");
        }
        for scheme in [Scheme::Split, Scheme::Damped] {
            for accelerate in [Accelerate::None, Accelerate::Nesterov] {
                let mut solver = jacobi(scheme, accelerate, Rule::Iso);
                solver.stop.tolerance = 1e-8;
                let (report, _) = solve(&mut solver, &problem);
                let what = format!("{name} {:?}", solver.options());
                assert_eq!(report.status, Status::Solved, "{what}: {report}");
            }
        }
    }
}

/// Factor per sweep by which η falls, between two levels of it, over an even number of sweeps.
fn measured_rate(report: &Report) -> f64 {
    let eta: Vec<f64> = report.history.iter().map(|sweep| sweep.eta).collect();
    let first = eta.iter().position(|x| *x < 1e-6 * eta[0]).unwrap();
    let last = eta.iter().position(|x| *x < 1e-11 * eta[0]).unwrap();
    let count = 2 * ((last - first) / 2);
    (eta[first + count] / eta[first]).powf(1.0 / count as f64)
}

#[test]
fn gauss_seidel_is_exactly_two_jacobi_sweeps_on_a_chain() {
    for beads in [6, 10, 20] {
        let problem = gallery::build(&format!("chain:{beads}")).unwrap();
        let zeros = vec![0.0; problem.n_rows()];
        let (gauss_seidel, _) = sweeps(&GaussSeidel::default(), &problem, &zeros, 6000);
        let mut solver = jacobi(Scheme::Plain, Accelerate::None, Rule::Iso);
        (solver.stop.tolerance, solver.stop.sweeps) = (0.0, 12_000);
        let (plain, _) = solve(&mut solver, &problem);
        let (jacobi, seidel) = (measured_rate(&plain), measured_rate(&gauss_seidel));
        let off = seidel / (jacobi * jacobi) - 1.0;
        assert!(off.abs() < 0.02, "{beads}: ρ_J {jacobi}, ρ_GS {seidel}");
        assert!(jacobi < 1.0);
    }
}

#[test]
fn acceleration_saves_most_of_the_sweeps_of_a_long_chain() {
    // Straight, so that a pull at one end has to travel to the other.
    let bodies: Vec<(f64, DVec3)> = (0..80).map(|i| (1.0, DVec3::X * f64::from(i))).collect();
    let joints: Vec<_> = (0..80).map(|i: usize| (i, i.checked_sub(1))).collect();
    let problem = scenes::joined(&bodies, &joints);
    let count = |scheme, accelerate| {
        let (report, _) = solve(&mut jacobi(scheme, accelerate, Rule::Iso), &problem);
        assert_eq!(report.status, Status::Solved, "{report}");
        report.iterations
    };
    for scheme in [Scheme::Split, Scheme::Plain] {
        let plain = count(scheme, Accelerate::None);
        let chebyshev = count(scheme, Accelerate::Chebyshev);
        assert!(8 * chebyshev < plain, "{scheme:?}: {chebyshev} of {plain}");
    }
    let (plain, nesterov) = (
        count(Scheme::Split, Accelerate::None),
        count(Scheme::Split, Accelerate::Nesterov),
    );
    assert!(8 * nesterov < plain, "{nesterov} of {plain}");
}

#[test]
fn dual_form_has_the_same_answers() {
    for law in [
        Law::Equality,
        Law::Unilateral,
        Law::FrictionCone { mu: 0.4 },
    ] {
        let planted = planted(&Recipe::chain(law, 3, 6), 5);
        let dual = planted.problem.to_dual();
        for mut solver in safe() {
            if solver.fit(&law) != Fit::Exact {
                continue;
            }
            let (report, solution) = solve(&mut solver, &dual);
            let what = format!("{law:?} {:?}: {report}", solver.options());
            assert_eq!(report.status, Status::Solved, "{what}");
            let back = Solution::from_lambda(&planted.problem, solution.lambda);
            assert!(distance(&back.v, &planted.answer.v) <= VELOCITY, "{what}");
        }
    }
}

#[test]
fn decrease_of_the_objective_is_exact_and_never_negative_for_convex_laws() {
    for law in [Law::Equality, Law::Unilateral] {
        let recipe = Recipe {
            sigma: (0.0, 0.5),
            ..Recipe::chain(law, 3, 6)
        };
        let problem = planted(&recipe, 2).problem;
        for dual in [false, true] {
            let problem = if dual {
                problem.to_dual()
            } else {
                problem.clone()
            };
            let objective = |lambda: &[f64]| {
                let state = Solution::from_lambda(&problem, lambda.to_vec());
                let mut w = vec![0.0; problem.n_rows()];
                problem.row_velocity(&state.v, &state.lambda, &mut w);
                let pairs = lambda.iter().zip(w.iter().zip(problem.c()));
                0.5 * pairs.map(|(l, (w, c))| l * (w + c)).sum::<f64>()
            };
            let mut before = 0.0;
            for count in 1..=12 {
                let mut solver = jacobi(Scheme::Split, Accelerate::None, Rule::Iso);
                (solver.stop.tolerance, solver.stop.sweeps) = (0.0, count);
                let (report, solution) = solve(&mut solver, &problem);
                let after = objective(&solution.lambda);
                let decrease = report.history[count - 1].dual_decrease;
                assert!((before - after - decrease).abs() < 1e-13, "{law:?} {count}");
                assert!(-1e-15 < decrease, "{law:?} {count}: {decrease}");
                before = after;
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let problem = gallery::build("pile:20000").unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut solver = jacobi(Scheme::Split, Accelerate::Nesterov, Rule::Iso);
        (solver.stop.tolerance, solver.stop.sweeps) = (0.0, 20);
        pool.build()
            .unwrap()
            .install(|| solve(&mut solver, &problem))
    };
    let (one, alone) = run(1);
    for threads in [2, 5] {
        let (many, together) = run(threads);
        assert_eq!(alone, together, "{threads} threads");
        let history = |report: &Report| -> Vec<(f64, f64)> {
            let sweeps = report.history.iter();
            sweeps.map(|s| (s.eta, s.dual_decrease)).collect()
        };
        assert_eq!(history(&one), history(&many));
    }
}

#[test]
fn kept_lists_follow_the_topology() {
    let mut solver = jacobi(Scheme::Split, Accelerate::Nesterov, Rule::Iso);
    let problems = [
        star(4, 2.0),
        scenes::chain(6, 0.0, 1),
        star(5, 2.0),
        grid(3),
        star(4, 2.0),
    ];
    for problem in &problems {
        let (report, kept) = solve(&mut solver, problem);
        let mut fresh = jacobi(Scheme::Split, Accelerate::Nesterov, Rule::Iso);
        assert_eq!(report.status, Status::Solved, "{report}");
        assert_eq!(kept, solve(&mut fresh, problem).1);
    }
}
