//! Every command of the tutorial runs, in a folder that holds the files of the tutorial and nothing else.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{folder, write};

/// Fenced blocks in their order: language and text.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let inside = text.split("```").skip(1).step_by(2);
    inside.filter_map(|block| block.split_once('\n')).collect()
}

/// The exit codes that a command may end with: the last part of the tutorial is about steps that are not solved.
fn codes(command: &str) -> &'static [i32] {
    match command.split_whitespace().any(|word| word == "bad") {
        true => &[0, 1],
        false => &[0],
    }
}

#[test]
fn every_command_of_the_tutorial_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../delassus/docs/tutorial.md");
    let tutorial = fs::read_to_string(path).unwrap();
    let folder = folder("tutorial");
    let (mut files, mut commands) = (0, 0);
    for (language, text) in blocks(&tutorial) {
        let first = text.lines().next().unwrap_or_default();
        // A file is called as its first comment says.
        let name = match language {
            "toml" => first.strip_prefix("# "),
            "xml" => first
                .strip_prefix("<!-- ")
                .and_then(|rest| rest.strip_suffix(" -->")),
            _ => None,
        };
        if let Some(name) = name {
            write(&folder, name, text);
            files += 1;
        }
        let typed = text.lines().filter(|_| language == "sh");
        for line in typed.filter(|line| line.starts_with("delassus ")) {
            let ran = Command::new(env!("CARGO_BIN_EXE_delassus"))
                .args(line.split_whitespace().skip(1))
                .current_dir(&folder)
                .output()
                .unwrap();
            let (code, words) = (ran.status.code(), String::from_utf8_lossy(&ran.stderr));
            let expected = codes(line);
            assert!(
                code.is_some_and(|code| expected.contains(&code)),
                "{line}: exit code {code:?}\n{words}"
            );
            assert!(!ran.stdout.is_empty(), "{line}: says nothing");
            commands += 1;
        }
    }
    assert_eq!(
        (files, commands),
        (3, 12),
        "files and commands of the tutorial"
    );
    for left in ["ramp/steps.csv", "compare.html", "bad"] {
        assert!(folder.join(left).exists(), "the tutorial promises {left}");
    }
}
