//! The direct solver: chains, trees, rings, nets and stars against dense elimination; redundant rows; heavy ends;
//! islands side by side; time linear in the number of rows.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::planted::{Recipe, planted};
use common::scenes::{self, grid, joined, star};
use common::{dense, distance, solve};
use delassus::math::{DVec3, Random};
use delassus::problem::delassus::BlockMatrix;
use delassus::problem::jacobian::point_rows;
use delassus::{
    Direct, Law, MassBlock, MassId, Problem, Residual, Solution, Solver, Status, Stop, gallery,
};

/// Velocities of size one against dense elimination [m/s].
const DENSE: f64 = 1e-12;

fn strict() -> Direct {
    Direct {
        stop: Stop {
            tolerance: 1e-12,
            sweeps: 10,
            ..Stop::default()
        },
        ..Direct::default()
    }
}

/// Solves and compares with dense elimination of S λ = −c.
fn assert_exact(problem: &Problem, what: &str) {
    let (report, solution) = solve(&mut strict(), problem);
    assert_eq!(report.status, Status::Solved, "{what}: {report}");
    let a = dense::assemble(problem);
    let minus_c: Vec<f64> = a.c.iter().map(|c| -c).collect();
    let exact = Solution::from_lambda(problem, dense::solve(&a.s, &minus_c));
    let size = exact.v.iter().fold(1.0, |m: f64, v| v.abs().max(m));
    let off = distance(&solution.v, &exact.v);
    assert!(off <= DENSE * size, "{what}: v off by {off:e}");
}

/// A chain of n bodies, hanging from the ground or floating, closed to a ring or not.
fn line(n: usize, anchored: bool, ring: bool) -> Problem {
    let place = |i: usize| {
        let turn = std::f64::consts::TAU * i as f64 / n as f64;
        let r = n as f64 / std::f64::consts::TAU;
        DVec3::new(r * turn.cos(), r * turn.sin(), 0.3 * (i % 3) as f64)
    };
    let bodies: Vec<_> = (0..n).map(|i| (1.0 + (i % 4) as f64, place(i))).collect();
    let mut joints: Vec<_> = (1..n).map(|i| (i, Some(i - 1))).collect();
    if anchored {
        joints.push((0, None));
    }
    if ring {
        joints.push((0, Some(n - 1)));
    }
    joined(&bodies, &joints)
}

/// A tree in which every body has `branches` children; its root hangs from the ground or floats.
fn tree(n: usize, branches: usize, anchored: bool) -> Problem {
    let mut random = Random::new(3);
    let bodies: Vec<_> = (0..n)
        .map(|_| (random.range(0.5, 2.0), random.vector() * 5.0))
        .collect();
    let mut joints: Vec<_> = (1..n).map(|i| (i, Some((i - 1) / branches))).collect();
    if anchored {
        joints.insert(n / 3, (0, None));
    }
    joined(&bodies, &joints)
}

#[test]
fn chains_trees_rings_nets_and_stars_agree_with_dense_elimination() {
    for n in [1, 2, 3, 10, 30] {
        assert_exact(&line(n, true, false), &format!("hanging chain of {n}"));
    }
    for n in [2, 3, 10, 30] {
        assert_exact(&line(n, false, false), &format!("floating chain of {n}"));
    }
    for n in [4, 5, 12] {
        assert_exact(&line(n, false, true), &format!("floating ring of {n}"));
        assert_exact(&line(n, true, true), &format!("hanging ring of {n}"));
    }
    for branches in [2, 3, 7] {
        for anchored in [false, true] {
            let what = format!("tree with {branches} branches, anchored {anchored}");
            assert_exact(&tree(25, branches, anchored), &what);
        }
    }
    for n in [2, 3, 5] {
        assert_exact(&grid(n), &format!("net of {n} × {n}"));
    }
    assert_exact(&star(12, 20.0), "star");
    assert_exact(&gallery::build("chain:40").unwrap(), "chain");
    assert_exact(&scenes::chain(20, 1e-3, 2), "compliant chain");
}

