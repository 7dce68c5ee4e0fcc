//! Every Gauss-Seidel variant against every law it fits, on problems whose answer was planted.

mod common;

use common::planted::{Planted, Recipe, planted};
use common::{assert_finite, distance, label, variants};
use delassus::solver::Rule;
use delassus::solver::newton::Newton;
use delassus::solver::sweep::coloured::Coloured;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::solver::sweep::jacobi::{Accelerate, Jacobi};
use delassus::{Fit, GaussSeidel, Law, Residual, Solution, Solver, Status, Stop};

/// Law residual every exact variant must reach [m/s]: five digits above rounding of numbers of size one, far
/// below any velocity of interest.
const LAW: f64 = 1e-10;
/// A planted pair obeys its law to the rounding of a handful of operations on numbers of size one [m/s].
const PLANTED: f64 = 1e-12;
/// Distance of v to the planted one [m/s]: the residual times the condition of these problems (below 1e3).
const VELOCITY: f64 = 1e-7;
/// v is recomputed from λ at the end, so its momentum defect is rounding [m/s].
const MOMENTUM: f64 = 1e-13;

const INFINITE: f64 = f64::INFINITY;

/// A law with its rows, and whether v is unique: convex laws always, Coulomb's on a chain of few contacts
/// with moderate friction.
struct Case {
    name: &'static str,
    blocks: Vec<(Law, usize)>,
    unique: bool,
}

fn case(name: &'static str, law: Law, rows: usize) -> Case {
    Case {
        name,
        blocks: vec![(law, rows); 5],
        unique: true,
    }
}

