//! A slice of every attack, small enough for every day; `delassus-attack all` is the long one.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs an attack, which must find nothing.
fn attack(words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_delassus-attack"))
        .args(words)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{words:?}\n{out}\n{err}");
    assert!(out.contains(" tried |"), "{out}");
}

/// The command line beside the attack, built where it is not there yet: tests of the whole workspace have it.
fn command_line() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_delassus-attack"));
    let beside = own.with_file_name("delassus");
    if !beside.is_file() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "delassus-cli"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .status()
            .unwrap();
        assert!(built.success());
    }
    beside
}

#[test]
fn problems_are_solved_or_not_called_so() {
    attack(&["problems", "20", "1", "--solvers", "auto;gauss-seidel"]);
}

#[test]
fn scenes_gain_nothing_and_nothing_slow_goes_through() {
    attack(&["scenes", "2", "1", "--time", "0.5"]);
}

#[test]
fn mutated_files_are_read_or_refused() {
    attack(&["files", "300", "1"]);
}

#[test]
fn strangers_are_kept_out_and_pages_are_served() {
    attack(&["server", "18", "1"]);
}

#[test]
fn disturbed_runs_end_with_the_same_bits() {
    let binary = command_line();
    let binary = binary.to_str().unwrap();
    attack(&["faults", "35", "1", "--binary", binary]);
    attack(&["crowd", "24", "1", "--binary", binary]);
    attack(&["commands", "60", "1", "--binary", binary]);
}

#[test]
fn a_long_run_goes_on_where_it_stopped() {
    let name = format!("delassus-attack-all-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let out = folder.to_str().unwrap();
    let words = [
        "all", "problems", "--seed", "1", "--out", out, "--share", "0.0002",
    ];
    attack(&words);
    let first = std::fs::read_to_string(folder.join("attack.csv")).unwrap();
    // A second run does not begin anew unasked.
    let again = Command::new(env!("CARGO_BIN_EXE_delassus-attack"))
        .args(words)
        .status()
        .unwrap();
    assert_eq!(again.code(), Some(2));
    attack(&[&words[..], &["--resume"]].concat());
    let second = std::fs::read_to_string(folder.join("attack.csv")).unwrap();
    assert_eq!(first, second);
    std::fs::remove_dir_all(folder).unwrap();
}
