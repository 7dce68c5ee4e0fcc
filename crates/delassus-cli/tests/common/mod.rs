//! Running the binary, and a problem small enough to read.

#![allow(dead_code)] // Each test file uses its own part of this.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// What a run of the binary left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

/// Runs `delassus` with these arguments.
pub(crate) fn delassus<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    delassus_reading(arguments, b"")
}

/// Runs `delassus` with something to read on standard input.
pub(crate) fn delassus_reading<S: AsRef<std::ffi::OsStr>>(arguments: &[S], input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_delassus"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that refuses its arguments never reads; that the pipe then breaks is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    Ran {
        code: output.status.code().expect("the run was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr,
    }
}

/// Ctrl-C for another process.
pub(crate) fn interrupt(id: u32) {
    let command = format!("kill -INT {id}");
    let status = Command::new("sh").args(["-c", &command]).status();
    assert!(status.unwrap().success());
}

/// A process that does not outlive the test that started it, however that ends.
pub(crate) struct Started(Option<Child>);

impl Started {
    pub(crate) fn new(command: &mut Command) -> Started {
        Started(Some(command.spawn().unwrap()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Kills it, as a machine that loses its power would.
    pub(crate) fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A new empty folder of this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Writes a file into a folder and gives its path as text.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Two rows on three velocities, the first asking for velocity `q` with 0 ≤ λ₁ ≤ 1.5, the second free. Here
/// S = [1.5 0.5; 0.5 0.76] and c = (−0.5 − q, −3.25), so λ₁ = (0.76 (0.5 + q) − 1.625)/0.89 where that is within
/// its bounds: 1.16 for q = 3, and 1.5 for q = 5.
pub(crate) fn rows(q: &str) -> String {
    format!(
        r#"{{"schema": "delassus-oracle-1", "kind": "rows", "title": "two rows",
            "Minv": [[1, 0, 0], [0, 0.5, 0], [0, 0, 0.25]],
            "G": [[1, 1, 0], [0, 1, -1]], "q": [{q}, 0.25], "sigma": [0, 0.01], "v1": [0.5, -1, 2],
            "lo": [0, null], "hi": [1.5, null]}}"#
    )
}

/// Runs to the end and gives the hash of the last state.
pub(crate) fn hash(arguments: &[&str]) -> String {
    let ran = delassus(&[arguments, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()["state_hash"].as_str().unwrap().to_owned()
}

/// What a file holds.
pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
