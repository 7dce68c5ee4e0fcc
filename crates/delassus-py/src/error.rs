//! The one exception of the package, and how errors of the engine become it.

use std::fmt::Display;
use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, create_exception};

create_exception!(
    delassus,
    Error,
    PyValueError,
    "What was given cannot be used; the message says where, what was found and what to do."
);

/// The exception with the message of an error.
pub(crate) fn refuse(cause: impl Display) -> PyErr {
    Error::new_err(cause.to_string())
}

/// The same behind the place it happened at.
pub(crate) fn refuse_at(place: impl Display) -> impl Fn(&dyn Display) -> PyErr {
    move |cause| Error::new_err(format!("{place}: {cause}"))
}

/// What the system says about a file, as the `OSError` of its kind, with the file's name.
pub(crate) fn of_disk(path: &Path, cause: &std::io::Error) -> PyErr {
    let text = format!("{}: {cause}", path.display());
    std::io::Error::new(cause.kind(), text).into()
}
