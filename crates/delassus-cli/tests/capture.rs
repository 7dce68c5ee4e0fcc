//! What is promised about captures: which steps are kept, and that they replay to the same bits.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::path::{Path, PathBuf};

use common::{delassus, folder, write};
use serde_json::Value;

/// The files of a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Solves a captured file as its notes say and gives the residual.
fn replayed(file: &Path) -> Value {
    let notes = read(file)["notes"].clone();
    let replay = notes["replay"].as_str().unwrap().to_owned();
    let words: Vec<&str> = replay.split_whitespace().collect();
    assert_eq!((words[0], words[1]), ("delassus", "solve"));
    let mut arguments = vec!["solve", file.to_str().unwrap()];
    arguments.extend(&words[3..]);
    arguments.push("--json");
    delassus(&arguments).json()["residual"].clone()
}

#[test]
fn captured_problems_replay_to_the_same_residual_bits() {
    // Warm starts, substeps, chance and threads must all come back.
    let runs: [&[&str]; 9] = [
        &[
            "run",
            "heavy-stack:4",
            "--solver",
            "gauss-seidel",
            "--iterations",
            "15",
        ],
        &[
            "run",
            "heavy-stack:4",
            "--solver",
            "gauss-seidel,order=symmetric",
            "--iterations",
            "15",
            "--substeps",
            "2",
        ],
        &[
            "run",
            "heavy-stack:4",
            "--solver",
            "gauss-seidel,order=shuffle",
            "--iterations",
            "3",
            "--seed",
            "7",
        ],
        &[
            "run",
            "heavy-stack:4",
            "--solver",
            "coloured",
            "--iterations",
            "3",
            "--threads",
            "2",
        ],
        &["run", "bridge", "--solver", "hybrid", "--iterations", "1"],
        &["run", "snake:8", "--iterations", "3"],
        &["run", "humanoid", "--solver", "jacobi", "--iterations", "5"],
        &[
            "run",
            "quadruped",
            "--solver",
            "hybrid",
            "--iterations",
            "2",
        ],
        &[
            "run",
            "stack:3",
            "--solver",
            "auto",
            "--iterations",
            "2",
            "--tolerance",
            "1e-13",
        ],
    ];
    for (i, run) in runs.iter().enumerate() {
        let kept = folder(&format!("capture-{i}"));
        let dir = kept.to_str().unwrap();
        let ran = delassus(
            &[
                run,
                &[
                    "--steps",
                    "12",
                    "--capture",
                    dir,
                    "--capture-when",
                    "residual>0",
                ][..],
            ]
            .concat(),
        );
        // Some of these leave steps unsolved, which is what they are for.
        assert!(ran.code <= 1, "{}", ran.stderr);
        let files = files(&kept);
        assert!(10 <= files.len(), "{run:?}: {}", files.len());
        for file in files.iter().rev().take(4) {
            let then = read(file)["notes"]["report"]["residual"].clone();
            assert!(then["law"].as_f64().is_some());
            assert_eq!(then, replayed(file), "{}", file.display());
        }
    }
}

#[test]
fn a_captured_start_is_used_unless_refused() {
    let kept = folder("capture-start");
    let dir = kept.to_str().unwrap();
    let run = [
        "run",
        "stack:3",
        "--steps",
        "40",
        "--capture",
        dir,
        "--capture-when",
        "every 40",
    ];
    assert_eq!(delassus(&run).code, 0);
    let files = files(&kept);
    assert_eq!(files.len(), 1);
    let file = files[0].to_str().unwrap();
    let sweeps = |more: &[&str]| {
        let solve = [
            "solve",
            file,
            "--solver",
            "gauss-seidel",
            "--tolerance",
            "1e-7",
            "--json",
        ];
        let ran = delassus(&[&solve[..], more].concat());
        ran.json()["iterations"].as_u64().unwrap()
    };
    assert!(sweeps(&[]) < sweeps(&["--cold"]));
    let compare = ["compare", dir, "--solver", "gauss-seidel", "--json"];
    let ran = delassus(&compare);
    assert_eq!(ran.json()["works"][0]["warm"], true);
    let ran = delassus(&[&compare[..], &["--cold"]].concat());
    assert_eq!(ran.json()["works"][0]["warm"], false);
}

