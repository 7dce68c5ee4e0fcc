//! What the docs show works: problem files are read, the code of the README is compiled, examples fit on a page.

use std::collections::BTreeMap;
use std::fs;

use delassus::problem::file::{Format, parse};

use crate::sources::{chapters, fail_if_any, line_of, root, sources};

/// Most lines of an example besides its header and imports.
const EXAMPLE_LINES: usize = 44;
/// Most rows of the index in the README.
const INDEX_ROWS: usize = 15;

/// Fenced blocks of a language.
fn fenced<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let blocks = text.split(&open as &str).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_code_of_the_readme_is_the_code_that_doc_tests_compile() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("there is a README");
    let (front, tested) = (read("README.md"), read("crates/delassus/README.md"));
    let shown = fenced(&front, "rust");
    assert!(!shown.is_empty(), "the README shows no code");
    for block in shown {
        // Lines that rustdoc hides are not shown.
        let visible = |line: &&str| !line.starts_with("# ");
        let mut blocks = fenced(&tested, "rust").into_iter();
        assert!(
            blocks.any(|tested| tested.lines().filter(visible).eq(block.lines())),
            "crates/delassus/README.md, whose code is compiled, has no block like\n{block}"
        );
    }
}

#[test]
fn the_index_of_the_readme_fits_on_a_screen() {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let index = text
        .split("| I want | open |")
        .nth(1)
        .expect("the README has an index");
    let rows = index
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .count();
    assert!(
        (1..=INDEX_ROWS).contains(&rows),
        "{rows} rows, at most {INDEX_ROWS}"
    );
}

#[test]
fn examples_fit_on_a_page() {
    let mut faults = Vec::new();
    let folders = ["crates/delassus/examples", "crates/delassus-view/examples"];
    for source in folders.into_iter().flat_map(sources) {
        let numbered = source
            .name
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with('0'));
        let is_code = |line: &&str| {
            let header = ["//!", "#![", "use "]
                .iter()
                .any(|start| line.starts_with(start));
            !header && !line.trim().is_empty()
        };
        let lines = source.text.lines().filter(is_code).count();
        if numbered && EXAMPLE_LINES < lines {
            faults.push(format!("{}:1: {lines} lines", source.name));
        }
    }
    fail_if_any(
        &faults,
        &format!("examples have at most {EXAMPLE_LINES} lines:"),
    );
}

#[test]
fn every_example_file_in_the_docs_is_read() {
    let mut read = BTreeMap::new();
    for source in chapters() {
        for (fence, format) in [("```json\n", Format::Json), ("```dat\n", Format::Dat(None))] {
            let mut from = 0;
            while let Some(start) = source.text[from..].find(fence) {
                let begin = from + start + fence.len();
                let length = source.text[begin..]
                    .find("```")
                    .expect("the fence is closed");
                let example = &source.text[begin..begin + length];
                let line = line_of(&source.text, begin);
                let loaded = parse(example.as_bytes(), format).unwrap_or_else(|error| {
                    panic!("{}:{line}: the example is refused: {error}", source.name)
                });
                *read.entry(loaded.kind).or_insert(0) += 1;
                from = begin + length + 3;
            }
        }
    }
    for kind in [
        "contact",
        "joints",
        "rows",
        "tree",
        "treecontact",
        "stabilisation",
        "problem",
        "dual",
        "friction-local",
    ] {
        assert!(
            read.contains_key(kind),
            "crates/delassus/docs/files.md has no example of kind {kind}"
        );
    }
}
