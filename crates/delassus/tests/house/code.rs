//! Lengths, forbidden calls and stray paths.

use crate::sources::{blanked, fail_if_any, is_word, library_code, line_of, rust_sources, sources};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 80;

#[test]
fn files_and_functions_fit_a_reader() {
    let mut faults = Vec::new();
    for source in sources("crates")
        .iter()
        .filter(|source| source.name.ends_with(".rs"))
    {
        let lines = source.text.lines().count();
        if FILE_LINES < lines {
            faults.push(format!(
                "{}:1: {lines} lines, at most {FILE_LINES}",
                source.name
            ));
        }
    }
    for source in rust_sources() {
        for (line, length, name) in functions(&blanked(&source.text)) {
            if FUNCTION_LINES < length {
                faults.push(format!(
                    "{}:{line}: fn {name} has {length} lines, at most {FUNCTION_LINES}",
                    source.name
                ));
            }
        }
    }
    fail_if_any(&faults, "split what is too long to read:");
}

/// First line, number of lines and name of every function with a body.
pub(crate) fn functions(code: &str) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].chars().take_while(|&c| is_word(c)).collect();
        if code[..at].ends_with(is_word) || name.is_empty() {
            continue;
        }
        let (mut depth, mut opened) = (0i32, false);
        for (i, c) in code[at..].char_indices() {
            match c {
                // A semicolon outside parentheses before the body: a declaration without one.
                ';' if depth == 0 => break,
                '(' | '[' if !opened => depth += 1,
                ')' | ']' if !opened => depth -= 1,
                '{' => {
                    opened = true;
                    depth += 1;
                }
                '}' => depth -= 1,
                _ => {}
            }
            if opened && depth == 0 {
                let (first, last) = (line_of(code, at), line_of(code, at + i));
                found.push((first, last - first + 1, name));
                break;
            }
        }
    }
    found
}

#[test]
fn library_code_neither_prints_nor_gives_up() {
    let everywhere = [".unwrap()", "todo!(", "dbg!(", "unimplemented!("];
    let in_library = ["println!(", "print!("];
    let mut faults = Vec::new();
    for source in rust_sources() {
        let is_library = source.name.starts_with("crates/delassus/");
        for (i, line) in library_code(&source).lines().enumerate() {
            let mut calls: Vec<&str> = everywhere
                .into_iter()
                .filter(|call| line.contains(call))
                .collect();
            calls.extend(
                in_library
                    .into_iter()
                    .filter(|call| is_library && line.contains(call)),
            );
            if let Some(call) = calls.first() {
                faults.push(format!("{}:{}: {call}", source.name, i + 1));
            }
        }
    }
    fail_if_any(
        &faults,
        "return an error, or `expect(\"why this cannot fail\")`; only the command line prints:",
    );
}

#[test]
fn no_text_names_the_machine_it_was_written_on() {
    // In two halves, so that this file does not accuse itself.
    let stray = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/tm", "p/"),
        concat!("/ho", "me/"),
        concat!("index.crates", ".io"),
        concat!("static.crates", ".io"),
        concat!("artifact", "ory"),
    ];
    let public = "registry+https://github.com/rust-lang/crates.io-index";
    let mut faults = Vec::new();
    for source in sources("") {
        for (i, line) in source.text.lines().enumerate() {
            let place = format!("{}:{}", source.name, i + 1);
            if let Some(found) = stray.into_iter().find(|text| line.contains(text)) {
                faults.push(format!("{place}: {found}"));
            }
            if source.name.ends_with("Cargo.lock")
                && line.starts_with("source")
                && !line.contains(public)
            {
                faults.push(format!("{place}: {line}"));
            }
        }
    }
    fail_if_any(
        &faults,
        "paths and hosts of one machine do not belong in the product:",
    );
}
