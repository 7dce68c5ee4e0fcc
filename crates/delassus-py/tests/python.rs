//! The Python package, installed and tested where Python is there.

#![cfg(unix)] // The script is one of the shell.

use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn the_python_package_installs_and_passes_its_tests() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-python");
    let output = Command::new(script)
        .output()
        .expect("scripts/check-python can be started");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "scripts/check-python failed:\n{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // What was skipped is said even where the output of tests that pass is not shown.
    for line in told.lines().filter(|line| line.contains("SKIPPED")) {
        writeln!(std::io::stderr(), "{line}").expect("standard error can be written to");
    }
}
