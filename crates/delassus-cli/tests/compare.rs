//! What is promised about comparisons: what counts as reached, the ranking, the picture.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use common::{delassus, delassus_reading, folder, rows, write};

#[test]
fn runs_that_reached_the_tolerance_come_first_and_by_time() {
    let folder = folder("ranking");
    let file = write(&folder, "a.json", &rows("1"));
    let ran = delassus(&["compare", &file, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let comparison = ran.json();
    assert_eq!(comparison["schema"], "delassus-compare-1");
    assert_eq!(comparison["tolerance"], 1e-6);
    let work = &comparison["works"][0];
    assert_eq!((&work["n_blocks"], &work["n_rows"]), (&2.into(), &2.into()));
    let runs = work["runs"].as_array().unwrap();
    assert!(!runs.is_empty());
    let mut last = (true, 0.0);
    for run in runs {
        let reached = run["reached"].as_bool().unwrap();
        let law = run["residual"]["law"].as_f64().unwrap();
        assert_eq!(reached, law <= 1e-6);
        let key = if reached {
            run["elapsed_s"].as_f64().unwrap()
        } else {
            law
        };
        assert!(last.0 || !reached);
        assert!(last.0 != reached || last.1 <= key);
        last = (reached, key);
    }
}

#[test]
fn a_work_nobody_brings_to_the_tolerance_is_not_solved() {
    let limits = ["--tolerance", "1e-12", "--iterations", "1"];
    let arguments = [&["compare", "-", "--solver", "gauss-seidel"][..], &limits].concat();
    let ran = delassus_reading(&arguments, rows("1").as_bytes());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("did not reach"), "{}", ran.stdout);
}

#[test]
fn folders_are_read_in_order_and_what_is_no_problem_is_skipped() {
    let folder = folder("works");
    write(&folder, "b.json", &rows("1"));
    write(&folder, "a.json", &rows("2"));
    write(&folder, "notes.txt", "not a problem");
    let name = folder.to_str().unwrap();
    let ran = delassus(&["compare", name, "--json", "--solver", "gauss-seidel"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("notes.txt"), "{}", ran.stderr);
    let comparison = ran.json();
    let works = comparison["works"].as_array().unwrap();
    let names: Vec<&str> = works
        .iter()
        .map(|work| work["work"].as_str().unwrap())
        .collect();
    assert!(names.len() == 2 && names[0].ends_with("a.json") && names[1].ends_with("b.json"));
}

#[test]
fn works_that_cannot_be_read_are_bad_input() {
    let empty = folder("no-works");
    assert_eq!(delassus(&["compare", empty.to_str().unwrap()]).code, 2);
    assert_eq!(delassus(&["compare", "no-such-thing"]).code, 2);
    let ran = delassus_reading(&["compare", "-", "--tolerance", "0"], rows("1").as_bytes());
    assert!(
        ran.code == 2 && ran.stderr.contains("positive"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_picture_has_a_title_units_and_every_solver() {
    let folder = folder("picture");
    let file = write(&folder, "a.json", &rows("1"));
    let svg = folder.join("residual.svg");
    let ran = delassus(&["compare", &file, "--svg", svg.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let picture = std::fs::read_to_string(&svg).unwrap();
    for text in [
        "a.json",
        "time [s]",
        "law residual [m/s]",
        "gauss-seidel,rule=exact",
        "tolerance",
    ] {
        assert!(picture.contains(text), "{text}");
    }
    assert!(!picture.contains("999"), "an axis label is not rounded");
}
