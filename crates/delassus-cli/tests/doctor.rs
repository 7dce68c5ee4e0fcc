//! What is promised about `delassus doctor` on the command line.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use common::{delassus, delassus_reading, folder, rows, write};

#[test]
fn a_healthy_scene_is_told_so_with_a_solver_and_why() {
    let ran = delassus(&["doctor", "necklace:5"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for text in [
        "nothing wrong was found",
        "20 steps",
        "auto takes direct: joints alone",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
}

#[test]
fn a_stack_is_solved_in_every_step_it_is_watched_for() {
    let ran = delassus(&["doctor", "stack", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let findings = ran.json()["findings"].clone();
    let kinds = findings.as_array().unwrap().iter().map(|f| &f["kind"]);
    assert!(!kinds.collect::<Vec<_>>().contains(&&"unsolved".into()));
}

#[test]
fn findings_have_a_place_a_number_and_a_remedy() {
    let asked = [
        "doctor",
        "heavy-stack:4",
        "--steps",
        "3",
        "--solver",
        "gauss-seidel",
    ];
    let ran = delassus(&[&asked[..], &["--json"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let sheet = ran.json();
    assert_eq!(
        (&sheet["schema"], &sheet["kind"]),
        (&"delassus-doctor-1".into(), &"scene".into())
    );
    assert_eq!(sheet["looked_at"]["steps"], 3);
    let findings = sheet["findings"].as_array().unwrap();
    let ratio = findings.iter().find(|f| f["kind"] == "mass-ratio").unwrap();
    // Steps that are not solved tilt the boxes a little, and the arms with them.
    assert!((ratio["number"].as_f64().unwrap() - 100.0).abs() < 1.0);
    assert!(ratio["places"][0].as_str().unwrap().contains("box-000003"));
    let told = delassus(&asked).stdout;
    for finding in findings {
        for key in ["what", "remedy", "unit", "kind"] {
            assert!(
                told.contains(finding[key].as_str().unwrap()),
                "{key}: {told}"
            );
        }
    }
}

#[test]
fn problem_files_and_standard_input_are_examined() {
    let folder = folder("doctor");
    let file = write(&folder, "a.json", &rows("1"));
    let ran = delassus(&["doctor", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("2 rows"), "{}", ran.stdout);
    let contradiction =
        br#"{"schema": "delassus-problem-1", "kind": "lcp", "M": [[-1]], "q": [-1]}"#;
    let ran = delassus_reading(&["doctor", "-"], contradiction);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("no impulses satisfy all rows"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_cannot_be_read_is_bad_input() {
    for arguments in [
        &["no-such-thing"][..],
        &["stack:2", "--solver", "gauss"],
        &["stack:2", "--dt", "0"],
    ] {
        let ran = delassus(&[&["doctor"], arguments].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}
