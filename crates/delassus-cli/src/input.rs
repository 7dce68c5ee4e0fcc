//! From a word on the command line to a problem: a file, standard input, or a built-in problem.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use delassus::gallery::{self, GalleryError};
use delassus::problem::Form;
use delassus::problem::file::{self, Format, Loaded, Work};

use crate::console::Refusal;

/// Put in front of a name that is both a problem and a scene, to mean the built-in problem.
pub(crate) const PROBLEM: &str = "problem:";

/// Reads a file or standard input, or builds a built-in problem where no file has the name.
pub(crate) fn load(source: &Path, format: Option<Format>) -> Result<Loaded, Refusal> {
    let name = name(source);
    if let Some(spec) = name.strip_prefix(PROBLEM) {
        return build(spec).map_err(|error| not_found(spec, &error));
    }
    if is_standard_input(source) {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| {
                Refusal(format!(
                    "standard input: cannot be read to its end: {error}"
                ))
            })?;
        return parse("standard input", &bytes, format.unwrap_or(Format::Json));
    }
    if source.is_dir() {
        return build(&name).map_err(|_| {
            Refusal(format!(
                "{name}: is a folder; name its files, or compare the whole folder with `delassus compare`"
            ))
        });
    }
    match fs::read(source) {
        Ok(bytes) => parse(
            &name,
            &bytes,
            format.unwrap_or_else(|| Format::of_name(&name)),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            build(&name).map_err(|error| not_found(&name, &error))
        }
        Err(error) => Err(Refusal::io(source, "read", &error)),
    }
}

/// How a source is called in answers.
pub(crate) fn name(source: &Path) -> String {
    source.to_string_lossy().into_owned()
}

/// Refuses to read standard input twice: the second reader would find it empty.
pub(crate) fn check_standard_input(sources: &[PathBuf]) -> Result<(), Refusal> {
    if 1 < sources.iter().filter(|s| is_standard_input(s)).count() {
        return Err(Refusal(
            "`-` is given twice, but standard input can be read only once".to_owned(),
        ));
    }
    Ok(())
}

pub(crate) fn is_standard_input(source: &Path) -> bool {
    source.as_os_str() == "-"
}

fn parse(name: &str, bytes: &[u8], format: Format) -> Result<Loaded, Refusal> {
    file::parse(bytes, format).map_err(|error| Refusal(format!("{name}: {error}")))
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

fn not_found(name: &str, error: &GalleryError) -> Refusal {
    match error {
        GalleryError::Unknown { .. } => Refusal(format!(
            "{name}: there is no such file and no built-in problem of this name; check the path, or see `delassus list problems`"
        )),
        other => Refusal(other.to_string()),
    }
}
