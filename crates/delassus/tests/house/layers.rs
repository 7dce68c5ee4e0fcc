//! Layers: which module may use which.

use std::collections::BTreeMap;
use std::fs;

use crate::sources::{blanked, fail_if_any, is_word, library_code, line_of, root, rust_sources};

/// What every module of the library may use besides itself: arrows never point upwards.
const LAYERS: [(&str, &[&str]); 16] = [
    ("math", &["index", "error"]),
    ("linalg", &["math", "index", "error"]),
    ("index", &["math", "error"]),
    ("error", &["math", "index"]),
    ("law", &["linalg", "math", "index", "error"]),
    ("tree", &["linalg", "math", "index", "error"]),
    ("collide", &["linalg", "math", "index", "error"]),
    (
        "problem",
        &["law", "tree", "linalg", "math", "index", "error"],
    ),
    (
        "gallery",
        &["problem", "law", "linalg", "math", "index", "error"],
    ),
    (
        "chains",
        &["problem", "law", "tree", "linalg", "math", "index", "error"],
    ),
    (
        "derivative",
        &["problem", "law", "linalg", "math", "index", "error"],
    ),
    (
        "solver",
        &["problem", "law", "tree", "linalg", "math", "index", "error"],
    ),
    (
        "world",
        &[
            "derivative",
            "solver",
            "collide",
            "problem",
            "law",
            "tree",
            "linalg",
            "math",
            "index",
            "error",
        ],
    ),
    (
        "model",
        &[
            "world", "solver", "collide", "problem", "law", "tree", "linalg", "math", "index",
            "error",
        ],
    ),
    (
        "doctor",
        &[
            "world", "solver", "collide", "problem", "law", "tree", "linalg", "math", "index",
            "error",
        ],
    ),
    (
        "scenes",
        &[
            "world", "solver", "collide", "problem", "law", "tree", "linalg", "math", "index",
            "error",
        ],
    ),
];

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
pub(crate) fn crate_paths(code: &str) -> Vec<(String, usize)> {
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
