//! From a word on the command line to a problem: a file, standard input, or a built-in problem.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use delassus::gallery::{self, GalleryError};
use delassus::model::scene::SceneError;
use delassus::problem::Form;
use delassus::problem::file::{self, FileError, Format, Loaded, Work};
use delassus::scenes::ExhibitError;

use crate::folder::DiskError;
use crate::refusal::Usage;

/// Put in front of a name that is both a problem and a scene, to mean the built-in problem.
pub(crate) const PROBLEM: &str = "problem:";

/// A word of the command line, or the file it names, that is no problem and no scene.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("standard input: cannot be read to its end: {0}")]
    StandardInput(io::Error),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{name}: is a folder; name its files, or compare the whole folder with `delassus compare`"
    )]
    IsFolder { name: String },
    #[error(
        "{name}: there is no such file and no built-in problem of this name; check the path, or see `delassus list problems`"
    )]
    NotFound { name: String },
    #[error(transparent)]
    Problem(GalleryError),
    #[error("{name}: {cause}")]
    File { name: String, cause: Box<FileError> },
    #[error("{name}: is a single problem, not a scene; use `delassus solve`")]
    IsProblem { name: String },
    #[error("{name}: {cause}")]
    Scene { name: String, cause: SceneError },
    /// A robot file, which names itself.
    #[error(transparent)]
    RobotScene(SceneError),
    #[error("{0} (see `delassus list scenes`)")]
    BuiltInScene(ExhibitError),
    #[error(
        "{name}: a file of kind {kind} is computed, not solved, so there is nothing to compare; use `delassus solve`"
    )]
    NothingToCompare { name: String, kind: &'static str },
    #[error("{name}: a file of kind {kind} holds no problem to look at")]
    NothingToLookAt { name: String, kind: &'static str },
    #[error("{name}: a file of kind {kind} holds no problem that --save-problem could write")]
    NothingToSave { name: String, kind: &'static str },
}

/// Reads a file or standard input, or builds a built-in problem where no file has the name.
pub(crate) fn load(source: &Path, format: Option<Format>) -> Result<Loaded, InputError> {
    let name = name(source);
    if let Some(spec) = name.strip_prefix(PROBLEM) {
        return build(spec).map_err(|error| not_found(spec, error));
    }
    if is_standard_input(source) {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(InputError::StandardInput)?;
        return parse("standard input", &bytes, format.unwrap_or(Format::Json));
    }
    if source.is_dir() {
        return build(&name).map_err(|_| InputError::IsFolder { name });
    }
    match fs::read(source) {
        Ok(bytes) => parse(
            &name,
            &bytes,
            format.unwrap_or_else(|| Format::of_name(&name)),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            build(&name).map_err(|error| not_found(&name, error))
        }
        Err(error) => Err(DiskError::denied(source, "read")(error).into()),
    }
}

/// How a source is called in answers.
pub(crate) fn name(source: &Path) -> String {
    source.to_string_lossy().into_owned()
}

/// Refuses to read standard input twice: the second reader would find it empty.
pub(crate) fn check_standard_input(sources: &[PathBuf]) -> Result<(), Usage> {
    if 1 < sources.iter().filter(|s| is_standard_input(s)).count() {
        return Err(Usage::StandardInputTwice);
    }
    Ok(())
}

pub(crate) fn is_standard_input(source: &Path) -> bool {
    source.as_os_str() == "-"
}

fn parse(name: &str, bytes: &[u8], format: Format) -> Result<Loaded, InputError> {
    file::parse(bytes, format).map_err(|cause| InputError::File {
        name: name.to_owned(),
        cause: Box::new(cause),
    })
}

/// A built-in problem is of the kind its file would be, had it been saved.
fn build(name: &str) -> Result<Loaded, GalleryError> {
    let problem = gallery::build(name)?;
    Ok(Loaded {
        kind: match problem.form() {
            Form::Primal(_) => "problem",
            Form::Dual(_) => "dual",
        },
        title: name.to_owned(),
        guess: None,
        work: Work::Problem {
            problem: Box::new(problem),
            velocity_order: None,
        },
    })
}

fn not_found(name: &str, error: GalleryError) -> InputError {
    match error {
        GalleryError::Unknown { .. } => InputError::NotFound {
            name: name.to_owned(),
        },
        other => InputError::Problem(other),
    }
}
