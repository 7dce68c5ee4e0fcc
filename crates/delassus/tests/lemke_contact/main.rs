//! Lemke's algorithm on contacts without the matrix: the structural and the reduced method.
#![allow(clippy::print_stderr, reason = "why a test was skipped")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod lloyd;
mod scenes;

use delassus::math::{DVec3, Random};
use delassus::solver::pivot::Method::Standard;
use delassus::solver::pivot::contact::{
    ContactLcp, PivotOptions, PivotOutcome, PivotWork, reduced, structural,
};
use delassus::solver::pivot::{self, Cover, Lcp, LcpOptions, Lemke, Pivot};
use delassus::{Law, Problem, Residual, Solution, Solver, Status};

type Method = fn(&ContactLcp, &PivotOptions<'_>, &mut PivotWork) -> PivotOutcome;
const METHODS: [(&str, Method); 2] = [("structural", structural), ("reduced", reduced)];
const PIVOTS: [Pivot; 2] = [Pivot::Big, Pivot::Lex];

fn options(pivot: Pivot) -> PivotOptions<'static> {
    PivotOptions {
        pivot,
        cover: &[],
        pivots: 20_000,
        deadline: None,
    }
}

fn solve(problem: &Problem, method: Method, pivot: Pivot) -> (PivotOutcome, Solution) {
    let lcp = ContactLcp::new(problem, 8).unwrap();
    let mut work = PivotWork::default();
    let outcome = method(&lcp, &options(pivot), &mut work);
    let mut lambda = vec![0.0; problem.n_rows()];
    if outcome.status == Status::Solved {
        work.impulses(&lcp, &mut lambda);
    }
    (outcome, Solution::from_lambda(problem, lambda))
}

