//! The files of the repository, and Rust without its comments and texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file of the repository.
pub(crate) struct Source {
    /// Path from the root, with `/`.
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file below a folder of the repository, sorted; build products are left out.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if [
                "target",
                ".git",
                "corpus",
                "artifacts",
                "node_modules",
                "dist",
            ]
            .contains(&&*name)
            {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path
                    .strip_prefix(root())
                    .expect("the walk started at the root")
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push(Source { name, text });
            }
        }
    }
    if let Some(kept) = kept() {
        found.retain(|source| kept.contains(&source.name));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What git keeps, so that caches and logs beside the sources are nobody's fault; none where git does not say.
fn kept() -> Option<BTreeSet<String>> {
    let mut command = Command::new("git");
    let list = command.arg("-C").arg(root()).args(["ls-files", "-z"]);
    let list = list.output().ok().filter(|list| list.status.success())?;
    let names = String::from_utf8(list.stdout).ok()?;
    let kept: BTreeSet<String> = names.split_terminator('\0').map(str::to_owned).collect();
    (!kept.is_empty()).then_some(kept)
}

/// Rust files below `src` of every crate.
pub(crate) fn rust_sources() -> Vec<Source> {
    let mut found = sources("crates");
    found.retain(|source| source.name.contains("/src/") && source.name.ends_with(".rs"));
    assert!(
        10 < found.len(),
        "the sources were not found from {}",
        root().display()
    );
    found
}

/// The chapters of every crate.
pub(crate) fn chapters() -> Vec<Source> {
    let mut found = sources("crates");
    found.retain(|source| source.name.contains("/docs/") && source.name.ends_with(".md"));
    found
}

/// Library code only: without the test module at the foot and without files of tests.
pub(crate) fn library_code(source: &Source) -> String {
    if source.name.ends_with("/tests.rs") {
        return String::new();
    }
    let code = blanked(&source.text);
    let end = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
    code[..end].to_owned()
}

/// The source with comments and the insides of texts and characters replaced by spaces, lines kept.
pub(crate) fn blanked(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let at = |i: usize| letters.get(i).copied().unwrap_or(' ');
    let mut i = 0;
    while i < letters.len() {
        let end = match (at(i), at(i + 1)) {
            ('/', '/') => find(&letters, i, |j| at(j) == '\n'),
            ('/', '*') => find(&letters, i + 2, |j| at(j - 1) == '*' && at(j) == '/') + 1,
            ('r', '"' | '#') if !(i != 0 && at(i - 1).is_alphanumeric()) => raw_end(&letters, i),
            ('"', _) => text_end(&letters, i + 1, '"'),
            ('\'', '\\') => text_end(&letters, i + 1, '\''),
            ('\'', _) if at(i + 2) == '\'' => i + 3,
            _ => i,
        };
        if end <= i {
            out.push(letters[i]);
            i += 1;
        }
        while i < end.min(letters.len()) {
            out.push(if letters[i] == '\n' { '\n' } else { ' ' });
            i += 1;
        }
    }
    out
}

fn find(letters: &[char], start: usize, is_end: impl Fn(usize) -> bool) -> usize {
    (start..letters.len())
        .find(|&j| is_end(j))
        .unwrap_or(letters.len())
}

/// Behind the closing quote; a backslash hides the letter after it.
fn text_end(letters: &[char], mut i: usize, quote: char) -> usize {
    while i < letters.len() && letters[i] != quote {
        i += if letters[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// Behind a raw text that starts at `start`, or `start` where none does.
fn raw_end(letters: &[char], start: usize) -> usize {
    let quote = find(letters, start + 1, |j| letters[j] != '#');
    if letters.get(quote) != Some(&'"') {
        return start;
    }
    let hashes = quote - start - 1;
    let closes =
        |j: usize| letters[j] == '"' && (1..=hashes).all(|k| letters.get(j + k) == Some(&'#'));
    find(letters, quote + 1, closes) + hashes + 1
}

/// Line number, from one, of a byte of a text.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(crate) fn fail_if_any(faults: &[String], remedy: &str) {
    assert!(faults.is_empty(), "{remedy}\n  {}", faults.join("\n  "));
}
