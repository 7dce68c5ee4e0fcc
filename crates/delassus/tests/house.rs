//! House rules as tests: layers, citations, paths, lengths, forbidden calls, stray paths, examples in the docs.
//!
//! Nothing here knows Rust's grammar; sources are read line by line after comments and texts are blanked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use delassus::problem::file::{Format, parse};

const FILE_LINES: usize = 600;
const TEST_LINES: usize = 700;
const FUNCTION_LINES: usize = 80;

/// What every module of the library may use besides itself: arrows never point upwards.
const LAYERS: [(&str, &[&str]); 13] = [
    ("math", &["index", "error"]),
    ("index", &["math", "error"]),
    ("error", &["math", "index"]),
    ("law", &["math", "index", "error"]),
    ("tree", &["math", "index", "error"]),
    ("collide", &["math", "index", "error"]),
    ("problem", &["law", "tree", "math", "index", "error"]),
    ("gallery", &["problem", "law", "math", "index", "error"]),
    (
        "chains",
        &["problem", "law", "tree", "math", "index", "error"],
    ),
    (
        "solver",
        &["problem", "law", "tree", "math", "index", "error"],
    ),
    (
        "world",
        &[
            "solver", "collide", "problem", "law", "tree", "math", "index", "error",
        ],
    ),
    (
        "doctor",
        &[
            "world", "solver", "collide", "problem", "law", "tree", "math", "index", "error",
        ],
    ),
    (
        "scenes",
        &[
            "world", "solver", "collide", "problem", "law", "tree", "math", "index", "error",
        ],
    ),
];