#[test]
fn every_published_experiment_is_solved_by_both_methods_and_rules() {
    let mut failures = Vec::new();
    for geometry in lloyd::all() {
        for (name, method) in METHODS {
            for pivot in PIVOTS {
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
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The chain of attempts of the driver: the first verified answer, and which attempt gave it.
fn chain(problem: &Problem) -> (usize, PivotOutcome, Solution) {
    let lcp = ContactLcp::new(problem, 8).unwrap();
    let mut work = PivotWork::default();
    let mut random = Random::new(1);
    let ones = Vec::new();
    let chance = |random: &mut Random| {
        (0..lcp.n_cover())
            .map(|_| random.range(0.5, 2.0))
            .collect::<Vec<f64>>()
    };
    let covers = [
        chance(&mut random),
        chance(&mut random),
        chance(&mut random),
    ];
    let attempts: [(Method, Pivot, &Vec<f64>); 6] = [
        (reduced, Pivot::Big, &ones),
        (reduced, Pivot::Lex, &ones),
        (structural, Pivot::Big, &ones),
        (structural, Pivot::Big, &covers[0]),
        (structural, Pivot::Big, &covers[1]),
        (structural, Pivot::Big, &covers[2]),
    ];
    let mut last = None;
    for (k, (method, pivot, cover)) in attempts.into_iter().enumerate() {
        let outcome = method(
            &lcp,
            &PivotOptions {
                cover,
                ..options(pivot)
            },
            &mut work,
        );
        let mut lambda = vec![0.0; problem.n_rows()];
        work.impulses(&lcp, &mut lambda);
        let solved = outcome.status == Status::Solved && outcome.residual <= 1e-9;
        last = Some((k, outcome, Solution::from_lambda(problem, lambda)));
        if solved {
            break;
        }
    }
    last.unwrap()
}

#[test]
fn ordinary_and_hard_problems_are_solved_by_the_chain() {
    let mut attempts = [0; 6];
    let mut failures = Vec::new();
    let mut check = |name: &str, seed: u64, problem: &Problem| {
        let (attempt, outcome, solution) = chain(problem);
        attempts[attempt] += 1;
        let law = Residual::of(problem, &solution).relative;
        if outcome.status != Status::Solved || !(outcome.residual <= 1e-9) || !(law <= 1e-8) {
            failures.push(format!("{name} {seed}: {outcome:?}, law {law:e}"));
        }
    };
    for seed in 0..320 {
        let (scene, law) = scenes::ordinary(seed);
        check("ordinary", seed, &scene.rigid(law));
    }
    for seed in 0..400 {
        check("hard", seed, &scenes::hard(seed));
    }
    // The fast method answers nearly always.
    assert!(600 <= attempts[0], "answered by attempt: {attempts:?}");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn degenerate_loads_are_solved_by_both_methods_and_rules() {
    let mut random = Random::new(4);
    let none = [DVec3::ZERO; 2];
    let mut doubled = scenes::face(8, none);
    doubled.contacts.extend(doubled.contacts.clone());
    let all = [
        scenes::stack(5, 0.0, none, &mut random),
        scenes::stack(8, 0.0, none, &mut random),
        scenes::face(20, none),
        doubled,
        scenes::corner(none),
        scenes::peg(16, none),
        scenes::rim(16, none),
    ];
    for (k, scene) in all.iter().enumerate() {
        for (name, method) in METHODS {
            for pivot in PIVOTS {
                let problem = scene.rigid(scenes::facets(0.4, 8));
                let (outcome, solution) = solve(&problem, method, pivot);
                assert_eq!(
                    outcome.status,
                    Status::Solved,
                    "{k} {name} {pivot:?} {outcome:?}"
                );
                assert!(outcome.residual <= 1e-9, "{k} {name} {pivot:?} {outcome:?}");
                let law = Residual::of(&problem, &solution).relative;
                assert!(law <= 1e-9, "{k} {name} {pivot:?} {law:e}");
            }
        }
    }
}

#[test]
fn velocities_agree_with_the_dense_matrix_where_they_are_unique() {
    for seed in 0..160 {
        let (scene, law) = scenes::ordinary(seed);
        let problem = if seed.is_multiple_of(2) {
            scene.compliant(law, 1e-3)
        } else {
            scene.rigid(scenes::facets(0.0, 8))
        };
        let mut wanted = Solution::zeros(&problem);
        let report = Lemke::new(Standard).solve(&problem, &mut wanted);
        assert_eq!(report.status, Status::Solved, "{seed}");
        for (name, method) in METHODS {
            let (outcome, solution) = solve(&problem, method, Pivot::Big);
            if outcome.cover_limit {
                continue;
            }
            assert_eq!(outcome.status, Status::Solved, "{seed} {name} {outcome:?}");
            let speeds = wanted.v.iter().zip(&solution.v);
            let error = speeds.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(error <= 1e-10, "{seed} {name} {error:e}");
        }
    }
}

/// Ones in the units in which contacts are pivoted: velocities of contact k times a and impulses over a, where
/// a = (D_nn)^(−1/2).
fn ones_after_scaling(problem: &Problem) -> Vec<f64> {
    let mut cover = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let Law::FrictionFacets { directions, .. } = block.law else {
            panic!("contacts with facets");
        };
        let a = problem.diagonal_blocks().block(k)[0].powf(-0.5);
        cover.extend(vec![1.0 / a; 1 + directions as usize]);
        cover.push(a);
    }
    cover
}

#[test]
fn pivots_are_those_of_the_dense_matrix_where_nothing_ties() {
    let mut random = Random::new(21);
    for round in 0..150 {
        // Irregular contacts and loads: no two ratios are equal.
        let scene = scenes::irregular(2 + random.below(9), &mut random);
        let law = scenes::facets(random.range(0.1, 0.9), 3 + random.below(6) as u32);
        let problem = scene.compliant(law, [0.0, 1e-3][round % 2]);
        let (lcp, cover) = (Lcp::of_problem(&problem, 8), ones_after_scaling(&problem));
        for pivot in PIVOTS {
            let dense = LcpOptions {
                pivot,
                cover: Cover::Given(cover.clone()),
                ..LcpOptions::default()
            };
            let answer = pivot::solve(&lcp, &dense);
            let (outcome, _) = solve(&problem, structural, pivot);
            assert_eq!(outcome.status, answer.status, "{round} {pivot:?}");
            assert_eq!(outcome.pivots, answer.pivots, "{round} {pivot:?}");
        }
    }
}

#[test]
fn joints_motors_and_redundant_rows_work_with_contacts() {
    let mut random = Random::new(12);
    for round in 0..60_u64 {
        let load = scenes::wrench(&mut random);
        let mut scene = scenes::stack(3, 0.1, load, &mut random);
        let hinge = scene.bodies[2].x + DVec3::X * 0.5;
        scene.joints.push((2, None, hinge));
        scene.motors.push((1, 0.05, 0.5));
        if round.is_multiple_of(2) {
            // A second ball joint at another point of the same axis, and the first one again: both redundant.
            scene.joints.push((2, None, hinge + DVec3::Y));
            scene.joints.push((2, None, hinge));
        }
        let problem = scene.rigid(scenes::facets(0.4, 8));
        for (name, method) in METHODS {
            for pivot in PIVOTS {
                let (outcome, solution) = solve(&problem, method, pivot);
                if outcome.cover_limit {
                    continue;
                }
                let law = Residual::of(&problem, &solution).relative;
                assert_eq!(
                    outcome.status,
                    Status::Solved,
                    "{round} {name} {pivot:?} {outcome:?}"
                );
                assert!(law <= 1e-8, "{round} {name} {pivot:?} {law:e}");
            }
        }
    }
}

#[test]
fn contacts_that_cannot_be_met_end_on_a_ray_and_never_as_solved() {
    let mut random = Random::new(5);
    for _ in 0..20 {
        // Every contact of a peg must open at once.
        let scene = scenes::peg(8, scenes::wrench(&mut random));
        let problem = scene.problem(scenes::facets(0.25, 8), |_| (0.1, [0.0; 3]));
        for (name, method) in METHODS {
            let (outcome, _) = solve(&problem, method, Pivot::Big);
            assert!(
                outcome.status == Status::Ray || outcome.cover_limit,
                "{name} {outcome:?}"
            );
        }
        let problem = scene.problem(scenes::facets(0.25, 8), |_| (0.1, [1e-4, 0.0, 0.0]));
        let (_, outcome, _) = chain(&problem);
        assert_eq!(outcome.status, Status::Solved);
    }
}

#[test]
fn random_problems_end_with_a_status_and_no_false_answer() {
    // `cargo bench --bench lemke_fuzz` does the same to a hundred thousand and counts how they end.
    for seed in 0..10_000 {
        let problem = scenes::fuzz(seed);
        for (name, method) in METHODS {
            let pivot = PIVOTS[(seed / 2 % 2) as usize];
            let lcp = ContactLcp::new(&problem, 8).unwrap();
            let mut work = PivotWork::default();
            let options = PivotOptions {
                pivots: 2000,
                ..options(pivot)
            };
            let outcome = method(&lcp, &options, &mut work);
            let mut lambda = vec![0.0; problem.n_rows()];
            work.impulses(&lcp, &mut lambda);
            assert!(lambda.iter().all(|x| x.is_finite()), "{seed} {name}");
            if outcome.status == Status::Solved {
                let solution = Solution::from_lambda(&problem, lambda);
                let residual = Residual::of(&problem, &solution);
                let relative = residual.law / problem.velocity_scale().max(1e-3);
                assert!(relative <= 1e-6, "{seed} {name}: {outcome:?} {residual:?}");
            }
        }
    }
}
