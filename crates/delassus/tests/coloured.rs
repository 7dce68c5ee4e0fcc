//! Coloured Gauss-Seidel: its sets are independent, its sweeps are those of Gauss-Seidel in another order, its bits
//! do not depend on threads, and the order costs little convergence.

#![cfg(feature = "parallel")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot build its problem must stop there; measured factors are shown on request"
)]

mod common;

use std::collections::BTreeSet;

use common::planted::{Recipe, planted};
use common::{distance, label, rebuilt};
use delassus::math::{DMat3, DVec3, tangents};
use delassus::problem::Form;
use delassus::problem::place::{At, Point};
use delassus::solver::sweep::coloured::Coloured;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::solver::{Record, Rule, from_spec};
use delassus::{
    BlockId, GaussSeidel, Law, MassBlock, MassId, Problem, Solution, Solver, Status, Stop, gallery,
};

/// Two orders of the same sums differ by rounding, which a handful of sweeps does not amplify much.
const ROUNDING: f64 = 1e-13;

fn max_abs(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

fn exactly(iterations: usize) -> Stop {
    Stop {
        tolerance: 0.0,
        sweeps: iterations,
        ..Stop::default()
    }
}

fn coloured(rule: Rule, order: Order, relax: f64, stop: Stop) -> Coloured {
    Coloured {
        stop,
        rule,
        order,
        relax,
        ..Coloured::default()
    }
}

/// The same problem with its blocks in another order.
fn reordered(problem: &Problem, order: &[BlockId]) -> Problem {
    let Form::Primal(primal) = problem.form() else {
        panic!("only a primal problem can be reordered");
    };
    let mut builder = Problem::builder();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = primal.slice(primal.p(), MassId(b as u32));
        builder.add_mass(mass.clone(), p).unwrap();
    }
    for &k in order {
        let block = problem.blocks()[k.index()];
        let places: Vec<At<'_>> = primal.places(k).collect();
        let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
        builder.add_block_at(block.law, &places, sigma, q).unwrap();
    }
    builder.build().unwrap()
}