#[test]
fn only_what_went_badly_is_kept_and_no_more_than_the_limit() {
    let kept = folder("capture-limit");
    let dir = kept.to_str().unwrap();
    let run = [
        "run",
        "heavy-stack:3",
        "--solver",
        "gauss-seidel",
        "--iterations",
        "5",
        "--steps",
        "9",
        "--capture",
        dir,
    ];
    let ran = delassus(&[&run[..], &["--capture-limit", "4", "--json"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(
        (files(&kept).len(), &ran.json()["captured"]),
        (4, &4.into())
    );
    assert!(ran.stderr.contains("5 more problems"), "{}", ran.stderr);
    let note = &read(&files(&kept)[0])["notes"];
    assert_eq!(
        (&note["scene"], &note["step"]),
        (&"heavy-stack:3".into(), &1.into())
    );
    assert_eq!(note["report"]["status"], "iteration-limit");
    let ran = delassus(&run);
    assert!(
        ran.code == 2 && ran.stderr.contains("--capture"),
        "{}",
        ran.stderr
    );
    // A run that goes well leaves nothing.
    let clean = folder("capture-clean");
    let ran = delassus(&[
        "run",
        "rolling-ball",
        "--steps",
        "9",
        "--capture",
        clean.to_str().unwrap(),
    ]);
    assert_eq!((ran.code, files(&clean).len()), (0, 0), "{}", ran.stderr);
}

#[test]
fn wrong_conditions_are_refused() {
    for when in ["never", "residual>", "every 0"] {
        let ran = delassus(&["run", "stack:2", "--capture", "x", "--capture-when", when]);
        assert!(
            ran.code == 2 && ran.stderr.contains("every N"),
            "{}",
            ran.stderr
        );
    }
    let ran = delassus(&["run", "stack:2", "--capture-limit", "3"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("--capture"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_refused_step_is_captured_and_names_body_joint_and_rows() {
    let out = folder("capture-refused");
    let scene = write(
        &out,
        "comet.toml",
        r#"
gravity = [0, 0, 0]
[[bodies]]
name = "comet"
mass = 1
inertia = [1, 1, 1]
velocity = [1e9, 0, 0]
[[bodies]]
name = "tail"
mass = 1
inertia = [1, 1, 1]
position = [1, 0, 0]
velocity = [1e9, 0, 0]
[[joints]]
name = "rope"
type = "ball"
bodies = ["comet", "tail"]
point = [0.5, 0, 0]
"#,
    );
    let kept = out.join("kept");
    let dir = kept.to_str().unwrap();
    let ran = delassus(&[
        "run",
        &scene,
        "--dt",
        "1e300",
        "--steps",
        "2",
        "--capture",
        dir,
        "--json",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for word in [
        "\"comet\"",
        "joint \"rope\"",
        "block 0, rows 0 to 2",
        "comet-step-000001-refused.json",
    ] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert_eq!(
        (&ran.json()["ending"], &ran.json()["steps"]),
        (&"refused".into(), &0.into())
    );
    let files = files(&kept);
    assert_eq!(files.len(), 1);
    assert_eq!(delassus(&["solve", files[0].to_str().unwrap()]).code, 0);
    // Where no problem could be assembled, the last good state is kept, and bodies still have names.
    let state = out.join("state");
    let ran = delassus(&[
        "run",
        "stack:2",
        "--dt",
        "1e160",
        "--steps",
        "2",
        "--capture",
        state.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("body \"box-000000\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused-state.json"), "{}", ran.stderr);
}
