//! What the docs and comments name exists: citations, errata, paths.

use std::collections::BTreeSet;
use std::fs;

use crate::sources::{chapters, fail_if_any, is_word, root, rust_sources, sources};

/// Words by which a document lists its keys: the first word of a row, an item, a heading or a line.
fn listed_keys(text: &str) -> BTreeSet<String> {
    let key = |line: &str| -> String {
        let start = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        start
            .chars()
            .take_while(|c| c.is_alphanumeric() || "-.".contains(*c))
            .collect()
    };
    text.lines()
        .map(key)
        .filter(|key| !key.is_empty())
        .collect()
}

/// The key of a bracket that reads like a citation: `[GS11 (3)]`, `[Chain, Connectivity]`, `[Name07]`.
fn citation(bracket: &str, known: &BTreeSet<String>) -> Option<String> {
    let key: String = bracket.chars().take_while(|&c| is_word(c)).collect();
    let rest = &bracket[key.len()..];
    let is_name = key.starts_with(|c: char| c.is_ascii_uppercase()) && 2 < key.len();
    let year = key.len() - key.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let place = [" (", " Alg", " §", " App", " line"]
        .iter()
        .any(|mark| rest.starts_with(mark));
    let ends = rest.is_empty() || rest.starts_with([' ', ',']);
    let cites = is_name && ends && (year == 2 || place || known.contains(&key));
    cites.then_some(key)
}

/// Every comment line of the sources and every line of the chapters, with its place.
fn prose() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut files = rust_sources();
    files.extend(chapters());
    for source in files {
        let is_code = source.name.ends_with(".rs");
        for (i, line) in source.text.lines().enumerate() {
            let text = if is_code {
                line.split_once("//").map(|(_, comment)| comment)
            } else {
                Some(line)
            };
            if let Some(text) = text {
                lines.push((format!("{}:{}", source.name, i + 1), text.to_owned()));
            }
        }
    }
    lines
}

#[test]
fn every_citation_has_a_key_in_the_references() {
    let references = fs::read_to_string(root().join("crates/delassus/docs/references.md"))
        .expect("crates/delassus/docs/references.md lists the citation keys");
    let keys = listed_keys(&references);
    let mut faults = Vec::new();
    for (place, text) in prose() {
        for bracket in text.split('[').skip(1) {
            // A backslash before the bracket keeps rustdoc from taking it for a link.
            let bracket = bracket.split(']').next().unwrap_or_default();
            let bracket = bracket.trim_end_matches('\\');
            if let Some(key) = citation(bracket, &keys).filter(|key| !keys.contains(key)) {
                faults.push(format!("{place}: [{bracket}] cites unknown key {key}"));
            }
        }
    }
    fail_if_any(
        &faults,
        "add the key to crates/delassus/docs/references.md, or correct the citation:",
    );
}

#[test]
fn every_erratum_named_is_in_the_errata() {
    let Ok(errata) = fs::read_to_string(root().join("crates/delassus/docs/errata.md")) else {
        eprintln!("skipped: there is no crates/delassus/docs/errata.md");
        return;
    };
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let keys: BTreeSet<&str> = errata
        .split(|c| !is_key(c))
        .map(|word| word.trim_matches(['.', '-']))
        .collect();
    let mut faults = Vec::new();
    for (place, text) in prose() {
        for rest in text.split("errata ").skip(1) {
            let key = rest
                .split(|c| !is_key(c))
                .next()
                .unwrap_or_default()
                .trim_matches(['.', '-']);
            if key.contains('-')
                && key.starts_with(|c: char| c.is_ascii_uppercase())
                && !keys.contains(key)
            {
                faults.push(format!("{place}: errata {key}"));
            }
        }
    }
    fail_if_any(
        &faults,
        "crates/delassus/docs/errata.md has no entry with these keys:",
    );
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let Some((names, after)) = rest.split_once('}') else {
        return vec![path.to_owned()];
    };
    names
        .split(',')
        .map(|name| format!("{before}{}{after}", name.trim()))
        .collect()
}

#[test]
fn every_path_named_in_the_docs_exists() {
    let folders = [
        "crates/",
        "crates/delassus/docs/",
        "fuzz/",
        "results/",
        ".ci/",
        ".cargo/",
    ];
    let endings = [".rs", ".md", ".wgsl"];
    let bases = [
        "",
        "crates",
        "crates/delassus",
        "crates/delassus/src",
        "crates/delassus/docs",
    ];
    let mut files = sources("");
    files.retain(|source| source.name.ends_with(".md"));
    let mut faults = Vec::new();
    for source in &files {
        for (i, line) in source.text.lines().enumerate() {
            for path in line.split('`').skip(1).step_by(2) {
                let plain = !path.contains([' ', '<', '*', ':', '…', '(']) && path.contains('/');
                let looks = folders.iter().any(|folder| path.starts_with(folder))
                    || endings.iter().any(|ending| path.ends_with(ending));
                let exists = |path: &String| {
                    // Beside the file, as in the README of a crate, or from one of the usual places.
                    let beside = root().join(&source.name).with_file_name(path);
                    let mut bases = bases.iter().map(|base| root().join(base).join(path));
                    beside.exists() || bases.any(|path| path.exists())
                };
                if plain && looks && !expanded(path).iter().all(exists) {
                    faults.push(format!("{}:{}: `{path}`", source.name, i + 1));
                }
            }
            for link in line.split("](").skip(1) {
                let path = link.split([')', '#']).next().unwrap_or_default();
                let file = root().join(&source.name);
                if !path.contains(':') && !file.with_file_name(path).exists() {
                    faults.push(format!("{}:{}: ({path})", source.name, i + 1));
                }
            }
        }
    }
    fail_if_any(&faults, "these paths do not exist:");
}