#[test]
fn random_masses_rows_and_couplings_agree_with_the_planted_answer() {
    // Dense and rigid masses, blocks of 1 to 5 rows on 1 to 4 of them, with and without compliance.
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let count = 3 + random.below(8);
        let recipe = Recipe {
            blocks: (0..count)
                .map(|_| (Law::Equality, 1 + random.below(5)))
                .collect(),
            masses: count + 2,
            touches: 1 + random.below(4),
            mixed: true,
            sigma: if seed % 2 == 0 {
                (0.0, 0.0)
            } else {
                (0.01, 0.5)
            },
        };
        let planted = planted(&recipe, seed);
        let (report, solution) = solve(&mut strict(), &planted.problem);
        assert_eq!(report.status, Status::Solved, "{seed}: {report}");
        let off = distance(&solution.v, &planted.answer.v);
        assert!(off <= 1e-9, "{seed}: v off by {off:e}");
        // The same matrix given as such.
        let (report, dual) = solve(&mut strict(), &planted.problem.to_dual());
        assert_eq!(report.status, Status::Solved, "{seed}: {report}");
        let back = Solution::from_lambda(&planted.problem, dual.lambda);
        assert!(distance(&back.v, &planted.answer.v) <= 1e-9, "{seed}");
    }
}

#[test]
fn redundant_loops_are_solved_and_named() {
    // A four-bar linkage of hinges whose axes are parallel: twenty rows, three of them redundant.
    let corners = [
        DVec3::ZERO,
        DVec3::new(0.0, 0.0, 1.0),
        DVec3::new(1.5, 0.0, 1.2),
        DVec3::new(2.0, 0.0, 0.0),
    ];
    let mut builder = Problem::builder();
    for i in 0..3 {
        let p = [0.3, -0.1 * f64::from(i), 0.2, 0.1, 0.4, 0.0];
        builder.add_mass(scenes::ball(1.0, 0.3), &p).unwrap();
    }
    let centre = |i: usize| 0.5 * (corners[i] + corners[i + 1]);
    for (i, &corner) in corners.iter().enumerate() {
        let mut rows: Vec<(MassId, Vec<f64>)> = Vec::new();
        for (body, sign) in [(i.checked_sub(1), -1.0), ((i < 3).then_some(i), 1.0)] {
            if let Some(b) = body {
                let mut g = point_rows(DVec3::AXES, corner - centre(b), sign).to_vec();
                for axis in [3, 5] {
                    let mut row = [0.0; 6];
                    row[axis] = sign;
                    g.extend(row);
                }
                rows.push((MassId(b as u32), g));
            }
        }
        let rows: Vec<(MassId, &[f64])> = rows.iter().map(|(b, g)| (*b, g.as_slice())).collect();
        builder
            .add_block(Law::Equality, &rows, &[0.0; 5], &[0.0; 5])
            .unwrap();
    }
    let problem = builder.build().unwrap();
    let mut solver = strict();
    let (report, solution) = solve(&mut solver, &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
    assert!(!solver.redundant().is_empty());
    let message = report.message.unwrap();
    let name = solver.redundant()[0].to_string();
    assert!(
        message.contains(&name) && message.contains("depend"),
        "{message}"
    );
    // One motion is left to it, and it is the one that a little compliance gives.
    assert!(0.01 < solution.v.iter().fold(0.0, |m: f64, v| v.abs().max(m)));
    assert!(report.residual.law < 1e-12);
}

#[test]
fn rows_written_twice_and_rows_that_conflict_are_told_apart() {
    let mut builder = Problem::builder();
    let body = builder
        .add_mass(scenes::ball(1.0, 0.5), &[1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
        .unwrap();
    let rows = point_rows(DVec3::AXES, DVec3::X, 1.0);
    for _ in 0..3 {
        builder
            .add_block(Law::Equality, &[(body, &rows)], &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    let (report, _) = solve(&mut strict(), &builder.build().unwrap());
    assert_eq!(report.status, Status::Solved, "{report}");
    assert!(report.message.unwrap().contains("2 blocks"));
    let (report, _) = solve(&mut strict(), &scenes::conflict(Law::Equality));
    assert_eq!(report.status, Status::Stalled, "{report}");
    assert!(report.message.unwrap().contains("block"));
    // A row that moves nothing at all.
    let mut builder = Problem::builder();
    builder
        .add_block(Law::Equality, &[], &[0.0], &[1.0])
        .unwrap();
    let (report, _) = solve(&mut strict(), &builder.build().unwrap());
    assert_eq!(report.status, Status::Stalled, "{report}");
}

#[test]
fn nets_with_more_rows_than_motions_do_not_break() {
    // Bodies welded to all their neighbours: most rows are redundant, and pivots are singular everywhere.
    let n = 4;
    let mut builder = Problem::builder();
    let mut random = Random::new(8);
    for _ in 0..n * n {
        let p: Vec<f64> = (0..6).map(|_| random.range(-1.0, 1.0)).collect();
        builder.add_mass(scenes::ball(1.0, 0.5), &p).unwrap();
    }
    let weld = |arm: DVec3, sign: f64| {
        let mut g = point_rows(DVec3::AXES, arm, sign).to_vec();
        for axis in 0..3 {
            let mut row = [0.0; 6];
            row[3 + axis] = sign;
            g.extend(row);
        }
        g
    };
    for i in 0..n {
        for j in 0..n {
            let here = (i * n + j) as u32;
            for (ok, step, there) in [
                (0 < i, DVec3::X, here.wrapping_sub(n as u32)),
                (0 < j, DVec3::Y, here.wrapping_sub(1)),
            ] {
                if ok {
                    let (a, b) = (weld(-0.5 * step, 1.0), weld(0.5 * step, -1.0));
                    let rows: [(MassId, &[f64]); 2] = [(MassId(here), &a), (MassId(there), &b)];
                    builder
                        .add_block(Law::Equality, &rows, &[0.0; 6], &[0.0; 6])
                        .unwrap();
                }
            }
        }
    }
    let problem = builder.build().unwrap();
    let mut solver = strict();
    let (report, solution) = solve(&mut solver, &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
    assert_eq!(solver.redundant().len(), (n - 1) * (n - 1));
    // All bodies move as one: the same spin everywhere.
    for v in solution.v.chunks_exact(6) {
        assert!(distance(&v[3..], &solution.v[3..6]) < 1e-10);
    }
}

#[test]
fn heavy_ball_at_the_end_of_a_chain_is_held() {
    for ratio in [1.0, 1e2, 1e4] {
        let mut bodies: Vec<_> = (0..40).map(|i| (1.0, DVec3::X * f64::from(i))).collect();
        bodies[39].0 = ratio;
        let joints: Vec<_> = (0..40).map(|i: usize| (i, i.checked_sub(1))).collect();
        let problem = joined(&bodies, &joints);
        let (report, _) = solve(&mut strict(), &problem);
        assert_eq!(report.status, Status::Solved, "{ratio}: {report}");
        assert!(report.residual.law < 1e-11, "{ratio}: {report}");
    }
}

#[test]
fn islands_side_by_side_have_the_bits_of_one_alone() {
    // 1 to 21 chains of 7 and as many of 5: full teams of eight, filled ones and single ones.
    let add = |builder: &mut delassus::ProblemBuilder, random: &mut Random, n: usize| {
        let mut previous: Option<MassId> = None;
        for _ in 0..n {
            let p: Vec<f64> = (0..6).map(|_| random.range(-1.0, 1.0)).collect();
            let body = builder.add_mass(scenes::ball(1.0, 0.1), &p).unwrap();
            let own = point_rows(DVec3::AXES, random.vector(), 1.0);
            let other = point_rows(DVec3::AXES, random.vector(), -1.0);
            let mut rows: Vec<(MassId, &[f64])> = vec![(body, &own)];
            rows.extend(previous.map(|b| (b, other.as_slice())));
            builder
                .add_block(Law::Equality, &rows, &[0.0; 3], &[0.0; 3])
                .unwrap();
            previous = Some(body);
        }
    };
    for count in [1, 3, 8, 9, 12, 21] {
        let mut together = Problem::builder();
        let mut random = Random::new(5);
        for _ in 0..count {
            add(&mut together, &mut random, 7);
            add(&mut together, &mut random, 5);
        }
        // One solve without refinement, which would depend on the worst island.
        let mut once = strict();
        (once.stop.tolerance, once.stop.sweeps) = (0.0, 1);
        let (_, all) = solve(&mut once, &together.build().unwrap());
        let mut random = Random::new(5);
        let mut alone = Vec::new();
        for _ in 0..count {
            for n in [7, 5] {
                let mut builder = Problem::builder();
                add(&mut builder, &mut random, n);
                alone.extend(solve(&mut once, &builder.build().unwrap()).1.lambda);
            }
        }
        assert_eq!(all.lambda, alone, "{count} of each");
    }
}

#[test]
fn kept_analysis_follows_the_topology() {
    let mut solver = strict();
    let problems = [
        line(9, true, false),
        star(5, 2.0),
        line(9, true, true),
        line(9, true, true).to_dual(),
        gallery::build("chain:9").unwrap(),
        line(9, true, false),
    ];
    for problem in &problems {
        let (report, kept) = solve(&mut solver, problem);
        assert_eq!(report.status, Status::Solved, "{report}");
        assert_eq!(kept, solve(&mut strict(), problem).1);
    }
}

#[test]
fn contacts_and_skew_matrices_are_refused() {
    let problem = gallery::build("slide").unwrap();
    let (report, _) = solve(&mut strict(), &problem);
    assert_eq!(report.status, Status::Unsupported);
    let entries = [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 0.5), (1, 1, 2.0)];
    let matrix = BlockMatrix::from_entries(&[1, 1], &entries).unwrap();
    let problem = Problem::dual(matrix, vec![1.0, 1.0], &[Law::Equality; 2]).unwrap();
    let (report, _) = solve(&mut strict(), &problem);
    assert_eq!(report.status, Status::Unsupported);
}

/// A matrix may list a zero on one side of its diagonal and not on the other. It couples nothing, but an order of
/// elimination that believes one side would point backwards.
#[test]
fn a_zero_listed_on_one_side_alone_couples_nothing() {
    let entries = [(0, 0, 2.0), (0, 1, 0.0), (1, 1, 1.0), (2, 2, 4.0)];
    let matrix = BlockMatrix::from_entries(&[1, 1, 1], &entries).unwrap();
    let problem = Problem::dual(matrix, vec![-1.0; 3], &[Law::Equality; 3]).unwrap();
    let (report, solution) = solve(&mut strict(), &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
    assert_eq!(solution.lambda, [0.5, 1.0, 0.25]);
}

#[test]
fn warm_start_does_not_change_the_answer() {
    let problem = gallery::build("chain:12").unwrap();
    let (_, cold) = solve(&mut strict(), &problem);
    let mut warm = Solution::from_lambda(&problem, vec![0.7; problem.n_rows()]);
    strict().solve(&problem, &mut warm);
    assert_eq!(cold, warm);
    assert!(Residual::of(&problem, &warm).law < 1e-12);
}

#[test]
fn work_is_linear_in_the_number_of_rows() {
    for make in [
        |n| line(n, true, false),
        |n| tree(n, 2, true),
        |n| star(n, 1.0),
    ] {
        let size = |n: usize| {
            // Sixteen thousand links hang on the first one: rounding may leave more than 1e-8 m/s there.
            let mut solver = Direct::default();
            solver.stop.tolerance = 1e-7;
            let (report, _) = solve(&mut solver, &make(n));
            assert_eq!(report.status, Status::Solved, "{report}");
            solver.size()
        };
        let (small, large) = (size(1_000), size(16_000));
        assert!(large.numbers <= 17 * small.numbers, "{small:?} {large:?}");
        assert!(large.updates <= 17 * small.updates, "{small:?} {large:?}");
    }
}

#[test]
fn mass_blocks_may_be_dense_and_wide() {
    // Five ball joints on one mass of 20 velocities, which is condensed, and on small ones, which are kept.
    let mut random = Random::new(2);
    let mut builder = Problem::builder();
    let spd = |random: &mut Random, n: usize| -> Vec<f64> {
        let a: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
        let entry = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum::<f64>();
        (0..n * n)
            .map(|e| entry(e / n, e % n) + f64::from(e / n == e % n))
            .collect()
    };
    let wide = MassBlock::dense(spd(&mut random, 20)).unwrap();
    let wide = builder.add_mass(wide, &[0.3; 20]).unwrap();
    let small = MassBlock::dense(spd(&mut random, 4)).unwrap();
    let small = builder.add_mass(small, &[0.1, 0.2, 0.3, 0.4]).unwrap();
    for _ in 0..5 {
        let own = builder.add_mass(scenes::ball(1.0, 0.4), &[0.5; 6]).unwrap();
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| random.range(-1.0, 1.0)).collect() };
        let (a, b, c) = (draw(60), draw(18), draw(12));
        let rows: [(MassId, &[f64]); 3] = [(wide, &a), (own, &b), (small, &c)];
        builder
            .add_block(Law::Equality, &rows, &[0.0; 3], &[0.1; 3])
            .unwrap();
    }
    assert_exact(&builder.build().unwrap(), "dense masses");
}
