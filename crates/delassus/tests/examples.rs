//! Every numbered example runs to its end and says something.

#![cfg(feature = "robots")]

use std::env::{consts::EXE_SUFFIX, current_exe};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The example as `cargo test` has built it beside this test, or else by cargo, which builds it first.
fn command(name: &str) -> Command {
    let here = current_exe().expect("a test knows where it is");
    let folder = here.parent().and_then(Path::parent);
    let built = folder.map(|folder| folder.join("examples").join(format!("{name}{EXE_SUFFIX}")));
    // A program from before the last change to its source would prove nothing.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    match built.filter(|built| time(&source) < time(built)) {
        Some(built) => Command::new(built),
        None => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["run", "--quiet", "--package", "delassus", "--example", name]);
            cargo
        }
    }
}

#[test]
fn every_example_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(folder).expect("there are examples");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(7 <= names.len(), "{names:?}");
    for name in names {
        let name = name.trim_end_matches(".rs");
        let ran = command(name).output().expect("the example starts");
        let words = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{name}: {}\n{words}", ran.status);
        assert!(!ran.stdout.is_empty(), "{name} says nothing");
    }
}
