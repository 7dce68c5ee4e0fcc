//! The hybrid solver: every law beside joints on planted problems, a heavy ball on a chain that hangs or lies on the
//! ground, agreement with Gauss-Seidel where answers are unique.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::planted::{Recipe, planted};
use common::{distance, scenes, solve};
use delassus::math::{DVec3, Random, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::solver::Rule;
use delassus::{
    Direct, Fit, GaussSeidel, Hybrid, Law, MassId, Problem, Solver, Status, Stop, gallery,
};

/// Law residual that a solved problem must reach [m/s].
const LAW: f64 = 1e-10;
/// Distance of v to a unique answer [m/s]: the residual times the condition of these problems (below 1e3).
const VELOCITY: f64 = 1e-7;

fn hybrid(rule: Rule) -> Hybrid {
    Hybrid {
        stop: Stop {
            tolerance: LAW,
            sweeps: 50_000,
            ..Stop::default()
        },
        rule,
        ..Hybrid::default()
    }
}

#[test]
fn every_law_beside_joints_recovers_the_planted_answer() {
    let laws = [
        (Law::Equality, 3),
        (Law::Unilateral, 2),
        (Law::Interval { lo: -0.4, hi: 0.3 }, 2),
        (Law::FrictionBox { mu: 0.4 }, 3),
        (Law::FrictionBox { mu: 0.4 }, 2),
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::FrictionCone { mu: 0.0 }, 3),
        (Law::FrictionCone { mu: 0.4 }, 2),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::EllipticCone { mu: [0.5, 0.0] }, 3),
    ];
    for law in laws {
        for seed in 0..6 {
            // Every other block is a joint; some masses are dense, some rows compliant.
            let recipe = Recipe {
                blocks: (0..8)
                    .map(|i| if i % 2 == 0 { (Law::Equality, 2) } else { law })
                    .collect(),
                mixed: seed % 2 == 0,
                sigma: if seed % 3 == 0 {
                    (0.0, 0.1)
                } else {
                    (0.0, 0.0)
                },
                ..Recipe::chain(Law::Equality, 1, 8)
            };
            let planted = planted(&recipe, seed);
            for rule in [Rule::Iso, Rule::Exact] {
                let mut solver = hybrid(rule);
                assert_eq!(solver.fit_of(&planted.problem), Fit::Exact);
                let (report, solution) = solve(&mut solver, &planted.problem);
                let what = format!("{law:?} {rule:?} seed {seed}: {report}");
                assert_eq!(report.status, Status::Solved, "{what}");
                assert!(report.residual.momentum < 1e-12, "{what}");
                let off = distance(&solution.v, &planted.answer.v);
                assert!(off <= VELOCITY, "{what}: v off by {off:e}");
                // And from the answer one sweep is enough.
                let mut warm = planted.answer.clone();
                let report = solver.solve(&planted.problem, &mut warm);
                assert_eq!((report.iterations, report.status), (1, Status::Solved));
            }
        }
    }
}

