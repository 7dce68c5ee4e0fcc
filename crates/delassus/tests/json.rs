//! JSON problem files: the stored answers of the oracle, round trips, and faults told with their place.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]

use std::path::PathBuf;

use delassus::problem::file::{FileContent, Format, Loaded, json, parse};
use delassus::{GaussSeidel, Problem, Report, Residual, Solution, Solver, Status, Stop, gallery};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Stored answers were re-checked to 4e-13; the sweeps stop at 1e-11 m/s.
const ANSWER: f64 = 1e-8;

fn cases() -> Option<Vec<(String, serde_json::Value)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/cases");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: oracle cases not found beside the project");
        return None;
    };
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    };
    Some(paths.into_iter().map(read).collect())
}

fn problem_of(loaded: Loaded) -> Problem {
    match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => panic!("not a problem"),
    }
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().map_or(Vec::new(), |a| {
        a.iter().map(|x| x.as_f64().unwrap()).collect()
    })
}

fn error_of(text: &str) -> String {
    parse(text.as_bytes(), Format::Json)
        .unwrap_err()
        .to_string()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (x, y)| (x - y).abs().max(m))
}

/// The answer of Gauss-Seidel from zero.
fn swept(problem: &Problem, tolerance: f64, sweeps: usize) -> (Solution, Report) {
    let stop = Stop {
        tolerance,
        sweeps,
        ..Stop::default()
    };
    let mut solution = Solution::zeros(problem);
    let mut solver = GaussSeidel {
        stop,
        ..Default::default()
    };
    let report = solver.solve(problem, &mut solution);
    (solution, report)
}

#[test]
fn oracle_answers_are_reproduced() {
    let Some(cases) = cases() else { return };
    let mut solved = 0;
    for (text, value) in &cases {
        let disk = value["cone"] == "disk" || value["expect"]["v_unique"] == "proved";
        let kind = value["kind"].as_str().unwrap();
        if !(matches!(kind, "rows" | "joints") || kind == "contact" && disk) {
            continue;
        }
        let problem = problem_of(parse(text.as_bytes(), Format::Json).unwrap());
        let free = numbers(&value["expect"]["v_free"]);
        if !free.is_empty() {
            assert!(
                distance(&free, &Solution::zeros(&problem).v) < 1e-12,
                "{}",
                value["id"]
            );
        }
        let (solution, report) = swept(&problem, 1e-11, 200_000);
        assert_eq!(report.status, Status::Solved, "{}: {report}", value["id"]);
        let v = numbers(&value["expect"]["v"]);
        assert!(distance(&v, &solution.v) < ANSWER, "{}", value["id"]);
        let lam = numbers(&value["expect"]["lam"]);
        if !lam.is_empty() {
            assert!(distance(&lam, &solution.lambda) < 1e-6, "{}", value["id"]);
        }
        solved += 1;
    }
    assert!(
        12 <= solved,
        "only {solved} cases were of a kind that can be solved"
    );
}

#[test]
fn sweeps_and_dual_decrease_match_the_stored_iterates() {
    let Some(cases) = cases() else { return };
    for (text, value) in cases.iter().filter(|(_, value)| value["kind"] == "joints") {
        let problem = problem_of(parse(text.as_bytes(), Format::Json).unwrap());
        let iterations = value["expect"]["iterations"].as_u64().unwrap() as usize;
        let (solution, report) = swept(&problem, 0.0, iterations);
        assert_eq!(
            (report.status, report.iterations),
            (Status::IterationLimit, iterations)
        );
        let expected = numbers(&value["expect"]["gs_lam"]);
        assert!(
            distance(&expected, &solution.lambda) < 1e-10,
            "{}",
            value["id"]
        );
        let decrease: Vec<f64> = report
            .history
            .iter()
            .map(|sweep| sweep.dual_decrease)
            .collect();
        let expected = numbers(&value["expect"]["gs_dual_decrease"]);
        assert!(distance(&expected, &decrease) < 1e-10, "{}", value["id"]);
    }
}

