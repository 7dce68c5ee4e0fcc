//! `delassus sweep`: thousands of runs by the Python package, which knows how to share them among processes and machines.

use std::ffi::OsString;
use std::io;
use std::process::Command;

use crate::args::SweepArgs;
use crate::console::{Outcome, Printed};
use crate::refusal::Refusal;

/// Names the interpreter, where it is not `python3`.
const PYTHON: &str = "DELASSUS_PYTHON";

/// Why no sweep can be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error(
        "{}: cannot be started: {cause}; sweeps need Python 3.10 or newer, install it, or name it by {PYTHON}",
        python.display()
    )]
    NoPython { python: OsString, cause: io::Error },
    #[error(
        "{}: has no package delassus; `pip install './crates/delassus-py[sweep]'` in a clone installs it, or {PYTHON} \
         names an interpreter that has it",
        python.display()
    )]
    NoPackage { python: OsString },
}

/// Hands the work to the package, whose words go to the terminal as they come.
pub(crate) fn run(args: &SweepArgs) -> Result<Printed, Refusal> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let no_python = |cause| SweepError::NoPython {
        python: python.clone(),
        cause,
    };
    let mut look = Command::new(&python);
    look.args([
        "-c",
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('delassus') is None)",
    ]);
    if !look.output().map_err(no_python)?.status.success() {
        return Err(SweepError::NoPackage { python }.into());
    }
    let mut command = Command::new(&python);
    command.args(["-m", "delassus", "sweep"]).arg(&args.file);
    let options = [
        ("--out", args.out.as_ref().map(OsString::from)),
        ("--workers", args.workers.map(|n| n.to_string().into())),
        ("--scheduler", args.scheduler.as_ref().map(OsString::from)),
    ];
    for (option, value) in options {
        if let Some(value) = value {
            command.arg(option).arg(value);
        }
    }
    if args.quiet {
        command.arg("--quiet");
    }
    let status = command.status().map_err(no_python)?;
    let outcome = match status.code() {
        Some(0) => Outcome::Solved,
        Some(2) => Outcome::BadInput,
        _ => Outcome::NotSolved,
    };
    Ok(Printed {
        text: String::new(),
        outcome,
    })
}
