//! Acceptance: the stored oracle problems through the binary alone, as any other program would ask.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // A test may stop anywhere and say why.

mod common;

use std::path::{Path, PathBuf};

use common::{Ran, delassus};
use serde_json::Value;

/// Answers agree to this, relative to the largest velocity or one.
const ANSWER: f64 = 1e-6;
/// Iterates after a fixed number of sweeps, and formulas, agree to rounding.
const ROUNDING: f64 = 1e-9;
/// The spectral radius near a double root is only known to the square root of rounding.
const DOUBLE_ROOT: f64 = 1e-6;

/// A rate measured over the last half of a run still contains a little of its faster modes.
const RATE: f64 = 0.02;

/// The stored cases, or none (with a word about it) where the folder is not there.
fn cases() -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/cases");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there are no oracle cases beside this checkout");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, serde_json::from_str(&text).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn of_kind(kind: &str) -> impl Iterator<Item = (String, Value)> {
    let kind = kind.to_owned();
    let named = cases()
        .into_iter()
        .filter(move |(_, case)| case["kind"] == kind);
    named.map(|(path, case)| (path.to_str().unwrap().to_owned(), case))
}

fn solve(file: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["solve", file, "--json"];
    arguments.extend(more);
    delassus(&arguments)
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"));
    list.iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Fails unless the lists agree to `tolerance` times the largest expected number or one.
fn assert_close(found: &Value, expected: &Value, tolerance: f64, what: &str) {
    let (found, expected) = (numbers(found), numbers(expected));
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |m: f64, x| x.abs().max(m));
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * scale,
            "{what}[{i}]: {a} is not {b}"
        );
    }
}

/// The answer is solved and agrees with what is stored and unique.
fn assert_answers(file: &str, case: &Value) {
    assert_answers_of(file, case, &[]);
}

/// The same for a solver asked for.
fn assert_answers_of(file: &str, case: &Value, more: &[&str]) {
    let ran = solve(file, more);
    let answer = ran.json();
    assert_eq!(answer["status"], "solved", "{file}: {}", ran.stdout);
    assert_eq!(
        (ran.code, &answer["fit"]),
        (0, &Value::from("exact")),
        "{file}"
    );
    assert_eq!(answer["kind"], case["kind"], "{file}");
    let expect = &case["expect"];
    if !expect["v"].is_null() {
        assert_close(&answer["v"], &expect["v"], ANSWER, &format!("{file} v"));
    }
    if !expect["lam"].is_null() {
        assert_close(
            &answer["lambda"],
            &expect["lam"],
            ANSWER,
            &format!("{file} lambda"),
        );
    }
}

#[test]
fn disk_contacts_rows_and_joints_agree_with_the_oracle() {
    for (file, case) in of_kind("contact").filter(|(_, case)| case["cone"] == "disk") {
        assert_answers(&file, &case);
    }
    for (file, case) in of_kind("rows").chain(of_kind("joints")) {
        assert_answers(&file, &case);
    }
}

#[test]
fn an_exact_number_of_sweeps_gives_the_stored_iterate_and_its_history() {
    for (file, case) in of_kind("joints") {
        let expect = &case["expect"];
        let sweeps = expect["iterations"].to_string();
        let more = ["--tolerance", "0", "--iterations", &sweeps, "--history"];
        let answer = solve(&file, &more).json();
        assert_eq!(answer["iterations"], expect["iterations"], "{file}");
        assert_close(&answer["lambda"], &expect["gs_lam"], ROUNDING, &file);
        let history = answer["history"].as_array().unwrap();
        let stored = numbers(&expect["gs_dual_decrease"]);
        assert_eq!(history.len(), stored.len(), "{file}");
        for (k, (line, stored)) in history.iter().zip(stored).enumerate() {
            assert_eq!(line["sweep"], k + 1);
            assert!(
                line["law"].is_f64() && line["eta"].is_f64(),
                "{file}: {line}"
            );
            let found = line["dual_decrease"].as_f64().unwrap();
            assert!(
                (found - stored).abs() <= ROUNDING * stored.abs(),
                "{file}: {found} {stored}"
            );
        }
    }
}

#[test]
fn direct_hybrid_and_jacobi_agree_with_the_oracle() {
    for (file, case) in of_kind("joints") {
        for solver in ["direct", "hybrid", "jacobi", "jacobi,accelerate=chebyshev"] {
            assert_answers_of(&file, &case, &["--solver", solver]);
        }
    }
    let disks = of_kind("contact").filter(|(_, case)| case["cone"] == "disk");
    for (file, case) in disks.chain(of_kind("rows")) {
        for solver in ["hybrid", "jacobi"] {
            assert_answers_of(&file, &case, &["--solver", solver]);
        }
    }
}

