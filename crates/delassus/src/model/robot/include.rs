//! `<include>` of MJCF: the content of another file in place of the element, wherever it stands.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use super::ImportError;
use super::xml::Source;

/// Most text with everything included \[bytes\].
const MAX_TEXT: usize = 1 << 26;

/// The text with the content of included files in place of `<include>`, on the line of that element, so that the
/// lines below keep their numbers.
pub(super) fn expand<'a>(
    text: &'a str,
    source: &Source<'_>,
    folder: Option<&Path>,
) -> Result<Cow<'a, str>, ImportError> {
    let mut elements = source.root().descendants();
    let Some(first) = elements.find(|n| n.has_tag_name("include")) else {
        return Ok(Cow::Borrowed(text));
    };
    let Some(folder) = folder else {
        let what = "other files can be included from a file alone, not from a text";
        return Err(source.fault(first, what));
    };
    let place = (text, 0..text.len());
    insert(source, place, (folder, &mut Vec::new())).map(Cow::Owned)
}

/// A range of a text with its includes. Files are named from the folder of the first one, and each may be included
/// once, as in MuJoCo, which rules out circles.
fn insert(
    source: &Source<'_>,
    (text, range): (&str, Range<usize>),
    (folder, seen): (&Path, &mut Vec<String>),
) -> Result<String, ImportError> {
    let mut whole = String::new();
    let mut done = range.start;
    let elements = source.root().descendants();
    for node in elements.filter(|n| n.has_tag_name("include")) {
        let file = source.text(node, "file")?;
        let fault = |what: &str| source.fault(node, format!("{file}: {what}"));
        if seen.iter().any(|old| old == file) {
            return Err(fault("is included a second time"));
        }
        seen.push(file.to_owned());
        let read = std::fs::read_to_string(folder.join(file));
        let read = read.map_err(|error| fault(&error.to_string()))?;
        let inner = Source::new(&read, file)?;
        let root = inner.root();
        if !matches!(root.tag_name().name(), "mujoco" | "mujocoinclude") {
            let what = "an included file starts with <mujoco> or <mujocoinclude>";
            return Err(inner.fault(root, what));
        }
        let content = match (root.first_child(), root.last_child()) {
            (Some(first), Some(last)) => first.range().start..last.range().end,
            _ => 0..0,
        };
        let content = insert(&inner, (&read, content), (folder, seen))?;
        whole.push_str(&text[done..node.range().start]);
        whole.push_str(&content.replace(['\n', '\r'], " "));
        done = node.range().end;
        if MAX_TEXT < whole.len() {
            return Err(fault("makes the whole too long"));
        }
    }
    whole.push_str(&text[done..range.end]);
    Ok(whole)
}
