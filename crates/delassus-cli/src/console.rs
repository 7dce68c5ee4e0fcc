//! The terminal: what a command prints, how it ends, and the only two places that write.

use std::borrow::Cow;
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
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room on the disk, or choose another"
            }
            io::ErrorKind::FileTooLarge => "allow larger files, or choose another disk",
            _ => "check the path and its permissions",
        };
        Refusal(format!("{path}: cannot {doing}: {error}; {remedy}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text without what a terminal would obey: titles and names come from files, and may hold escapes that move the
/// cursor or change the title of the window.
fn tame(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    match text.contains(obeyed) {
        false => Cow::Borrowed(text),
        true => text.replace(obeyed, "\u{fffd}").into(),
    }
}

/// Writes to standard output. A reader that has heard enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match out
        .write_all(tame(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refusal(format!(
            "cannot write the answer to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Says what was refused. Nobody is left to tell if standard error cannot be written, so that is ignored.
pub(crate) fn complain(refusal: &Refusal) {
    let _ = writeln!(io::stderr().lock(), "delassus: error: {}", tame(&refusal.0));
}

/// Says something worth knowing that is no error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "delassus: note: {}", tame(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_told_what_to_do_by_a_name() {
        assert_eq!(
            tame("a\u{1b}]0;owned\u{7}b\tc\n"),
            "a\u{fffd}]0;owned\u{fffd}b\tc\n"
        );
        assert!(matches!(tame("λ = 1\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_full_disk_is_not_called_a_matter_of_permissions() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let text = Refusal::io(Path::new("out"), "write", &full).0;
        assert!(text.contains("make room"), "{text}");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let text = Refusal::io(Path::new("out"), "write", &denied).0;
        assert!(text.contains("permissions"), "{text}");
    }
}