#[test]
fn jacobi_iterates_and_rates_are_those_of_the_oracle() {
    for (file, case) in of_kind("joints") {
        let expect = &case["expect"];
        let sweeps = expect["iterations"].to_string();
        for (solver, key) in [
            ("jacobi,scheme=plain", "jacobi_lam"),
            ("jacobi", "jacobi_split_lam"),
        ] {
            let more = [
                "--tolerance",
                "0",
                "--iterations",
                &sweeps,
                "--solver",
                solver,
            ];
            let answer = solve(&file, &more).json();
            assert_eq!(answer["iterations"], expect["iterations"], "{file}");
            assert_close(&answer["lambda"], &expect[key], ROUNDING, &file);
        }
        // Plain steps converge iff the largest eigenvalue of D⁻¹S is below two, and then at the stored rate.
        let more = ["--solver", "jacobi,scheme=plain", "--history"];
        let ran = solve(&file, &more);
        let answer = ran.json();
        if 2.0 <= expect["max_eig_DinvS"].as_f64().unwrap() {
            assert_eq!((ran.code, &answer["status"]), (1, &Value::from("diverged")));
            continue;
        }
        assert_eq!(answer["status"], "solved", "{file}");
        let history = answer["history"].as_array().unwrap();
        let eta: Vec<f64> = history
            .iter()
            .map(|line| line["eta"].as_f64().unwrap())
            .collect();
        let half = eta.len() / 2;
        let count = 2 * ((eta.len() - half - 1) / 2);
        let rate = (eta[half + count] / eta[half]).powf(1.0 / count as f64);
        let stored = expect["rho_jacobi"].as_f64().unwrap();
        assert!(
            (rate / stored - 1.0).abs() < RATE,
            "{file}: {rate} is not {stored}"
        );
    }
}

#[test]
fn stabilisation_rows_agree_with_the_oracle() {
    for (file, case) in of_kind("stabilisation") {
        let ran = solve(&file, &[]);
        let answer = ran.json();
        assert_eq!((ran.code, &answer["status"]), (0, &Value::from("solved")));
        let (found, stored) = (answer["cases"].as_array(), case["cases"].as_array());
        let (found, stored) = (found.unwrap(), stored.unwrap());
        assert_eq!(found.len(), stored.len());
        for (found, stored) in found.iter().zip(stored) {
            // x² − (1 − 3Υ)x + Υ = 0 has a double root where this is zero.
            let upsilon = stored["upsilon"].as_f64().unwrap();
            let apart = (0.25 * (1.0 - 3.0 * upsilon).powi(2) - upsilon).abs();
            for key in ["sigma", "upsilon", "q", "rho_drift"] {
                let (a, b) = (found[key].as_f64().unwrap(), stored[key].as_f64().unwrap());
                let tolerance = if key == "rho_drift" && apart < 1e-10 {
                    DOUBLE_ROOT
                } else {
                    ROUNDING
                };
                let scale = b.abs().max(1.0);
                assert!((a - b).abs() <= tolerance * scale, "{file} {key}: {a} {b}");
            }
        }
    }
}

/// Rows of a matrix, one after the other.
fn flat(value: &Value) -> Value {
    let rows = value.as_array().unwrap().iter().flat_map(numbers);
    rows.collect::<Vec<f64>>().into()
}

#[test]
fn trees_agree_with_the_oracle() {
    for (file, case) in of_kind("tree") {
        let ran = solve(&file, &["--matrices"]);
        let (answer, expect) = (ran.json(), &case["expect"]);
        let head = (ran.code, &answer["status"], &answer["chosen"][0]["solver"]);
        assert_eq!(
            head,
            (0, &Value::from("solved"), &Value::from("kkt")),
            "{file}"
        );
        for key in ["M", "J", "delassus"] {
            let what = format!("{file} {key}");
            assert_close(&flat(&answer[key]), &flat(&expect[key]), ROUNDING, &what);
        }
        assert_close(&answer["bias"], &expect["bias"], ROUNDING, &file);
        assert_close(&answer["x1"], &expect["x1"], ROUNDING, &file);
        let (x2, n) = (numbers(&answer["x2"]), numbers(&answer["x1"]).len());
        let mut push = vec![0.0; n];
        for (row, x) in answer["J"].as_array().unwrap().iter().zip(&x2) {
            push.iter_mut()
                .zip(numbers(row))
                .for_each(|(p, j)| *p += j * x);
        }
        assert_close(&push.into(), &expect["JT_x2"], ROUNDING, &file);
        let rows = x2.len() as u64;
        if expect["x2"].is_null() {
            let redundant = answer["redundant_rows"].as_array().unwrap().len() as u64;
            assert_eq!(answer["rank"].as_u64().unwrap() + redundant, rows, "{file}");
            assert!(0 < redundant, "{file}");
        } else {
            assert_close(&answer["x2"], &expect["x2"], ROUNDING, &file);
            assert_eq!(
                (&answer["rank"], &answer["redundant_rows"]),
                (&rows.into(), &Value::Array(vec![]))
            );
        }
        // Any other solver gives the same system its answer too.
        let other = solve(&file, &["--solver", "gauss-seidel"]).json();
        assert_eq!(other["status"], "solved", "{file}");
        assert_close(&other["x1"], &expect["x1"], ANSWER, &file);
    }
}