/// A chain of beads from an anchor in the air down to the ground and along it, with a heavy ball at its end; one
/// step of gravity. `contacts` beads at the end lie on the ground.
fn chain_on_ground(beads: usize, contacts: usize, ratio: f64, mu: f64) -> Problem {
    let r = 0.05;
    let mut random = Random::new(11);
    let mut builder = Problem::builder();
    let hanging = beads - contacts;
    let mut ids = Vec::new();
    let mut arms = Vec::new();
    for i in 0..beads {
        let mass = if i + 1 == beads { ratio } else { 1.0 };
        // Hanging beads lean a little, those on the ground lie straight.
        let axis = if i < hanging {
            DVec3::new(0.3, 0.0, -1.0).normalize()
        } else {
            DVec3::X
        };
        arms.push(axis * r);
        let push = random.vector() * 0.2 + DVec3::new(0.3, 0.1, 0.0);
        let p = (push - DVec3::Z * 0.0981) * mass;
        let p = [p.x, p.y, p.z, 0.0, 0.0, 0.0];
        ids.push(builder.add_mass(scenes::ball(mass, r), &p).unwrap());
    }
    for i in 0..beads {
        let own = point_rows(DVec3::AXES, -arms[i], 1.0);
        let mut rows: Vec<(MassId, &[f64])> = vec![(ids[i], &own)];
        let other;
        if 0 < i {
            other = point_rows(DVec3::AXES, arms[i - 1], -1.0);
            rows.push((ids[i - 1], &other));
        }
        builder
            .add_block(Law::Equality, &rows, &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    let (t1, t2) = tangents(DVec3::Z);
    for &id in &ids[hanging..] {
        let rows = point_rows([DVec3::Z, t1, t2], -DVec3::Z * r, 1.0);
        let law = Law::FrictionCone { mu };
        builder
            .add_block(law, &[(id, &rows)], &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn heavy_ball_hangs_on_a_long_chain_or_lies_on_the_ground() {
    for ratio in [1.0, 100.0, 10_000.0] {
        for contacts in [0, 1, 5, 20, 40] {
            let problem = chain_on_ground(40, contacts, ratio, 0.3);
            let (report, _) = solve(&mut hybrid(Rule::Iso), &problem);
            let what = format!("ratio {ratio}, {contacts} contacts: {report}");
            assert_eq!(report.status, Status::Solved, "{what}");
        }
    }
}

#[test]
fn far_fewer_sweeps_than_gauss_seidel_where_weight_hangs_on_a_chain() {
    let problem = chain_on_ground(40, 5, 10_000.0, 0.3);
    let (report, _) = solve(&mut hybrid(Rule::Iso), &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
    let mut sweeps = GaussSeidel::default();
    (sweeps.stop.tolerance, sweeps.stop.sweeps) = (LAW, 50 * report.iterations);
    let (slow, _) = solve(&mut sweeps, &problem);
    assert_ne!(slow.status, Status::Solved, "{slow}");
}

#[test]
fn unique_answers_are_those_of_gauss_seidel() {
    // Without friction v is unique; so it is with friction on the few contacts here.
    for (contacts, mu) in [(6, 0.0), (12, 0.0), (3, 0.3)] {
        let problem = chain_on_ground(12, contacts, 5.0, mu);
        let (report, ours) = solve(&mut hybrid(Rule::Iso), &problem);
        assert_eq!(report.status, Status::Solved, "{report}");
        let mut sweeps = GaussSeidel::default();
        (sweeps.stop.tolerance, sweeps.stop.sweeps) = (1e-12, 2_000_000);
        let (other, theirs) = solve(&mut sweeps, &problem);
        assert_eq!(other.status, Status::Solved, "{other}");
        let off = distance(&ours.v, &theirs.v);
        assert!(off < VELOCITY, "{contacts} contacts, μ = {mu}: {off:e}");
    }
}

#[test]
fn joints_alone_are_those_of_the_direct_solver() {
    let problem = gallery::build("chain:20").unwrap();
    let (report, ours) = solve(&mut hybrid(Rule::Iso), &problem);
    assert_eq!((report.status, report.iterations), (Status::Solved, 1));
    let (_, direct) = solve(&mut Direct::default(), &problem);
    assert!(distance(&ours.v, &direct.v) < 1e-12);
}

#[test]
fn built_in_problems_are_solved() {
    for name in ["slide", "rod", "stack:5", "pile:200", "machine", "corner"] {
        let problem = gallery::build(name).unwrap();
        let mut solver = hybrid(Rule::Iso);
        solver.stop.tolerance = 1e-8;
        let (report, _) = solve(&mut solver, &problem);
        assert_eq!(report.status, Status::Solved, "{name}: {report}");
    }
}

#[test]
fn contact_that_joints_hold_fast_is_left_alone() {
    // A body welded to the ground, with a contact pushing at it: nothing moves, nothing breaks.
    let mut builder = Problem::builder();
    let body = builder
        .add_mass(scenes::ball(1.0, 0.5), &[0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
        .unwrap();
    let mut rows = point_rows(DVec3::AXES, DVec3::X, 1.0).to_vec();
    for axis in 3..6 {
        let mut row = [0.0; 6];
        row[axis] = 1.0;
        rows.extend(row);
    }
    builder
        .add_block(Law::Equality, &[(body, &rows)], &[0.0; 6], &[0.0; 6])
        .unwrap();
    let rows = point_rows([DVec3::Z, DVec3::X, DVec3::Y], DVec3::Z * -0.5, 1.0);
    builder
        .add_block(
            Law::FrictionCone { mu: 0.4 },
            &[(body, &rows)],
            &[0.0; 3],
            &[0.0; 3],
        )
        .unwrap();
    let problem = builder.build().unwrap();
    let (report, solution) = solve(&mut hybrid(Rule::Iso), &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
    assert!(solution.v.iter().all(|v| v.abs() < 1e-12));
}

#[test]
fn facets_and_dual_problems_are_refused() {
    let law = Law::FrictionFacets {
        mu: 0.4,
        directions: 4,
    };
    let facets = planted(&Recipe::chain(law, 3, 2), 1).problem;
    assert_eq!(
        solve(&mut hybrid(Rule::Iso), &facets).0.status,
        Status::Unsupported
    );
    let dual = gallery::build("stack:2").unwrap().to_dual();
    assert_eq!(
        solve(&mut hybrid(Rule::Iso), &dual).0.status,
        Status::Unsupported
    );
}
