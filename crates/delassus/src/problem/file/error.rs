//! The one error of every file reader: where, what was found, what to do.

use std::fmt;

use crate::error::{BuildError, TreeError};

/// Where in a file something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A position in a text file; both counted from one, columns in characters.
    Text {
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
    },
    /// An object of an HDF5 file, by its path.
    Object(String),
    /// A named value of a problem that was not read from a place in a file, such as `mu[3]`.
    Value(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Text { line, column } => write!(f, "{line}:{column}"),
            Place::Object(path) => write!(f, "/{path}"),
            Place::Value(name) => f.write_str(name),
        }
    }
}

/// Why a problem file was not read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The text ends before the problem does.
    #[error(
        "{place}: the file ends where {expected} should be; it was cut short, or a size above is too large"
    )]
    Ended {
        /// The end of the text.
        place: Place,
        /// What should have come next.
        expected: String,
    },
    /// Something else stands where a value was due.
    #[error(
        "{place}: found \"{found}\" where {expected} should be; correct the value, or a size above"
    )]
    Unexpected {
        /// Where it stands.
        place: Place,
        /// The text or value found, shortened.
        found: String,
        /// What should stand there.
        expected: String,
    },
    /// A NaN, an infinity, or a number beyond the range of a double.
    #[error(
        "{place}: {found} is not a finite number; a problem must be finite everywhere, so write the file again"
    )]
    NotFinite {
        /// Where it stands.
        place: Place,
        /// The number as found.
        found: String,
    },
    /// A declared size that the input cannot hold.
    #[error(
        "{place}: {declared} values are declared for {what} but the file has room for at most {available}; correct the size, or fetch the whole file"
    )]
    TooLarge {
        /// Where the size is declared.
        place: Place,
        /// What the size belongs to.
        what: String,
        /// Values it would need.
        declared: u128,
        /// Values the input could hold.
        available: u128,
    },
    /// Two sizes or two statements of one value that disagree.
    #[error(
        "{place}: {what} is {found} but must be {expected}; the file contradicts itself, so write it again"
    )]
    Mismatch {
        /// Where the second statement stands.
        place: Place,
        /// What is stated twice.
        what: String,
        /// What it says here.
        found: String,
        /// What the rest of the file asks for.
        expected: String,
    },
    /// A coefficient, index or dimension outside what it may be.
    #[error("{place}: {what} is {found} but must be {expected}; correct the value")]
    OutOfRange {
        /// Where it stands.
        place: Place,
        /// What the value is.
        what: String,
        /// The value.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// A file that is understood, and holds something this crate has no law or storage for.
    #[error("{place}: {kind} is not supported; {remedy}")]
    Unsupported {
        /// Where it shows.
        place: Place,
        /// What the file holds.
        kind: &'static str,
        /// What can be done instead.
        remedy: &'static str,
    },
    /// The shape of the numbers fits no kind of problem, or more than one.
    #[error(
        "{place}: cannot tell what the file holds ({reason}); pass --format lcp, mlcp, fc2d, fc3d, gfc2d or gfc3d"
    )]
    UnknownKind {
        /// Where the doubt arises.
        place: Place,
        /// What was seen.
        reason: String,
    },
    /// An object that the format requires is absent.
    #[error("{place}: missing; expected {expected}")]
    Missing {
        /// Path of the absent object.
        place: Place,
        /// What it should hold.
        expected: String,
    },
    /// A value of a JSON problem, or the problem as a whole, that is refused.
    #[error("{place}: {why}")]
    Invalid {
        /// Line and column, or the path of keys.
        place: Place,
        /// The fault and its remedy.
        why: Box<Unfit>,
    },
    /// The HDF5 container itself cannot be read.
    #[error(
        "{place}: the HDF5 container cannot be read ({message}); the file is damaged or not HDF5, so fetch it again"
    )]
    Container {
        /// Path of the object that was being read.
        place: Place,
        /// What the HDF5 library said.
        message: String,
    },
}

/// Why a value of a JSON problem is refused: the fault and its remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// The file itself is at fault.
    #[error("{0}")]
    Value(String),
    /// No problem can be built of it.
    #[error(transparent)]
    Problem(#[from] BuildError),
    /// No tree can be built of it, or the tree is asked for something it does not have.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// An entry of a list is at fault.
    #[error("{list}[{index}]: {why}")]
    Entry {
        /// Key of the list.
        list: &'static str,
        /// Which entry, from 0.
        index: usize,
        /// What is wrong with it.
        why: Box<Unfit>,
    },
}

impl From<String> for Unfit {
    fn from(what: String) -> Unfit {
        Unfit::Value(what)
    }
}

impl From<&str> for Unfit {
    fn from(what: &str) -> Unfit {
        Unfit::Value(what.to_owned())
    }
}

impl FileError {
    /// A refusal of the value at a path of keys.
    pub(super) fn invalid(place: impl Into<String>, why: impl Into<Unfit>) -> Self {
        FileError::Invalid {
            place: Place::Value(place.into()),
            why: Box::new(why.into()),
        }
    }

    /// Puts an object of an HDF5 file before the name of a value, for sizes and values that only the
    /// whole problem shows to be wrong.
    pub(super) fn inside(mut self, path: &str) -> Self {
        let (FileError::Ended { place, .. }
        | FileError::Unexpected { place, .. }
        | FileError::NotFinite { place, .. }
        | FileError::TooLarge { place, .. }
        | FileError::Mismatch { place, .. }
        | FileError::OutOfRange { place, .. }
        | FileError::Unsupported { place, .. }
        | FileError::UnknownKind { place, .. }
        | FileError::Missing { place, .. }
        | FileError::Invalid { place, .. }
        | FileError::Container { place, .. }) = &mut self;
        if let Place::Value(name) = place {
            *place = Place::Object(format!("{path}: {name}"));
        }
        self
    }
}

/// Texts in messages are cut to this many characters, so that a binary file opened as text gives a
/// short message.
const SHOWN: usize = 40;

/// The beginning of `text`, for a message.
pub(super) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
