//! From a word on the command line to a problem: a file, standard input, or a built-in problem.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use delassus::gallery::{self, GalleryError};
use delassus::model::scene::SceneError;
use delassus::problem::Form;
use delassus::problem::file::limit::{MOST_BYTES, read_to_end};
use delassus::problem::file::{self, FileContent, FileError, Format, Loaded};
use delassus::scenes::{self, ExhibitError};

use crate::folder::DiskError;
use crate::refusal::Usage;
use crate::scene;

/// Put in front of a name that is both a problem and a scene, to mean the built-in problem.
pub(crate) const PROBLEM: &str = "problem:";

/// A word of the command line, or the file it names, that is no problem and no scene.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{name}: cannot be read to its end: {cause}")]
    Unreadable { name: String, cause: io::Error },
    #[error(
        "{name}: has more than {} MiB, which is the most that is read; is it the right file?",
        MOST_BYTES >> 20
    )]
    TooLong { name: String },
    #[error("{name}: byte {at}: the text is not UTF-8; save it as UTF-8")]
    NotText { name: String, at: usize },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{name}: is a folder; name its files, or compare the whole folder with `delassus compare`"
    )]
    IsFolder { name: String },
    #[error(
        "{name}: there is no such file and no built-in problem of this name; {hint}check the path, or see `delassus list problems`"
    )]
    NotFound { name: String, hint: String },
    #[error(
        "{name}: is a scene, not a single problem; step it with `delassus run {name}`, or under every solver with `delassus compare {name}`"
    )]
    IsScene { name: String },
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
        let bytes = standard_input()?;
        return parse("standard input", &bytes, format.unwrap_or(Format::Json));
    }
    if format.is_none() && scene::is_file_name(source) && source.is_file() {
        return Err(InputError::IsScene { name });
    }
    if source.is_dir() {
        return build(&name).map_err(|_| InputError::IsFolder { name });
    }
    let opened = match fs::File::open(source) {
        Ok(file) => Ok(limited(&name, file)?),
        Err(error) => Err(error),
    };
    match opened {
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

/// A whole file; one that does not end within the limit is refused.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, InputError> {
    let file = fs::File::open(path).map_err(DiskError::denied(path, "read"))?;
    limited(&name(path), file)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Result<String, InputError> {
    text(&name(path), read(path)?)
}

/// Standard input to its end.
pub(crate) fn standard_input() -> Result<Vec<u8>, InputError> {
    limited("standard input", io::stdin().lock())
}

/// Bytes as text.
pub(crate) fn text(name: &str, bytes: Vec<u8>) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let name = name.to_owned();
        InputError::NotText { name, at }
    })
}

/// Everything a source has, unless it has more than anybody would write: a device may never end.
fn limited(name: &str, source: impl Read) -> Result<Vec<u8>, InputError> {
    let name = || name.to_owned();
    read_to_end(source).map_err(|cause| match cause.kind() {
        io::ErrorKind::FileTooLarge => InputError::TooLong { name: name() },
        _ => InputError::Unreadable {
            name: name(),
            cause,
        },
    })
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
        content: FileContent::Problem {
            problem: Box::new(problem),
            velocity_order: None,
        },
    })
}

fn not_found(name: &str, error: GalleryError) -> InputError {
    match error {
        GalleryError::Unknown { .. } => {
            let meant = gallery::meant(name).or_else(|| scenes::meant(name));
            let name = name.to_owned();
            match meant {
                Some(meant) if meant == name => InputError::IsScene { name },
                Some(meant) => {
                    let hint = format!("did you mean {meant}? If not, ");
                    InputError::NotFound { name, hint }
                }
                None => InputError::NotFound {
                    name,
                    hint: String::new(),
                },
            }
        }
        other => InputError::Problem(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_never_ends_is_refused_and_one_at_the_limit_is_not() {
        let refused = limited("zeros", io::repeat(0)).unwrap_err();
        assert!(
            refused.to_string().contains("more than 256 MiB"),
            "{refused}"
        );
        let whole = limited("zeros", io::repeat(0).take(1000)).unwrap();
        assert_eq!(whole.len(), 1000);
    }
}
