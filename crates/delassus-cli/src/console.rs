//! The terminal: what a command prints, how it ends, and the only two places that write.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

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
    pub(crate) fn blame(&mut self, result: Result<(), Refusal>) {
        if let Err(refusal) = result {
            complain(&refusal);
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

/// Why something asked for is not done: place, value and remedy in one line.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(pub(crate) String);

impl Refusal {
    /// A file or folder the system does not let us read or write.
    pub(crate) fn io(path: &Path, doing: &str, error: &io::Error) -> Refusal {
        let path = path.display();
        Refusal(format!(
            "{path}: cannot {doing}: {error}; check the path and its permissions"
        ))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes to standard output. A reader that has heard enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refusal(format!(
            "cannot write the answer to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Says what was refused. Nobody is left to tell if standard error cannot be written, so that is ignored.
pub(crate) fn complain(refusal: &Refusal) {
    let _ = writeln!(io::stderr().lock(), "delassus: error: {refusal}");
}

/// Says something worth knowing that is no error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "delassus: note: {text}");
}