fn cases() -> Vec<Case> {
    let interval = |lo, hi| Law::Interval { lo, hi };
    let cone = |mu| Law::FrictionCone { mu };
    let mut all = vec![
        case("equality", Law::Equality, 3),
        case("unilateral", Law::Unilateral, 2),
        case("interval", interval(-0.4, 0.3), 2),
        case("interval below", interval(-INFINITE, 0.3), 2),
        case("interval above", interval(-0.2, INFINITE), 1),
        case("interval free", interval(-INFINITE, INFINITE), 2),
        case("interval point", interval(0.2, 0.2), 2),
        case("friction box", Law::FrictionBox { mu: 0.4 }, 3),
        case("friction box in a plane", Law::FrictionBox { mu: 0.4 }, 2),
        case("cone", cone(0.5), 3),
        case("cone without friction", cone(0.0), 3),
        case("cone in a plane", cone(0.4), 2),
        case("ellipse", Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        case("ellipse along t1", Law::EllipticCone { mu: [0.5, 0.0] }, 3),
        case("ellipse along t2", Law::EllipticCone { mu: [0.0, 0.5] }, 3),
        case(
            "ellipse without friction",
            Law::EllipticCone { mu: [0.0; 2] },
            3,
        ),
    ];
    all.extend(spin_cases());
    let each = [0.1, 0.3, 0.0, 0.7, 0.5];
    all.push(Case {
        name: "cones of different friction",
        blocks: each.iter().map(|&mu| (cone(mu), 3)).collect(),
        unique: true,
    });
    all.push(Case {
        name: "mixture",
        blocks: vec![
            (Law::Equality, 3),
            (cone(0.5), 3),
            (interval(-0.3, 0.3), 1),
            (Law::Unilateral, 1),
            (Law::FrictionBox { mu: 0.3 }, 3),
        ],
        unique: true,
    });
    all
}

/// Laws with rows of relative spin.
fn spin_cases() -> Vec<Case> {
    let rolling = |mu, rolling| Law::RollingCone { mu, rolling };
    let (mu, spinning) = (0.4, 0.2);
    let ellipsoid = |rolling| Law::EllipsoidCone {
        mu,
        rolling,
        spinning,
    };
    let both = Law::RollingSpinning {
        mu,
        rolling: 0.3,
        spinning,
    };
    vec![
        case("rolling", rolling(0.4, 0.2), 5),
        case("rolling in a plane", rolling(0.4, 0.2), 3),
        case("rolling without friction", rolling(0.0, 0.2), 5),
        case("rolling and spinning", both, 6),
        case("torsional", Law::TorsionalCone { mu, spinning }, 4),
        case("ellipsoid", ellipsoid(0.3), 6),
        case("ellipsoid without rolling", ellipsoid(0.0), 6),
    ]
}

fn recipe(case: &Case) -> Recipe {
    Recipe {
        blocks: case.blocks.clone(),
        ..Recipe::chain(Law::Equality, 1, case.blocks.len())
    }
}

fn strict(solver: &GaussSeidel) -> GaussSeidel {
    GaussSeidel {
        stop: Stop {
            tolerance: LAW,
            sweeps: 20_000,
            ..Stop::default()
        },
        ..solver.clone()
    }
}

#[test]
fn planted_answers_obey_every_law() {
    let mut all = cases();
    for directions in [3, 4, 5, 8, 16] {
        let law = Law::FrictionFacets {
            mu: 0.5,
            directions,
        };
        all.push(case("facets", law, 3));
    }
    for case in &all {
        for seed in 0..50 {
            let planted = planted(&recipe(case), seed);
            let residual = Residual::of(&planted.problem, &planted.answer);
            let name = case.name;
            assert!(residual.law <= PLANTED, "{name} {seed}: {residual:?}");
            assert!(residual.momentum <= PLANTED, "{name} {seed}: {residual:?}");
            assert!(
                residual.feasibility <= PLANTED,
                "{name} {seed}: {residual:?}"
            );
            // And the judge can see a wrong answer: a push on the first row breaks every law.
            let mut wrong = planted.answer.clone();
            wrong.lambda[0] += 0.1;
            let residual = Residual::of(&planted.problem, &wrong);
            assert!(1e-4 < residual.law, "{name} {seed}: {residual:?}");
        }
    }
}

/// 1 where the solver fits the case, in which it has to find the answer; else 0.
fn recovered(case: &Case, seed: u64, planted: &Planted, solver: &mut impl Solver) -> usize {
    if solver.fit_of(&planted.problem) != Fit::Exact {
        return 0;
    }
    let what = format!("{} seed {seed} {:?}", case.name, solver.options());
    let mut solution = Solution::zeros(&planted.problem);
    let report = solver.solve(&planted.problem, &mut solution);
    assert_finite(&report, &solution, &what);
    assert_eq!(report.status, Status::Solved, "{what}: {report}");
    assert!(report.residual.law <= LAW, "{what}: {report}");
    assert!(report.residual.momentum <= MOMENTUM, "{what}: {report}");
    if case.unique {
        let off = distance(&solution.v, &planted.answer.v);
        assert!(off <= VELOCITY, "{what}: v off by {off:e}");
    }
    1
}

#[test]
fn every_variant_recovers_planted_answers_of_every_law_it_fits() {
    let mut pairs = 0;
    for case in &cases() {
        for seed in 0..8 {
            let planted = planted(&recipe(case), seed);
            for variant in &variants() {
                pairs += recovered(case, seed, &planted, &mut strict(variant));
            }
        }
    }
    // Nothing may fall out of the comparison unseen: cones with friction admit 48 of the 144 variants,
    // frictionless ones 120, all other laws every one.
    let (cones, frictionless, others) = (14, 2, 9);
    assert_eq!(pairs, 8 * (48 * cones + 120 * frictionless + 144 * others));
}

#[test]
fn coloured_sweeps_recover_planted_answers_of_every_law_they_fit() {
    let mut pairs = 0;
    for case in &cases() {
        for seed in 0..8 {
            let planted = planted(&recipe(case), seed);
            for (_, rule) in Rule::NAMES {
                for order in [Order::Forward, Order::Backward, Order::Symmetric] {
                    for relax in [0.7, 1.0, 1.3] {
                        let mut solver = Coloured {
                            stop: strict(&GaussSeidel::default()).stop,
                            rule,
                            order,
                            relax,
                            ..Coloured::default()
                        };
                        pairs += recovered(case, seed, &planted, &mut solver);
                    }
                }
            }
        }
    }
    // As above without shuffled orders and residual sweeps: 3/8 of the variants.
    let (cones, frictionless, others) = (14, 2, 9);
    assert_eq!(pairs, 8 * (18 * cones + 45 * frictionless + 54 * others));
}

#[test]
fn newton_recovers_planted_answers_of_every_law() {
    let mut pairs = 0;
    let mixed = |recipe: Recipe| Recipe {
        mixed: true,
        ..recipe
    };
    let facets = |mu, directions| Law::FrictionFacets { mu, directions };
    let mut all = cases();
    all.push(case("eight facets", facets(0.5, 8), 3));
    all.push(case("three facets", facets(0.8, 3), 3));
    for case in &all {
        for seed in 0..40 {
            for recipe in [recipe(case), mixed(recipe(case))] {
                let planted = planted(&recipe, seed);
                let stop = strict(&GaussSeidel::default()).stop;
                pairs += recovered(case, seed, &planted, &mut Newton::new(stop));
                let dual = Planted {
                    problem: planted.problem.to_dual(),
                    answer: Solution {
                        v: Vec::new(),
                        lambda: planted.answer.lambda,
                    },
                };
                pairs += recovered(case, seed, &dual, &mut Newton::new(stop));
            }
        }
    }
    assert_eq!(pairs, all.len() * 40 * 4);
}

#[test]
fn sweeps_recover_planted_rolling_and_spinning_in_both_forms() {
    let stop = strict(&GaussSeidel::default()).stop;
    let mut pairs = 0;
    for case in &spin_cases() {
        for seed in 0..8 {
            let planted = planted(&recipe(case), seed);
            let dual = Planted {
                problem: planted.problem.to_dual(),
                answer: Solution {
                    v: Vec::new(),
                    lambda: planted.answer.lambda.clone(),
                },
            };
            for planted in [&planted, &dual] {
                let mut sweeps = strict(&GaussSeidel::default());
                pairs += recovered(case, seed, planted, &mut sweeps);
                let mut jacobi = Jacobi {
                    stop,
                    accelerate: Accelerate::Nesterov,
                    ..Jacobi::default()
                };
                pairs += recovered(case, seed, planted, &mut jacobi);
            }
        }
    }
    assert_eq!(pairs, spin_cases().len() * 8 * 4);
}

#[test]
fn compliance_makes_redundant_contacts_well_posed_for_every_exact_rule() {
    // Ten contacts between three bodies: rows depend on each other, Σ > 0 decides the loads.
    for law in [
        Law::FrictionCone { mu: 0.4 },
        Law::Unilateral,
        Law::FrictionBox { mu: 0.4 },
    ] {
        let recipe = Recipe {
            masses: 3,
            sigma: (0.1, 0.3),
            ..Recipe::chain(law, 3, 10)
        };
        for seed in 0..8 {
            let planted = planted(&recipe, seed);
            for variant in variants().iter().filter(|v| v.fit(&law) == Fit::Exact) {
                if variant.order != Order::Forward {
                    continue;
                }
                let mut solver = strict(variant);
                let mut solution = Solution::zeros(&planted.problem);
                let report = solver.solve(&planted.problem, &mut solution);
                let what = format!("{law:?} seed {seed} {}", label(&solver));
                assert_eq!(report.status, Status::Solved, "{what}: {report}");
                assert!(report.residual.law <= LAW, "{what}: {report}");
            }
        }
    }
}

#[test]
fn warm_restart_from_the_answer_costs_one_sweep() {
    for case in &cases() {
        let planted = planted(&recipe(case), 3);
        for variant in &variants() {
            let mut solver = strict(variant);
            if solver.fit_of(&planted.problem) != Fit::Exact {
                continue;
            }
            let mut solution = planted.answer.clone();
            let report = solver.solve(&planted.problem, &mut solution);
            let what = format!("{} {}", case.name, label(&solver));
            assert_eq!(report.iterations, 1, "{what}: {report}");
            assert_eq!(report.status, Status::Solved, "{what}");
            let moved = distance(&solution.lambda, &planted.answer.lambda);
            assert!(moved <= VELOCITY, "{what}: λ moved by {moved:e}");
        }
    }
}

#[test]
fn bad_warm_starts_are_cold_starts() {
    let case = case("cone", Law::FrictionCone { mu: 0.5 }, 3);
    let planted = planted(&recipe(&case), 4);
    let mut cold = Solution::zeros(&planted.problem);
    strict(&GaussSeidel::default()).solve(&planted.problem, &mut cold);
    let rows = planted.problem.n_rows();
    let mut poisoned = vec![0.3; rows];
    poisoned[rows / 2] = f64::NAN;
    let starts = [
        poisoned,
        vec![f64::INFINITY; rows],
        vec![1.0; rows - 1],
        vec![1.0; rows + 7],
        Vec::new(),
    ];
    for lambda in starts {
        let mut solution = Solution {
            v: vec![f64::NAN; 3],
            lambda,
        };
        strict(&GaussSeidel::default()).solve(&planted.problem, &mut solution);
        assert_eq!(solution, cold);
    }
}

#[test]
fn velocity_of_a_warm_start_is_not_trusted() {
    // Only impulses are a warm start: v is always v¹ + M⁻¹Gᵀλ, whatever came in.
    let case = case("cone", Law::FrictionCone { mu: 0.5 }, 3);
    let planted = planted(&recipe(&case), 5);
    let mut solution = planted.answer.clone();
    solution.v.fill(1e6);
    let report = strict(&GaussSeidel::default()).solve(&planted.problem, &mut solution);
    assert_eq!(report.iterations, 1);
    assert!(report.residual.momentum <= MOMENTUM);
    assert!(distance(&solution.v, &planted.answer.v) <= VELOCITY);
}
