//! JSON problems: one object with `schema` and `kind`; the layouts are in the chapter on files.
//!
//! Keys under `expect` and `notes` are ignored; any other unknown key is an error, so that a misspelt
//! parameter cannot silently take its default. Numbers are read exactly as written and must be finite.

/// A file of one kind: what all kinds share, then its own keys. Unknown keys are errors, and serde cannot
/// combine that with a flattened header, hence the macro.
macro_rules! problem_file {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        pub(super) struct $name {
            #[serde(rename = "schema")]
            _schema: serde::de::IgnoredAny,
            #[serde(rename = "kind")]
            _kind: serde::de::IgnoredAny,
            #[serde(rename = "id", default)]
            _id: serde::de::IgnoredAny,
            #[serde(default)]
            title: String,
            #[serde(rename = "notes", default)]
            _notes: serde::de::IgnoredAny,
            #[serde(rename = "expect", default)]
            _expect: serde::de::IgnoredAny,
            $($(#[$attribute])* $field: $type,)*
        }
    };
}

mod keyed;
mod own;
mod physical;
mod plain;
mod tree;
mod tree_mass;

pub use own::{save, save_with};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{FileError, Loaded, Place};
use keyed::Keyed;

/// Schemas this reader knows.
const SCHEMAS: [&str; 2] = ["delassus-oracle-1", "delassus-problem-1"];

/// What every file says first.
#[derive(Deserialize)]
#[serde(expecting = "an object with \"schema\" and \"kind\"")]
struct Header {
    schema: Option<String>,
    kind: Option<String>,
}

/// Reads any kind of JSON problem.
pub fn parse(bytes: &[u8]) -> Result<Loaded, FileError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        FileError::invalid(
            format!("byte {at}"),
            "the text is not UTF-8; save it as UTF-8",
        )
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(FileError::invalid(
            "start",
            "the file is empty; a JSON problem was expected",
        ));
    }
    let header: Header = read::<Keyed<Header>>(text)?.0;
    let schema = header.schema.unwrap_or_default();
    if !SCHEMAS.contains(&schema.as_str()) {
        let known = SCHEMAS.join(" or ");
        let what = format!(
            "schema is \"{}\"; this version reads {known}",
            shortened(&schema)
        );
        return Err(FileError::invalid("schema", what));
    }
    match header.kind.unwrap_or_default().as_str() {
        "contact" => physical::contact(read(text)?),
        "joints" => physical::joints(read(text)?),
        "rows" => plain::rows(read(text)?),
        "stabilisation" => plain::stabilisation(read(text)?),
        "problem" => own::problem(read(text)?),
        "dual" => own::dual(read(text)?),
        "lcp" => plain::lcp(read(text)?),
        "tree" => tree::tree(read(text)?),
        "treecontact" => tree::contact(read(text)?),
        other => {
            let what = format!(
                "kind is \"{}\"; known kinds: contact, joints, rows, lcp, tree, treecontact, stabilisation, problem, dual",
                shortened(other)
            );
            Err(FileError::invalid("kind", what))
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        // The position is already told; serde_json repeats it at the end.
        let what = error.to_string();
        let what = what
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        FileError::Invalid {
            place: Place::Text { line, column },
            why: Box::new(shortened(&what).into()),
        }
    })
}

/// At most 300 characters: an error must stay short whatever the file says.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(300).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
