//! Built-in problems by name, shared by tests, benches and the command line.

use crate::problem::Problem;

/// One built-in problem.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name; a size may follow as `name:12`.
    pub name: &'static str,
    /// The size taken when none is given, or zero where it has none.
    pub size: usize,
    /// What it is, in one line.
    pub about: &'static str,
}

/// All built-in problems.
pub fn exhibits() -> &'static [Exhibit] {
    &[]
}

/// Why a built-in problem cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GalleryError {
    /// No such problem.
    #[error("there is no built-in problem \"{name}\"; known: {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A size that is no number, zero or too large.
    #[error("\"{text}\" is not a size of {name}; give a whole number from 1 to {limit}")]
    BadSize {
        /// The problem.
        name: &'static str,
        /// What was given as size.
        text: String,
        /// The largest size.
        limit: usize,
    },
}

/// Makes a built-in problem from `name` or `name:size`. The same name gives the same bits.
pub fn build(spec: &str) -> Result<Problem, GalleryError> {
    let name = spec.split(':').next().unwrap_or_default().to_owned();
    Err(GalleryError::Unknown {
        name,
        known: String::new(),
    })
}
