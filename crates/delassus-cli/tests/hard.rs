//! What `solve` does with hard problems: who goes on where a solver fails, and what is never called an answer.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Started, delassus, delassus_reading, folder, interrupt, write};
use serde_json::Value;

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// No single rule settles everywhere; without `--solver` others are tried.
#[test]
fn where_the_first_rule_stalls_another_one_answers() {
    let file = data("exact_rule_stalls");
    let exact = [
        "solve",
        &file,
        "--json",
        "--solver",
        "gauss-seidel,rule=exact",
    ];
    let ran = delassus(&exact);
    assert_eq!(
        (ran.code, ran.json()["status"].as_str()),
        (1, Some("stalled"))
    );
    let ran = delassus(&["solve", &file, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(ran.json()["status"], "solved");
}

/// M is singular and q points out of what it reaches. Its least eigenvalue comes out as rounding, so that pivoting may
/// end at z of 1e16, whose residual rounds to zero and means nothing.
#[test]
fn what_rounding_hides_is_no_answer() {
    let lcp = r#"{"schema": "delassus-oracle-1", "kind": "lcp", "n": 2,
        "M": [[0.129547505015226, -0.4416614151401357], [-0.4416614151401357, 1.5057395787025067]],
        "q": [-0.01826082961479547, -0.6704686340761139], "expect": {}}"#;
    let ran = delassus_reading(&["solve", "-", "--json"], lcp.as_bytes());
    assert_eq!((ran.code, &ran.json()["status"]), (1, &"ray".into()));
    let lex = [
        "solve",
        "-",
        "--json",
        "--solver",
        "lemke-standard,pivot=lex",
    ];
    let ran = delassus_reading(&lex, lcp.as_bytes());
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let z = ran.json()["z"].clone();
    assert!(z[0].as_f64().unwrap().abs() < 1e3, "{z}");
}

/// Its largest residual rests for thousands of sweeps while the rows as a whole still settle.
#[test]
fn where_no_sweep_helps_whatever_else_there_is_comes_last() {
    let ran = delassus(&["solve", &data("redundant_joints"), "--json"]);
    assert_eq!((ran.code, &ran.json()["solver"]), (0, &"auto".into()));
    let file = data("exact_rule_cycles");
    let ran = delassus(&["solve", &file, "--json", "--solver", "auto"]);
    assert_eq!(ran.json()["status"], "solved", "{}", ran.stdout);
}

/// Twenty tonnes behind a link of 230 g: without the matrix two digits fewer are left than are asked for. Rounded
/// inertias alone leave 4e-11 m/s, as arithmetic of 32 digits shows; the bound on what trees lose, which takes
/// all inertias as rounded in the worst way, is above 2e-8 m/s, so that no more than 5e-8 m/s is asked for.
#[test]
fn lemke_takes_the_matrix_where_digits_are_missing() {
    let file = data("light_link_in_a_heavy_tree");
    let asked = ["solve", &file, "--json", "--solver", "lemke"];
    let ran = delassus(&asked);
    let answer = ran.json();
    assert_eq!(answer["status"], "rounding-floor", "{}", ran.stdout);
    assert!(answer["residual"]["relative"].as_f64().unwrap() < 1e-12);
    let ran = delassus(&[&asked[..], &["--tolerance", "5e-8"]].concat());
    assert_eq!((ran.code, &ran.json()["status"]), (0, &"solved".into()));
}

/// An arm jammed on the ground by its gripper: answers of any size hold it. Newton's method ends at one so large that it
/// rounds off by more than the tolerance; that of the step before is thousands of times smaller.
#[test]
fn the_floor_of_huge_impulses_is_not_the_end() {
    let file = data("jammed_arm");
    let asked = ["solve", &file, "--json", "--tolerance", "5e-7"];
    let newton = delassus(&[&asked[..], &["--solver", "newton"]].concat());
    assert_eq!(newton.json()["status"], "rounding-floor");
    let ran = delassus(&asked);
    assert_eq!((ran.code, &ran.json()["status"]), (0, &"solved".into()));
}

#[test]
fn slow_convergence_is_not_called_a_stall() {
    let file = data("slow_convex_rows");
    let ran = delassus(&["solve", &file, "--json", "--solver", "gauss-seidel"]);
    assert_eq!(ran.json()["status"], "solved", "{}", ran.stdout);
}

/// Bodies hanging below each other, the last a thousand times as heavy: hundreds of thousands of sweeps, or one factor.
fn heavy_chain(links: usize) -> String {
    let links: Vec<usize> = (0..links).collect();
    let mass = |i: usize| if i + 1 < links.len() { 1.0 } else { 1000.0 };
    let body = |&i: &usize| {
        let (m, z, inertia) = (mass(i), -0.1 * i as f64 - 0.05, 0.01 * mass(i));
        format!(
            r#"{{"m": {m}, "I_body": [[{inertia}, 0, 0], [0, {inertia}, 0], [0, 0, {inertia}]], "x": [0, 0, {z}], "q": [1, 0, 0, 0], "f": [0, 0, {}]}}"#,
            -9.81 * m
        )
    };
    let joint = |&i: &usize| {
        let (a, b, z) = (i, i as i64 - 1, -0.1 * i as f64);
        format!(r#"{{"a": {a}, "b": {b}, "p": [0, 0, {z}]}}"#)
    };
    let bodies: Vec<String> = links.iter().map(body).collect();
    let joints: Vec<String> = links.iter().map(joint).collect();
    format!(
        r#"{{"schema": "delassus-problem-1", "kind": "joints", "h": 0.01, "bodies": [{}], "joints": [{}]}}"#,
        bodies.join(", "),
        joints.join(", ")
    )
}

#[test]
fn by_default_what_sweeps_creep_on_is_handed_on_within_the_time_allowed() {
    let ran = delassus_reading(
        &["solve", "-", "--json", "--time-limit", "20"],
        heavy_chain(40).as_bytes(),
    );
    let answer = ran.json();
    assert_eq!(
        (ran.code, &answer["status"]),
        (0, &"solved".into()),
        "{answer}"
    );
    assert_eq!(answer["solver"], "auto", "{answer}");
}

#[test]
fn by_default_a_faceted_cone_without_friction_is_solved() {
    let file = r#"{"schema": "delassus-problem-1", "kind": "problem",
        "masses": [{"dense": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "p": [-1, 1, 0]}],
        "blocks": [{"law": {"name": "friction-facets", "mu": 0, "directions": 4},
                    "on": [{"mass": 0, "G": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}],
                    "sigma": [0, 0, 0], "q": [0, 0, 0]}]}"#;
    let ran = delassus_reading(&["solve", "-", "--json"], file.as_bytes());
    assert_eq!((ran.code, &ran.json()["status"]), (0, &"solved".into()));
}

#[test]
fn an_interrupted_solve_still_answers() {
    let folder = folder("interrupted-solve");
    let file = write(&folder, "chain.json", &heavy_chain(40));
    let saved = folder.join("saved.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    let endless = [
        "--solver=gauss-seidel",
        "--tolerance=0",
        "--iterations=1000000000000",
    ];
    command
        .args(["solve", &file, "--json", "--save-problem"])
        .arg(&saved)
        .args(endless);
    let child = Started::new(command.stdout(Stdio::piped()));
    // The problem is written just before it is solved.
    let start = Instant::now();
    while !saved.exists() {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(child.id());
    let output = child.output();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &answer["status"]),
        (Some(1), &"interrupted".into())
    );
    assert!(answer["lambda"].is_array());
}
