//! The terminal: what a command prints, how it ends, and the only two places that write.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::refusal::Refusal;

/// How a command ended, from good to bad: the worst wins and becomes the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All solved.
    Solved,
    /// Something is not solved.
    NotSolved,
    /// Bad input or usage.
    BadInput,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Outcome::Solved => 0,
            Outcome::NotSolved => 1,
            Outcome::BadInput => 2,
        })
    }

    /// Says what was refused and remembers it, where the rest of the work is still worth having.
    pub(crate) fn blame<E: std::error::Error>(&mut self, result: Result<(), E>) {
        if let Err(error) = result {
            complain(&error);
            *self = Outcome::BadInput;
        }
    }
}

/// What a command hands to standard output, and how it ended.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) outcome: Outcome,
}

/// Writes to standard output. A reader that has heard enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refusal::Output(error)),
        _ => Ok(()),
    }
}

/// Says what went wrong. Nobody is left to tell if standard error cannot be written, so that is ignored.
pub(crate) fn complain(error: &dyn std::error::Error) {
    let _ = writeln!(io::stderr().lock(), "delassus: error: {error}");
}

/// Says something worth knowing that is no error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "delassus: note: {text}");
}