/// A text file of the repository.
struct Source {
    /// Path from the root, with `/`.
    name: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file below a folder of the repository, sorted; build products are left out.
fn sources(folder: &str) -> Vec<Source> {
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
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Rust files below `src` of every crate.
fn rust_sources() -> Vec<Source> {
    let mut found = sources("crates");
    found.retain(|source| source.name.contains("/src/") && source.name.ends_with(".rs"));
    assert!(
        10 < found.len(),
        "the sources were not found from {}",
        root().display()
    );
    found
}

/// Library code only: without the test module at the foot and without files of tests.
fn library_code(source: &Source) -> String {
    if source.name.ends_with("/tests.rs") {
        return String::new();
    }
    let code = blanked(&source.text);
    let end = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
    code[..end].to_owned()
}

/// The source with comments and the insides of texts and characters replaced by spaces, lines kept.
fn blanked(source: &str) -> String {
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
fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn fail_if_any(faults: &[String], remedy: &str) {
    assert!(faults.is_empty(), "{remedy}\n  {}", faults.join("\n  "));
}

/// The module that each name re-exported by `lib.rs` comes from.
fn exported() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("crates/delassus/src/lib.rs"))
        .expect("the library has a front page");
    let code = blanked(&text);
    let mut names = BTreeMap::new();
    for item in code.split("pub use ").skip(1) {
        let path = item.split(';').next().unwrap_or_default();
        let module = path.split("::").next().unwrap_or_default().trim();
        for name in path.split(|c| !is_word(c)).filter(|name| !name.is_empty()) {
            names.insert(name.to_owned(), module.to_owned());
        }
    }
    names
}

/// First names after `crate::`, with the byte at which they stand; `crate::{a, b::c}` gives a and b.
fn crate_paths(code: &str) -> Vec<(String, usize)> {
    let word = |text: &str| text.chars().take_while(|&c| is_word(c)).collect::<String>();
    let mut found = Vec::new();
    for (at, matched) in code.match_indices("crate::") {
        let rest = &code[at + matched.len()..];
        if code[..at].ends_with(is_word) {
            continue;
        }
        let Some(group) = rest.strip_prefix('{') else {
            found.push((word(rest), at));
            continue;
        };
        let mut depth = 0;
        let mut expects = true;
        for (i, c) in group.char_indices() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => expects = true,
                c if expects && is_word(c) => {
                    found.push((word(&group[i..]), at));
                    expects = false;
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn no_layer_uses_one_above_it() {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.into_iter().collect();
    let exported = exported();
    let mut faults = Vec::new();
    for source in rust_sources() {
        let Some(inside) = source.name.strip_prefix("crates/delassus/src/") else {
            continue;
        };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if module == "lib" {
            continue;
        }
        let Some(allowed) = layers.get(module) else {
            faults.push(format!("{}:1: module `{module}` has no layer", source.name));
            continue;
        };
        let code = library_code(&source);
        for (name, at) in crate_paths(&code) {
            let used = exported.get(&name).map_or(name.as_str(), String::as_str);
            if layers.contains_key(used) && used != module && !allowed.contains(&used) {
                let line = line_of(&code, at);
                faults.push(format!(
                    "{}:{line}: {module} uses {used} (crate::{name})",
                    source.name
                ));
            }
        }
    }
    fail_if_any(
        &faults,
        "a module may use only the layers below it; move the shared part down, or add a new module to LAYERS:",
    );
}

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
    files.extend(
        sources("docs")
            .into_iter()
            .filter(|source| source.name.ends_with(".md")),
    );
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
    let references = fs::read_to_string(root().join("docs/references.md"))
        .expect("docs/references.md lists the citation keys");
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
        "add the key to docs/references.md, or correct the citation:",
    );
}

#[test]
fn every_erratum_named_is_in_the_errata() {
    let Ok(errata) = fs::read_to_string(root().join("docs/errata.md")) else {
        eprintln!("skipped: there is no docs/errata.md");
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
    fail_if_any(&faults, "docs/errata.md has no entry with these keys:");
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
    let folders = ["crates/", "docs/", "fuzz/", "results/", ".ci/", ".cargo/"];
    let endings = [".rs", ".md", ".wgsl"];
    let bases = [
        "",
        "crates",
        "crates/delassus",
        "crates/delassus/src",
        "docs",
    ];
    let mut files = sources("docs");
    files.extend(sources("fuzz"));
    for name in ["README.md", "CONTRIBUTING.md"] {
        if let Ok(text) = fs::read_to_string(root().join(name)) {
            files.push(Source {
                name: name.to_owned(),
                text,
            });
        }
    }
    files.retain(|source| source.name.ends_with(".md"));
    let mut faults = Vec::new();
    for source in &files {
        for (i, line) in source.text.lines().enumerate() {
            for path in line.split('`').skip(1).step_by(2) {
                let plain = !path.contains([' ', '<', '*', ':', '…', '(']) && path.contains('/');
                let looks = folders.iter().any(|folder| path.starts_with(folder))
                    || endings.iter().any(|ending| path.ends_with(ending));
                let exists = |path: &String| {
                    bases
                        .iter()
                        .any(|base| root().join(base).join(path).exists())
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

#[test]
fn files_and_functions_fit_a_reader() {
    let mut faults = Vec::new();
    for source in sources("crates")
        .iter()
        .filter(|source| source.name.ends_with(".rs"))
    {
        let lines = source.text.lines().count();
        let limit = if source.name.contains("/src/") {
            FILE_LINES
        } else {
            TEST_LINES
        };
        if limit < lines {
            faults.push(format!("{}:1: {lines} lines, at most {limit}", source.name));
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
fn functions(code: &str) -> Vec<(usize, usize, String)> {
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

#[test]
fn every_example_file_in_the_docs_is_read() {
    let mut read = BTreeMap::new();
    for source in sources("docs") {
        for (fence, format) in [("```json\n", Format::Json), ("```dat\n", Format::Dat)] {
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
            "docs/files.md has no example of kind {kind}"
        );
    }
}

#[test]
fn blanking_leaves_code_and_lines() {
    let code =
        "let a = \"// no\"; // fn b\nlet c = 'x'; let d = '\\''; /* {\n */ r#\"}\"\n\"# + b'\"'";
    let kept: String = blanked(code)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(kept, "let a = ; let c = ; let d = ; + b");
    assert_eq!(blanked(code).lines().count(), code.lines().count());
    let found = functions("fn a(x: [u8; 2]) -> u8;\nfn b<T>()\nwhere T: {\n {}\n}\nfn");
    assert_eq!(found, [(2, 4, "b".to_owned())]);
    let paths: Vec<String> = crate_paths("use crate::{law::{A, B}, math};crate::C")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(paths, ["law", "math", "C"]);
}