#[test]
fn spook_coefficients_match_the_stored_ones() {
    let Some(cases) = cases() else { return };
    for (text, value) in cases
        .iter()
        .filter(|(_, value)| value["kind"] == "stabilisation")
    {
        let FileContent::Stabilisation(rows) =
            parse(text.as_bytes(), Format::Json).unwrap().content
        else {
            panic!("not a stabilisation file");
        };
        for (row, case) in rows.iter().zip(value["cases"].as_array().unwrap()) {
            for (ours, key) in [(row.sigma, "sigma"), (row.upsilon, "upsilon"), (row.q, "q")] {
                let expected = case[key].as_f64().unwrap();
                assert!(
                    (ours - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
                    "{key}"
                );
            }
            // A double root is only known to the square root of rounding.
            assert!((row.rho_drift - case["rho_drift"].as_f64().unwrap()).abs() < 1e-7);
        }
    }
}

#[test]
fn bad_trees_are_refused_with_their_place() {
    let file = |joint: &str, more: &str| {
        error_of(&format!(
            r#"{{"schema":"delassus-oracle-1","kind":"tree","joints":[{{"type":"revolute","axis":[0,0,1],
            "p":[0,0,0],"com":[0,0,0],"I":[[1,0,0],[0,1,0],[0,0,1]],{joint}}}],{more},"y1":[0]}}"#
        ))
    };
    let good = r#""parent":-1,"quat":[1,0,0,0],"m":1"#;
    let rest = r#""q":[0],"constraints":[],"y2":[]"#;
    let cases = [
        (
            r#""parent":0,"quat":[1,0,0,0],"m":1"#,
            rest,
            "carried by itself",
        ),
        (r#""parent":7,"quat":[1,0,0,0],"m":1"#, rest, "link 7"),
        (
            r#""parent":-2,"quat":[1,0,0,0],"m":1"#,
            rest,
            "joints[0]: parent is -2",
        ),
        (
            r#""parent":-1,"quat":[1,0,0,0],"m":-1"#,
            rest,
            "mass of link 0 is -1",
        ),
        (
            r#""parent":-1,"quat":[2,0,0,0],"m":1"#,
            rest,
            "joints[0]: quat has length 2",
        ),
        (
            good,
            r#""q":[],"constraints":[],"y2":[]"#,
            "configuration has 0 numbers where 1",
        ),
        (
            good,
            r#""q":[0],"constraints":[],"y2":[1]"#,
            "y2: has 1 numbers where 0",
        ),
        (
            good,
            r#""q":[0],"constraints":[{"a":3,"pa":[0,0,0],"b":-1,"weld":true}],"y2":[]"#,
            "constraints[0]: link 3",
        ),
        (
            good,
            r#""q":[0],"constraints":[{"a":0,"pa":[0,0,0],"b":-1}],"y2":[]"#,
            "\"dirs\" or \"weld\"",
        ),
    ];
    for (joint, more, clue) in cases {
        let error = file(joint, more);
        assert!(error.contains(clue), "{error} ({clue})");
    }
}

#[test]
fn saved_problems_come_back_bit_for_bit() {
    for exhibit in gallery::exhibits() {
        let problem = gallery::build(exhibit.name).unwrap();
        for problem in [problem.to_dual(), problem] {
            let text = json::save(&problem, "a \"quoted\" title");
            let loaded = parse(text.as_bytes(), Format::Json).unwrap();
            assert_eq!(loaded.title, "a \"quoted\" title");
            assert!(problem_of(loaded) == problem, "{}", exhibit.name);
        }
    }
}

const BALL: &str = r#"{"schema":"delassus-oracle-1","kind":"contact","h":0.01,"cone":"disk",
"bodies":[{"m":1.0,"I_body":[[0.1,0,0],[0,0.1,0],[0,0,0.1]],"x":[0,0,0.5],"q":[1,0,0,0],
 "v":[1,0,0],"w":[0,0,0],"f":[0,0,-9.81],"tau":[0,0,0]}],
"contacts":[{"a":0,"b":-1,"p":[0,0,0],"n":[0,0,1],"t1":[1,0,0],"t2":[0,1,0],"mu":0.3,"d":8,
 "q_n":0.0,"sigma_n":0.0}],
"joints":[]}"#;