/// Many contacts of one body with the ground: every two share it.
fn one_body(contacts: usize) -> Problem {
    let mut builder = Problem::builder();
    let mass = MassBlock::rigid(2.0, DMat3::from_diagonal(DVec3::new(0.3, 0.4, 0.5))).unwrap();
    let body = builder
        .add_mass(mass, &[0.1, 0.2, -1.0, 0.3, 0.0, 0.1])
        .unwrap();
    for i in 0..contacts {
        let turn = i as f64;
        let n = DVec3::new(0.2 * turn.cos(), 0.2 * turn.sin(), 1.0).normalize();
        let (t1, t2) = tangents(n);
        let point = Point {
            directions: &[n, t1, t2],
            first: Some((body, DVec3::new(turn.sin(), turn.cos(), -0.5))),
            second: None,
        };
        let law = Law::FrictionCone { mu: 0.4 };
        builder
            .add_point(law, &point, &[0.01; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

/// Every law between rigid and dense masses, wide ones too, three masses per block.
fn mixture() -> Problem {
    let laws = [
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::Equality, 3),
        (Law::FrictionBox { mu: 0.3 }, 3),
        (Law::Unilateral, 2),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::Interval { lo: -0.3, hi: 0.4 }, 1),
        (Law::FrictionCone { mu: 0.4 }, 2),
    ];
    let recipe = Recipe {
        blocks: laws.iter().copied().cycle().take(70).collect(),
        masses: 40,
        touches: 3,
        mixed: true,
        sigma: (0.01, 0.1),
    };
    planted(&recipe, 11).problem
}

fn problems() -> Vec<(String, Problem)> {
    let mut all: Vec<(String, Problem)> = ["pile:3000", "stack:10", "chain:30", "machine"]
        .iter()
        .map(|name| (String::from(*name), gallery::build(name).unwrap()))
        .collect();
    let boxed = rebuilt(&all[0].1, 1, |_| Law::FrictionBox { mu: 0.4 });
    all.push(("pile of boxes".to_owned(), boxed));
    all.push(("one body".to_owned(), one_body(200)));
    all.push(("mixture".to_owned(), mixture()));
    all.push(("nothing".to_owned(), Problem::builder().build().unwrap()));
    all.push(("one block".to_owned(), one_body(1)));
    all
}

#[test]
fn blocks_of_a_set_share_no_mass_and_every_block_is_in_one_set() {
    for (name, problem) in problems() {
        let Form::Primal(primal) = problem.form() else {
            continue;
        };
        let sets = Coloured::default().sets(&problem);
        let mut seen = BTreeSet::new();
        for set in &sets {
            let mut masses = BTreeSet::new();
            for &k in set {
                assert!(seen.insert(k), "{name}: {k} twice");
                for b in primal.jacobian().masses(k) {
                    assert!(masses.insert(b), "{name}: {b} twice in {set:?}");
                }
            }
        }
        assert_eq!(seen.len(), problem.blocks().len(), "{name}");
        if name.starts_with("pile:") {
            // The point of colours: contacts really are visited eight at a time.
            assert!(6 * sets.len() < seen.len(), "{} sets", sets.len());
        }
    }
}

#[test]
fn sweeps_are_those_of_gauss_seidel_in_the_order_of_the_sets() {
    for (name, problem) in problems() {
        for rule in [Rule::Iso, Rule::Exact, Rule::Box, Rule::Ccp] {
            for order in [Order::Forward, Order::Backward, Order::Symmetric] {
                for relax in [0.8, 1.0, 1.2] {
                    let stop = exactly(5);
                    let mut solver = coloured(rule, order, relax, stop);
                    let sets = solver.sets(&problem).concat();
                    let same = reordered(&problem, &sets);
                    let mut sequential = GaussSeidel {
                        stop,
                        rule,
                        order,
                        relax,
                        ..GaussSeidel::default()
                    };
                    let what = format!("{name} {}", label(&sequential));
                    let mut expected = Solution::zeros(&same);
                    let wanted = sequential.solve(&same, &mut expected);
                    let mut solution = Solution::zeros(&problem);
                    let report = solver.solve(&problem, &mut solution);
                    let scale = 1.0 + max_abs(&expected.lambda).max(max_abs(&expected.v));
                    for (k, block) in sets.iter().zip(same.blocks()) {
                        let own = &solution.lambda[problem.blocks()[k.index()].rows()];
                        let off = distance(own, &expected.lambda[block.rows()]);
                        assert!(off <= ROUNDING * scale, "{what}: {k} off by {off:e}");
                    }
                    let off = distance(&solution.v, &expected.v);
                    assert!(off <= ROUNDING * scale, "{what}: v off by {off:e}");
                    for (a, b) in report.history.iter().zip(&wanted.history) {
                        let limit = 1e-9 * (a.eta + scale * 1e-6);
                        assert!((a.eta - b.eta).abs() <= limit, "{what}: {a:?} {b:?}");
                        let limit = 1e-9 * (a.dual_decrease.abs() + scale * scale * 1e-6);
                        let off = (a.dual_decrease - b.dual_decrease).abs();
                        assert!(off <= limit, "{what}: {a:?} {b:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for (name, problem) in problems() {
        for spec in [
            "coloured",
            "coloured,order=symmetric,relax=1.2",
            "coloured,rule=exact",
        ] {
            let answer = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                pool.build().unwrap().install(|| {
                    let mut solution = Solution::zeros(&problem);
                    let mut solver = from_spec(spec, exactly(7), 0).unwrap();
                    let report = solver.solve(&problem, &mut solution);
                    let eta: Vec<u64> = report.history.iter().map(|s| s.eta.to_bits()).collect();
                    (solution, eta)
                })
            };
            let one = answer(1);
            assert_eq!(one, answer(2), "{name} {spec}");
            assert_eq!(one, answer(4), "{name} {spec}");
        }
    }
}

#[test]
fn arrays_kept_from_another_problem_change_nothing() {
    let mut solver = coloured(Rule::Iso, Order::Forward, 1.0, exactly(4));
    for (name, problem) in problems() {
        let (mut kept, mut fresh) = (Solution::zeros(&problem), Solution::zeros(&problem));
        solver.solve(&problem, &mut kept);
        coloured(Rule::Iso, Order::Forward, 1.0, exactly(4)).solve(&problem, &mut fresh);
        assert_eq!(kept, fresh, "{name}");
    }
}

#[test]
fn dual_problems_are_swept_in_sequence() {
    let problem = gallery::build("stack:4").unwrap().to_dual();
    let (mut a, mut b) = (Solution::zeros(&problem), Solution::zeros(&problem));
    coloured(Rule::Iso, Order::Forward, 1.0, exactly(9)).solve(&problem, &mut a);
    GaussSeidel {
        stop: exactly(9),
        ..GaussSeidel::default()
    }
    .solve(&problem, &mut b);
    assert_eq!(a, b);
    assert!(Coloured::default().sets(&problem).is_empty());
}

#[test]
fn bad_relaxation_is_a_breakdown_and_bad_keys_are_named() {
    let problem = one_body(3);
    for relax in [0.0, 2.0, f64::NAN] {
        let mut solver = coloured(Rule::Iso, Order::Forward, relax, exactly(3));
        let report = solver.solve(&problem, &mut Solution::zeros(&problem));
        assert_eq!(report.status, Status::Breakdown);
    }
    let error = |spec| from_spec(spec, exactly(1), 0).err().unwrap().to_string();
    assert!(error("coloured,order=shuffle").contains("forward, backward, symmetric"));
    assert!(error("coloured,sweep=local").contains("rule, order, relax"));
    assert!(error("coloured,relax=3").contains("between 0 and 2"));
}

/// Law residual after each of so many sweeps from a cold start.
fn residuals(spec: &str, problem: &Problem, iterations: usize) -> Vec<f64> {
    let stop = Stop {
        record: Record::Residuals,
        ..exactly(iterations)
    };
    let mut solver = from_spec(spec, stop, 0).unwrap();
    let report = solver.solve(problem, &mut Solution::zeros(problem));
    report.history.iter().map(|s| s.law.unwrap()).collect()
}

#[test]
fn the_order_costs_at_most_a_factor_of_two_in_the_residual() {
    // Measured after 10, 50 and 200 sweeps: pile 1.2, 1.7, 1.4; stack 1.7, 1.7, 1.5; a chain of joints keeps its order.
    for (name, factor) in [
        ("pile:3000", 2.0),
        ("stack:10", 2.0),
        ("chain:30", 1.0 + 1e-6),
    ] {
        let problem = gallery::build(name).unwrap();
        let sequential = residuals("gauss-seidel", &problem, 200);
        let own = residuals("coloured", &problem, 200);
        for k in [10, 50, 200] {
            let (a, b) = (own[k - 1], sequential[k - 1]);
            println!(
                "{name} after {k} sweeps: {a:.2e}, in sequence {b:.2e}, factor {:.2}",
                a / b
            );
            assert!(
                a <= factor * b + ROUNDING,
                "{name} after {k} sweeps: {a:e} {b:e}"
            );
        }
    }
}
