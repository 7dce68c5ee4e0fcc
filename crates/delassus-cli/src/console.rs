//! The terminal: what a command prints, how it ends, and the only two places that write.

use std::borrow::Cow;
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
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refusal::Output(error)),
        _ => Ok(()),
    }
}

/// Says what went wrong. Nobody is left to tell if standard error cannot be written, so that is ignored.
pub(crate) fn complain(error: &dyn std::error::Error) {
    let text = error.to_string();
    let _ = writeln!(io::stderr().lock(), "delassus: error: {}", tame(&text));
}

/// Says something worth knowing that is no error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "delassus: note: {}", tame(text));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::folder::DiskError;

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
        let text = DiskError::denied(Path::new("out"), "write")(full).to_string();
        assert!(text.contains("make room"), "{text}");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let text = DiskError::denied(Path::new("out"), "write")(denied).to_string();
        assert!(text.contains("permissions"), "{text}");
    }
}
