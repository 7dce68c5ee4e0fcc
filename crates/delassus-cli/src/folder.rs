//! `--out`: a folder that answers are written into.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

pub(crate) use delassus_record::disk::{DiskError, claim, make, write_new, write_whole};

use crate::args::Common;

/// Longest part of a work's name kept in a file name: systems allow 255 bytes in all.
const LONGEST: usize = 120;

/// A folder being filled, with the names already given away.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    taken: BTreeSet<String>,
}

impl Folder {
    /// Makes the folder of `--out`, if any. Answers of an earlier run are not overwritten unasked.
    pub(crate) fn prepare(common: &Common) -> Result<Option<Folder>, DiskError> {
        let Some(path) = &common.out else {
            return Ok(None);
        };
        make("--out", path, common.force)?;
        Ok(Some(Folder {
            path: path.clone(),
            taken: BTreeSet::new(),
        }))
    }

    /// Writes one document under a name made from `parts`, unique within this run.
    pub(crate) fn write(&mut self, parts: &[&str], text: &str) -> Result<(), DiskError> {
        let stem: Vec<String> = parts.iter().map(|part| tame(part)).collect();
        let stem = stem.join(".");
        let mut name = format!("{stem}.json");
        let mut count = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{stem}.{count}.json");
            count += 1;
        }
        let path = self.path.join(name);
        fs::write(&path, text).map_err(DiskError::denied(&path, "write"))
    }
}

/// The last part of a path without its extension, in characters that every file system takes.
pub(crate) fn tame(part: &str) -> String {
    let last = part.rsplit(['/', '\\']).next().unwrap_or(part);
    let stem = [".json", ".dat", ".hdf5", ".h5", ".toml"]
        .iter()
        .find_map(|extension| last.strip_suffix(extension))
        .unwrap_or(last);
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "._=-,".contains(c) {
            c
        } else {
            '-'
        }
    };
    stem.chars().take(LONGEST).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_answers_stay_inside_their_folder() {
        assert_eq!(tame("../../a b/stack.json"), "stack");
        assert_eq!(tame("wall:12"), "wall-12");
        assert_eq!(tame("relax=1.3"), "relax=1.3");
        assert!(tame(&"x".repeat(1000)).len() <= LONGEST);
    }
}
