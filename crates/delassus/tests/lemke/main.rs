//! Constraint problems by Lemke's method: files of others, stored contacts, published experiments, every law.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot build its problem must stop there, and one that is skipped must say so"
)]

mod artisynth;
#[path = "../lemke_contact/lloyd.rs"]
mod lloyd;

use std::fs;
use std::path::PathBuf;

use delassus::math::{DMat3, Random};
use delassus::problem::Form;
use delassus::problem::delassus::BlockMatrix;
use delassus::problem::file::{FileContent, Format, Loaded, parse};
use delassus::solver::from_spec;
use delassus::solver::pivot::{CoverChoice, Lcp, Method, Pivot};
use delassus::{
    BlockId, Fit, GaussSeidel, Law, Lemke, MassBlock, Problem, Report, Residual, Solution, Solver,
    Status, Stop,
};

const METHODS: [Method; 4] = [
    Method::Best,
    Method::Reduced,
    Method::Structural,
    Method::Standard,
];

fn size(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// The judge's tolerance: a share of the row velocities without impulses.
fn stop(problem: &Problem, share: f64) -> Stop {
    Stop {
        tolerance: (share * size(problem.c())).max(1e-14),
        pivots: 1_000_000,
        ..Stop::default()
    }
}

fn by(method: Method, pivot: Pivot, problem: &Problem) -> (Report, Solution) {
    let mut solver = Lemke::new(method);
    solver.pivot = pivot;
    solver.stop = stop(problem, 1e-9);
    let mut solution = Solution::default();
    let report = solver.solve(problem, &mut solution);
    (report, solution)
}

fn problem_of(loaded: Loaded) -> Problem {
    match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        _ => panic!("no problem"),
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = lloyd::shared(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// A ray that proves that there is no answer: y ≥ 0 outside equalities, Sᵀy ≤ 0 (= 0 for equalities), cᵀy < 0.
fn assert_proof(problem: &Problem, report: &Report, what: &str) {
    let certificate = report.certificate.as_ref().expect(what);
    let y = certificate.farkas.as_ref().expect(what);
    assert!(Lcp::of_problem(problem, 8).is_farkas(y), "{what}");
}

#[cfg(feature = "files")]
#[test]
fn files_of_complementarity_problems_are_solved_and_one_game_by_another_start() {
    for folder in ["LCP", "MLCP"] {
        for path in files(&format!("data/siconos_dat/{folder}")) {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let problem = problem_of(parse(&fs::read(&path).unwrap(), Format::Dat(None)).unwrap());
            for method in [Method::Best, Method::Standard] {
                for pivot in [Pivot::Big, Pivot::Lex] {
                    let (report, _) = by(method, pivot, &problem);
                    let what = format!("{name} {}: {report}", method.name());
                    // A game of two players: from the usual start there is a ray, whatever the covering vector.
                    if name == "lcp_CPS_3" && method == Method::Standard {
                        assert_eq!(report.status, Status::Ray, "{what}");
                        continue;
                    }
                    assert_eq!(report.status, Status::Solved, "{what}");
                    let law = report.residual.law;
                    assert!(law <= 1e-10 * size(problem.c()), "{what}: {law:e}");
                }
            }
        }
    }
}

#[test]
fn equalities_that_contradict_each_other_end_on_a_ray_that_proves_it() {
    // z₀ + z₁ = 1 and z₀ + z₁ = 2, with z₀, z₁ ≥ 0 and two multipliers of any sign.
    let rows = [
        [1.0, 0.0, -1.0, -1.0],
        [0.0, 2.0, -1.0, -1.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
    ];
    let text = serde_json::json!({
        "schema": "delassus-problem-1", "kind": "lcp",
        "M": rows, "q": [0.0, 0.0, -1.0, -2.0], "free": [2, 3],
    });
    let problem = problem_of(parse(text.to_string().as_bytes(), Format::Json).unwrap());
    for method in [Method::Best, Method::Standard] {
        let (report, _) = by(method, Pivot::Big, &problem);
        assert_eq!(report.status, Status::Ray);
        assert_proof(&problem, &report, method.name());
    }
}

#[test]
fn stored_contacts_are_solved_by_every_method_in_both_forms() {
    for path in files("oracle/cases") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        if !matches!(value["kind"].as_str(), Some("contact" | "rows" | "joints")) {
            continue;
        }
        let problem = problem_of(parse(&bytes, Format::Json).unwrap());
        for problem in [problem.to_dual(), problem] {
            for method in METHODS {
                let (report, solution) = by(method, Pivot::Big, &problem);
                let what = format!("{name} {}: {report}", method.name());
                if value["expect"]["status"] == "infeasible" {
                    assert_eq!(report.status, Status::Ray, "{what}");
                    continue;
                }
                assert_eq!(report.status, Status::Solved, "{what}");
                let unique = value["expect"]["v"].as_array();
                let primal = matches!(problem.form(), Form::Primal(_));
                if let (Some(v), true, Fit::Exact) = (unique, primal, report.fit) {
                    for (ours, v) in solution.v.iter().zip(v) {
                        let gap = (ours - v.as_f64().unwrap()).abs();
                        assert!(gap <= 1e-7 * (1.0 + size(&solution.v)), "{what}: {gap:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn published_experiments_are_solved_by_the_dense_method_and_by_the_driver() {
    for geometry in lloyd::all() {
        for load in 0..geometry.loads() {
            let problem = geometry.problem(load, lloyd::facets, 0.0);
            for (method, pivot) in [
                (Method::Standard, Pivot::Big),
                (Method::Standard, Pivot::Lex),
                (Method::Best, Pivot::Big),
            ] {
                // The lexicographic rule is slow here; a few of each do.
                if pivot == Pivot::Lex && 2 <= load {
                    continue;
                }
                let (report, _) = by(method, pivot, &problem);
                let what = format!("{} {load}: {report}", geometry.name);
                assert_eq!(report.status, Status::Solved, "{what}");
                assert!(report.residual.law <= 1e-9 * size(problem.c()), "{what}");
            }
        }
    }
}

#[test]
fn single_bodies_of_another_engine_are_solved() {
    let problems = artisynth::contacts();
    assert!(problems.is_empty() || problems.len() == 16);
    for (i, problem) in problems.iter().enumerate() {
        for method in METHODS {
            let (report, _) = by(method, Pivot::Big, problem);
            assert_eq!(report.status, Status::Solved, "{i} {report}");
            assert!(report.residual.law <= 1e-12, "{i} {report}");
        }
    }
}

#[test]
fn blocks_with_limited_friction_move_as_they_are_known_to() {
    let problems = artisynth::limited();
    assert!(problems.is_empty() || problems.len() == 13);
    for (i, known) in problems.iter().enumerate() {
        for method in METHODS {
            let (report, solution) = by(method, Pivot::Big, &known.problem);
            assert_eq!(report.status, Status::Solved, "{i} {report}");
            let near = |ours: &[f64], wanted: &[f64], most: f64| {
                assert_eq!(ours.len(), wanted.len());
                let gaps = ours.iter().zip(wanted).map(|(a, b)| (a - b).abs());
                let gap = gaps.fold(0.0, f64::max);
                assert!(gap <= most, "{i} {report}: {ours:?} {wanted:?}");
            };
            near(&solution.v, &known.vel, 1e-12);
            let contacts = known.problem.blocks().iter();
            let contacts = contacts
                .filter(|block| block.law == Law::Unilateral)
                .count();
            if let Some(the) = &known.the {
                near(&solution.lambda[..contacts], the, 1e-9);
            }
            if let Some(phi) = &known.phi {
                near(&solution.lambda[contacts..], phi, 1e-9);
            }
        }
    }
}

/// Rows of all bounded laws over one dense mass, compliance on some.
fn bounded(random: &mut Random, friction_box: bool) -> Problem {
    let dim = 6;
    let b: Vec<f64> = (0..dim * dim).map(|_| random.range(-1.0, 1.0)).collect();
    let mut m: Vec<f64> = (0..dim * dim)
        .map(|e| {
            (0..dim)
                .map(|k| b[e / dim * dim + k] * b[e % dim * dim + k])
                .sum()
        })
        .collect();
    (0..dim).for_each(|i| m[i * dim + i] += 0.5);
    let p: Vec<f64> = (0..dim).map(|_| random.range(-2.0, 2.0)).collect();
    let mut builder = Problem::builder();
    let mass = builder.add_mass(MassBlock::dense(m).unwrap(), &p).unwrap();
    let laws = [
        Law::Equality,
        Law::Unilateral,
        Law::Interval { lo: -0.3, hi: 0.4 },
        Law::Interval {
            lo: f64::NEG_INFINITY,
            hi: 0.2,
        },
        Law::Interval {
            lo: -0.1,
            hi: f64::INFINITY,
        },
        Law::Interval { lo: 0.25, hi: 0.25 },
        Law::Interval {
            lo: f64::NEG_INFINITY,
            hi: f64::INFINITY,
        },
    ];
    for _ in 0..4 {
        let law = laws[random.below(laws.len())];
        let n_rows = 1 + random.below(2);
        let rows: Vec<f64> = (0..n_rows * dim).map(|_| random.range(-1.0, 1.0)).collect();
        let sigma = vec![[0.0, 0.05][random.below(2)]; n_rows];
        let q = vec![random.range(-0.2, 0.2); n_rows];
        builder
            .add_block(law, &[(mass, &rows)], &sigma, &q)
            .unwrap();
    }
    if friction_box {
        let rows: Vec<f64> = (0..3 * dim).map(|_| random.range(-1.0, 1.0)).collect();
        let law = Law::FrictionBox { mu: 0.4 };
        builder
            .add_block(law, &[(mass, &rows)], &[1e-3; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn bounded_rows_agree_with_sweeps() {
    let mut random = Random::new(86);
    for case in 0..150 {
        let problem = bounded(&mut random, false);
        let mut sweeps = GaussSeidel {
            stop: stop(&problem, 1e-11),
            ..GaussSeidel::default()
        };
        let mut wanted = Solution::default();
        if sweeps.solve(&problem, &mut wanted).status != Status::Solved {
            continue;
        }
        for method in METHODS {
            let (report, solution) = by(method, Pivot::Big, &problem);
            assert_eq!(report.status, Status::Solved, "{case} {report}");
            let gaps = solution.v.iter().zip(&wanted.v).map(|(a, b)| (a - b).abs());
            let gap = gaps.fold(0.0, f64::max);
            assert!(gap <= 1e-7, "case {case}, {}: {gap:e}", method.name());
        }
    }
}

#[test]
fn box_friction_is_obeyed_exactly_and_round_cones_to_the_facets() {
    let mut random = Random::new(36);
    for _ in 0..100 {
        let problem = bounded(&mut random, true);
        let (report, _) = by(Method::Standard, Pivot::Big, &problem);
        // Free rows may contradict each other; else the judge of the box itself agrees.
        assert_eq!(report.fit, Fit::Exact);
        assert!(
            matches!(report.status, Status::Solved | Status::Ray),
            "{report}"
        );
    }
    for geometry in lloyd::all().iter().take(4) {
        let round = geometry.problem(0, |mu| Law::FrictionCone { mu }, 1e-3);
        let mut last = f64::INFINITY;
        for directions in [8, 64] {
            let spec = format!("lemke-standard,directions={directions}");
            let mut solver = from_spec(&spec, stop(&round, 1e-9), 0).unwrap();
            let mut solution = Solution::default();
            let report = solver.solve(&round, &mut solution);
            assert_eq!(
                (report.status, report.fit),
                (Status::Solved, Fit::Approximate)
            );
            let law = Residual::of(&round, &solution).law;
            assert!(
                law <= last.max(1e-12),
                "{}: {law:e} {last:e}",
                geometry.name
            );
            last = law;
        }
    }
}

#[test]
fn islands_are_solved_one_by_one_and_put_back_in_place() {
    let mut random = Random::new(12);
    let body = |random: &mut Random| {
        let p: Vec<f64> = (0..6).map(|_| random.range(-1.0, 1.0)).collect();
        (
            MassBlock::rigid(1.0 + random.range(0.0, 2.0), DMat3::IDENTITY).unwrap(),
            p,
        )
    };
    for case in 0..30 {
        let parts: Vec<_> = (0..3).map(|_| body(&mut random)).collect();
        let rows: Vec<Vec<f64>> = (0..9)
            .map(|_| (0..18).map(|_| random.range(-1.0, 1.0)).collect())
            .collect();
        let law = Law::FrictionFacets {
            mu: 0.3,
            directions: 6,
        };
        let mut whole = Problem::builder();
        let mut singles = Vec::new();
        let ids: Vec<_> = parts
            .iter()
            .map(|(m, p)| whole.add_mass(m.clone(), p).unwrap())
            .collect();
        for (k, rows) in rows.iter().enumerate() {
            // Blocks of the three bodies take turns.
            whole
                .add_block(law, &[(ids[k % 3], rows)], &[1e-3; 3], &[0.0; 3])
                .unwrap();
        }
        for (b, (mass, p)) in parts.iter().enumerate() {
            let mut single = Problem::builder();
            let id = single.add_mass(mass.clone(), p).unwrap();
            for rows in rows.iter().skip(b).step_by(3) {
                single
                    .add_block(law, &[(id, rows)], &[1e-3; 3], &[0.0; 3])
                    .unwrap();
            }
            singles.push(single.build().unwrap());
        }
        let whole = whole.build().unwrap();
        assert_eq!(whole.islands().len(), 3);
        for method in METHODS {
            let (report, solution) = by(method, Pivot::Big, &whole);
            assert_eq!(report.status, Status::Solved, "{case} {report}");
            let mut pivots = 0;
            for (b, single) in singles.iter().enumerate() {
                let (report, alone) = by(method, Pivot::Big, single);
                pivots += report.iterations;
                for k in 0..3 {
                    let at = 9 * k + 3 * b;
                    assert_eq!(solution.lambda[at..at + 3], alone.lambda[3 * k..3 * k + 3]);
                }
            }
            assert_eq!(report.iterations, pivots);
        }
    }
}

#[test]
fn contradictions_come_with_a_proof_and_limits_are_kept() {
    // 0 ≤ z ⟂ w = −z − 1: no z at all gives w ≥ 0.
    let matrix = BlockMatrix::from_entries(&[1, 1], &[(0, 0, 2.0), (1, 1, -1.0)]).unwrap();
    let laws = [Law::Unilateral; 2];
    let problem = Problem::dual(matrix, vec![-1.0, -1.0], &laws).unwrap();
    for method in METHODS {
        let (report, solution) = by(method, Pivot::Big, &problem);
        assert_eq!(report.status, Status::Ray, "{report}");
        let farkas = report.certificate.unwrap().farkas.unwrap();
        assert_eq!(farkas, [0.0, 1.0]);
        assert!(report.message.unwrap().contains("ray"));
        // The island that has an answer has it.
        assert_eq!(solution.lambda[0], 0.5);
    }
    let geometry = lloyd::all();
    let Some(peg) = geometry.iter().find(|g| g.name == "peg16") else {
        return;
    };
    let problem = peg.problem(0, lloyd::facets, 0.0);
    for method in METHODS {
        let mut solver = Lemke::new(method);
        solver.stop = Stop {
            pivots: 3,
            ..stop(&problem, 1e-9)
        };
        let report = solver.solve(&problem, &mut Solution::default());
        assert_eq!(report.status, Status::PivotLimit, "{report}");
        assert!(report.iterations <= 3 + 1, "{report}");
    }
}

#[test]
fn the_same_problem_gives_the_same_bits_and_chance_comes_from_the_seed() {
    let geometry = lloyd::all();
    let Some(peg) = geometry.iter().find(|g| g.name == "peg12") else {
        return;
    };
    let problem = peg.problem(3, lloyd::facets, 0.0);
    let answer = |seed| {
        let mut solver = Lemke::new(Method::Standard);
        (solver.cover, solver.seed) = (CoverChoice::Random, seed);
        solver.stop = stop(&problem, 1e-9);
        let mut solution = Solution::default();
        assert_eq!(solver.solve(&problem, &mut solution).status, Status::Solved);
        solution.lambda
    };
    assert_eq!(answer(1), answer(1));
    let others: Vec<Vec<f64>> = (2..6).map(answer).collect();
    // A peg has more contacts than its motion needs: other paths end at other impulses.
    assert!(others.iter().any(|other| *other != answer(1)));
    assert_eq!(
        problem.islands(),
        [(0..12).map(BlockId).collect::<Vec<_>>()]
    );
}

#[test]
fn numbers_that_are_none_and_sizes_that_disagree_are_refused_at_the_door() {
    let file = |body: &str| format!(r#"{{"schema":"delassus-problem-1","kind":"lcp",{body}}}"#);
    let refused = [
        r#""n":1,"M":[[1e999]],"q":[1]"#,
        r#""n":1,"M":[[NaN]],"q":[1]"#,
        r#""n":2,"M":[[1]],"q":[1]"#,
        r#""M":[[1,2]],"q":[1]"#,
        r#""M":[[1]],"q":[null]"#,
        r#""M":[[1]],"q":[1],"free":[1]"#,
        r#""M":[[1]],"q":[1],"x":1"#,
    ];
    for body in refused {
        assert!(
            parse(file(body).as_bytes(), Format::Json).is_err(),
            "{body}"
        );
    }
    for body in [
        r#""M":[],"q":[]"#,
        r#""n":1,"M":[[0]],"q":[0]"#,
        r#""M":[[2]],"q":[-1],"free":[0]"#,
    ] {
        let problem = problem_of(parse(file(body).as_bytes(), Format::Json).unwrap());
        for method in METHODS {
            assert_eq!(
                by(method, Pivot::Lex, &problem).0.status,
                Status::Solved,
                "{body}"
            );
        }
    }
}