#[test]
fn faults_are_told_with_place_and_value() {
    assert!(parse(BALL.as_bytes(), Format::Json).is_ok());
    let faults = [
        (r#""m":1.0"#, r#""m":-1.0"#, "bodies[0]: mass is -1"),
        (r#""m":1.0"#, r#""m":NaN"#, "2:"),
        (r#""m":1.0"#, r#""m":1e999"#, "2:"),
        (r#""m":1.0"#, r#""mass":1.0"#, "unknown field `mass`"),
        (
            r#"[0,0,0.1]]"#,
            r#"[0,0,0]]"#,
            "inertia is not positive definite",
        ),
        (
            r#"[[0.1,0,0]"#,
            r#"[[0.1,0.05,0]"#,
            "inertia is not symmetric",
        ),
        (
            r#""q":[1,0,0,0]"#,
            r#""q":[0,0,0,0]"#,
            "bodies[0]: q has length 0",
        ),
        (r#""q":[1,0,0,0]"#, r#""q":[1,0,0]"#, "array of length 4"),
        (
            r#""a":0"#,
            r#""a":1"#,
            "contacts[0]: a is 1; there are 1 bodies",
        ),
        (r#""a":0"#, r#""a":-1"#, "two different bodies"),
        (r#""a":0"#, r#""a":99999999999999999999"#, "4:"),
        (r#""n":[0,0,1]"#, r#""n":[0,0,2]"#, "not orthonormal"),
        (r#""mu":0.3"#, r#""mu":"a lot""#, "mu must be one number"),
        (r#""mu":0.3"#, r#""mu":-0.3"#, "mu of block 0 is -0.3"),
        (r#""sigma_n":0.0"#, r#""sigma_n":-1"#, "compliance of row 0"),
        (
            r#""cone":"disk""#,
            r#""cone":"disc""#,
            "unknown variant `disc`",
        ),
        (r#""h":0.01"#, r#""h":0"#, "time step is 0"),
        (r#""kind":"contact""#, r#""kind":"contacts""#, "known kinds"),
        (
            r#"delassus-oracle-1"#,
            r#"delassus-oracle-9"#,
            "this version reads",
        ),
        (r#""joints":[]}"#, r#""joints":[]"#, "EOF while parsing"),
    ];
    for (from, to, expected) in faults {
        assert!(BALL.contains(from), "{from}");
        let error = error_of(&BALL.replacen(from, to, 1));
        assert!(error.contains(expected), "{to} gave: {error}");
        assert!(error.len() < 400, "{error}");
    }
    assert!(error_of("").contains("empty"));
    assert!(error_of("[1]").contains("1:"));
}

/// A ball on the ground with every law that has rows of spin: the file gives the frame, and the rows follow from it.
#[test]
fn rows_of_spin_follow_from_the_frame_of_a_contact() {
    let laws = [
        (r#""rolling-cone", "mu": 0.5, "rolling": 0.01"#, 5),
        (
            r#""rolling-spinning", "mu": 0.5, "rolling": 0.01, "spinning": 0.02"#,
            6,
        ),
        (r#""torsional-cone", "mu": 0.5, "spinning": 0.02"#, 4),
        (
            r#""ellipsoid-cone", "mu": 0.5, "rolling": 0.01, "spinning": 0.02"#,
            6,
        ),
    ];
    let text = |law: &str, rows: usize| {
        let zeros = vec!["0"; rows].join(", ");
        format!(
            r#"{{"schema": "delassus-problem-1", "kind": "problem",
            "masses": [{{"rigid": {{"m": 2, "I": [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]}}, "p": [1, 0, -2, 0, 0, 3]}}],
            "blocks": [{{"law": {{"name": {law}}}, "point": {{"directions": [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
            "first": {{"mass": 0, "arm": [0, 0, -0.1]}}}}, "sigma": [{zeros}], "q": [{zeros}]}}]}}"#
        )
    };
    for (law, rows) in laws {
        let problem = problem_of(parse(text(law, rows).as_bytes(), Format::Json).unwrap());
        let again = json::save(&problem, "");
        let again = problem_of(parse(again.as_bytes(), Format::Json).unwrap());
        assert_eq!(again, problem, "{law}");
        // v¹ = p/m along the frame, the spin of 30 rad/s about n alone.
        let spin = match rows {
            4 => vec![30.0],
            5 => vec![0.0, 0.0],
            _ => vec![0.0, 0.0, 30.0],
        };
        let c = [vec![-1.0, 0.5, 0.0], spin].concat();
        assert!(
            distance(problem.c(), &c) < 1e-12,
            "{law}: {:?}",
            problem.c()
        );
        let error = error_of(&text(law, 3));
        assert!(error.starts_with("blocks[0]: "), "{error}");
    }
    let unknown = text(r#""rolling-cone", "mu": 0.5, "rolling": -1"#, 5);
    let error = error_of(&unknown);
    assert!(error.contains("rolling") && error.contains("-1"), "{error}");
}

#[test]
fn expect_and_notes_are_ignored() {
    let text = BALL.replacen(
        r#""h":0.01"#,
        r#""h":0.01,"expect":{"x":[{}]},"notes":7"#,
        1,
    );
    assert!(parse(text.as_bytes(), Format::Json).is_ok());
}

#[test]
fn two_friction_coefficients_make_the_cone_elliptic() {
    let problem = |mu: &str| {
        let text = BALL.replacen(r#""mu":0.3"#, &format!(r#""mu":{mu}"#), 1);
        problem_of(parse(text.as_bytes(), Format::Json).unwrap())
    };
    let solve = |problem: &Problem| {
        let mut solution = Solution::zeros(problem);
        GaussSeidel::default().solve(problem, &mut solution);
        assert!(Residual::of(problem, &solution).law < 1e-8);
        solution.v
    };
    assert!(distance(&solve(&problem("[0.3,0.3]")), &solve(&problem("0.3"))) < 1e-12);
    // The ball slides along t1 only, so the second coefficient does not matter …
    assert!(distance(&solve(&problem("[0.3,0.9]")), &solve(&problem("0.3"))) < 1e-12);
    // … and the first does.
    assert!(1e-3 < distance(&solve(&problem("[0.1,0.3]")), &solve(&problem("0.3"))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mangled_json_is_an_error_or_a_problem_but_never_a_panic(
        cut in 0usize..800, at in 0usize..800, byte in any::<u8>(),
    ) {
        let mut bytes = BALL.as_bytes().to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        let _ = parse(&bytes, Format::Json);
        bytes.truncate(cut % length);
        prop_assert!(parse(&bytes, Format::Json).is_err());
    }

    #[test]
    fn any_numbers_are_refused_or_solved_without_a_panic(
        numbers in prop::collection::vec(prop_oneof![-2.0..2.0f64, -1e300..1e300f64, Just(0.0)], 8),
    ) {
        let mut text = BALL.to_owned();
        for (key, x) in [r#""m":1.0"#, r#""mu":0.3"#, r#""q_n":0.0"#, r#""sigma_n":0.0"#, r#""h":0.01"#]
            .iter()
            .zip(&numbers)
        {
            let name = key.split(':').next().unwrap();
            text = text.replacen(key, &format!("{name}:{x:?}"), 1);
        }
        if let Ok(loaded) = parse(text.as_bytes(), Format::Json) {
            let problem = problem_of(loaded);
            let mut solution = Solution::zeros(&problem);
            let stop = Stop { sweeps: 50, ..Stop::default() };
            GaussSeidel { stop, ..Default::default() }.solve(&problem, &mut solution);
            prop_assert!(solution.v.iter().chain(&solution.lambda).all(|x| x.is_finite()));
        }
    }
}

#[test]
fn a_start_comes_back_bit_for_bit_and_must_fit() {
    let problem = gallery::build("rod").unwrap();
    let guess = [0.1 + 0.2, -0.0, 1e-300];
    let notes = serde_json::json!({ "step": 3, "anything": [null] });
    for problem in [problem.clone(), problem.to_dual()] {
        let text = json::save_with(&problem, "a rod", Some(&guess), Some(&notes));
        let loaded = json::parse(text.as_bytes()).unwrap();
        let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&loaded.guess.unwrap()), bits(&guess));
        let FileContent::Problem { problem: back, .. } = loaded.content else {
            panic!("{:?}", loaded.content);
        };
        assert_eq!(*back, problem);
        let short = json::save_with(&problem, "", Some(&guess[..2]), None);
        let error = json::parse(short.as_bytes()).unwrap_err().to_string();
        assert!(
            error.contains("guess") && error.contains("3 rows"),
            "{error}"
        );
        // What is not finite is not written, so that the file can still be read.
        let broken = json::save_with(&problem, "", Some(&[f64::NAN, 0.0, 0.0]), None);
        assert_eq!(json::parse(broken.as_bytes()).unwrap().guess, None);
    }
}

/// Serde reads a struct from a list by position; a body is an object with keys.
#[test]
fn bodies_by_position_and_files_that_are_no_object_are_refused() {
    let listed = r#"{"schema":"delassus-problem-1","kind":"joints","h":0.01,"joints":[],
        "bodies":[[1,[[1,0,0],[0,1,0],[0,0,1]],[0,0,0],[1,0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0]]]}"#;
    for text in [listed, "5", "[]", "[\"delassus-problem-1\", \"joints\"]"] {
        let told = parse(text.as_bytes(), Format::Json)
            .unwrap_err()
            .to_string();
        assert!(
            told.contains("an object") && !told.contains("struct"),
            "{told}"
        );
    }
}
