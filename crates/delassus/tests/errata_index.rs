//! The errata page and the tests agree: every slip names a test that exists, every key cited is listed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../docs/errata.md");

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Cells of the table rows of the page.
fn rows() -> Vec<Vec<&'static str>> {
    let keys = ["| GS", "| Lemke05", "| Chain-", "| KKT"];
    let listed = |line: &&str| keys.iter().any(|key| line.starts_with(key));
    let rows = PAGE.lines().filter(listed);
    // A bar inside a formula is escaped and does not end a cell.
    rows.map(|line| {
        let mut cells = Vec::new();
        let (mut start, bytes) = (1, line.as_bytes());
        for i in 1..bytes.len() {
            if bytes[i] == b'|' && bytes[i - 1] != b'\\' {
                cells.push(line[start..i].trim());
                start = i + 1;
            }
        }
        cells
    })
    .collect()
}

/// Every Rust file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_erratum_names_a_test_that_exists() {
    let rows = rows();
    assert!(30 <= rows.len(), "only {} rows were read", rows.len());
    for row in rows {
        assert_eq!(row.len(), 6, "{row:?}");
        let (file, name) = row[5].trim_matches('`').split_once("::").unwrap();
        let text = fs::read_to_string(root().join(file)).unwrap();
        let claim = format!("#[test]\nfn {name}()");
        let inner = format!("#[test]\n    fn {name}()");
        assert!(
            text.contains(&claim) || text.contains(&inner),
            "{}: {file} has no test {name}",
            row[0]
        );
        assert!(["wrong", "misleading"].contains(&row[4]), "{row:?}");
    }
}

#[test]
fn every_errata_key_cited_in_code_is_listed() {
    let listed: BTreeSet<&str> = rows().iter().map(|row| row[0]).collect();
    assert_eq!(listed.len(), rows().len(), "a key is listed twice");
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    sources(&root().join("tests"), &mut files);
    let mut cited = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for part in text.split("errata ").skip(1) {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.');
            let key = part.split(end).next().unwrap_or("").trim_end_matches('.');
            if ["GS11-", "GS13-", "KKT-"]
                .iter()
                .any(|start| key.starts_with(start))
            {
                let key = key.to_owned();
                assert!(listed.contains(key.as_str()), "{key} in {}", file.display());
                cited.insert(key);
            }
        }
    }
    assert!(15 <= cited.len(), "{cited:?}");
}