#[test]
fn contacts_of_trees_are_read_with_their_free_velocity() {
    for (file, case) in of_kind("treecontact") {
        // Without contacts the step ends at the free velocity.
        let mut free = case.clone();
        free["contacts"] = Value::Array(vec![]);
        let path = std::env::temp_dir().join(format!("delassus-free-{}.json", std::process::id()));
        std::fs::write(&path, free.to_string()).unwrap();
        let answer = solve(path.to_str().unwrap(), &[]).json();
        assert_eq!(answer["status"], "solved", "{file}");
        assert_close(&answer["v"], &case["expect"]["v_free"], ROUNDING, &file);
        std::fs::remove_file(path).unwrap();
        // Facets need a solver that has a rule for them; one that has must find the stored velocity.
        let answer = solve(&file, &[]).json();
        if answer["status"] != "unsupported" {
            assert_answers(&file, &case);
        }
        // With round cones instead of facets the sweeps work on a tree as on bodies.
        let mut round = case.clone();
        round["cone"] = "disk".into();
        let path = std::env::temp_dir().join(format!("delassus-round-{}.json", std::process::id()));
        std::fs::write(&path, round.to_string()).unwrap();
        let answer = solve(path.to_str().unwrap(), &[]).json();
        assert_eq!(
            (&answer["status"], &answer["kind"]),
            (&"solved".into(), &case["kind"]),
            "{file}"
        );
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn facets_are_pivoted_unless_a_solver_without_a_rule_for_them_is_asked_for() {
    for (file, case) in of_kind("contact").filter(|(_, case)| case["cone"] == "polyhedral") {
        if case["expect"]["status"] == "infeasible" {
            let ran = solve(&file, &["--solver", "lemke"]);
            assert_eq!(
                (ran.code, &ran.json()["status"]),
                (1, &Value::from("ray")),
                "{file}"
            );
            continue;
        }
        assert_answers(&file, &case);
        // Contacts without friction are frictionless whatever the cone.
        let contacts = case["contacts"].as_array().unwrap();
        if contacts.iter().all(|contact| contact["mu"] == 0.0) {
            continue;
        }
        let ran = solve(&file, &["--solver", "gauss-seidel"]);
        let answer = ran.json();
        assert_eq!(
            (ran.code, &answer["status"]),
            (1, &Value::from("unsupported")),
            "{file}"
        );
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("friction-facets"), "{message}");
    }
}

#[test]
fn complementarity_problems_are_solved_or_proved_to_have_no_answer() {
    for (file, case) in of_kind("lcp") {
        let expect = &case["expect"];
        let ran = solve(&file, &["--solver", "lemke-standard,pivot=lex"]);
        let answer = ran.json();
        if expect["status"] == "solution" {
            assert_eq!(
                (ran.code, &answer["status"]),
                (0, &Value::from("solved")),
                "{file}"
            );
            for (key, unique) in [("z", "z_unique"), ("w", "w_unique")] {
                if expect[unique] == true {
                    assert_close(&answer[key], &expect[key], ANSWER, &format!("{file} {key}"));
                }
            }
            let answer = solve(&file, &[]).json();
            assert_eq!(answer["chosen"][0]["solver"], "lemke", "{file}");
        } else {
            assert_eq!(
                (ran.code, &answer["status"]),
                (1, &Value::from("ray")),
                "{file}"
            );
            assert!(answer["ray"].is_array(), "{file}");
            let proved = expect["status"] == "infeasible";
            assert_eq!(answer["farkas"].is_array(), proved, "{file}");
        }
        if let Some(pivots) = expect["pivots_lex"].as_u64() {
            assert_eq!(answer["iterations"], pivots, "{file}");
        }
    }
}
