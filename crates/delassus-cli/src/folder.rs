//! `--out`: a folder that answers are written into.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::args::Common;

/// Longest part of a work's name kept in a file name: systems allow 255 bytes in all.
const LONGEST: usize = 120;

/// A file or folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// The system does not let us.
    #[error("{}: cannot {doing}: {cause}; {}", path.display(), remedy(cause))]
    Denied {
        path: PathBuf,
        doing: &'static str,
        cause: io::Error,
    },
    /// A folder holds something already.
    #[error("{option} {}: the folder is not empty; choose another, or add --force to write into it", path.display())]
    NotEmpty { option: &'static str, path: PathBuf },
    /// Another process writes into a folder.
    #[error("--out {}: another run is writing into this folder; wait for it, or choose another", path.display())]
    Claimed { path: PathBuf },
    /// A file is there already.
    #[error("{}: the file exists; choose another name, or add --force to overwrite it", path.display())]
    Exists { path: PathBuf },
}

/// What may help where the system refused.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room on the disk, or choose another"
        }
        io::ErrorKind::FileTooLarge => "allow larger files, or choose another disk",
        _ => "check the path and its permissions",
    }
}

impl DiskError {
    /// What the system said while doing something with a path.
    pub(crate) fn denied(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> DiskError {
        move |cause| DiskError::Denied {
            path: path.to_owned(),
            doing,
            cause,
        }
    }
}

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

/// Makes the folder of an option; one that is not empty is refused unless forced.
pub(crate) fn make(option: &'static str, path: &Path, force: bool) -> Result<(), DiskError> {
    fs::create_dir_all(path).map_err(DiskError::denied(path, "make the folder"))?;
    let mut entries = fs::read_dir(path).map_err(DiskError::denied(path, "read the folder"))?;
    if entries.next().is_some() && !force {
        return Err(DiskError::NotEmpty {
            option,
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Keeps a folder for this process as long as the handle lives; refused where another process has it. Systems whose
/// folders cannot be opened or locked do without.
pub(crate) fn claim(path: &Path) -> Result<Option<fs::File>, DiskError> {
    let Ok(folder) = fs::File::open(path) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(fs::TryLockError::WouldBlock) => Err(DiskError::Claimed {
            path: path.to_owned(),
        }),
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

/// Writes a file whole or not at all: under another name first, then renamed.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), DiskError> {
    write_bytes(path, text.as_bytes())
}

/// The same for what is no text.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let (unnamed, mut file) = Unnamed::create(path)?;
    io::Write::write_all(&mut file, bytes).map_err(DiskError::denied(path, "write"))?;
    unnamed.name(file)
}

/// A file that gets its name once it is whole. Until then it stands beside its place under another one, from where it
/// goes when this is dropped: what was written of it is of no use to anybody.
#[derive(Debug)]
pub(crate) struct Unnamed {
    path: PathBuf,
    /// None once it has its name.
    temporary: Option<PathBuf>,
}

impl Unnamed {
    /// Opens it for writing.
    pub(crate) fn create(path: &Path) -> Result<(Unnamed, fs::File), DiskError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp"));
        let file = fs::File::create(&temporary).map_err(DiskError::denied(path, "write"))?;
        let unnamed = Unnamed {
            path: path.to_owned(),
            temporary: Some(temporary),
        };
        Ok((unnamed, file))
    }

    /// The name it is to have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file, to which nothing more is written, its name.
    pub(crate) fn name(mut self, file: fs::File) -> Result<(), DiskError> {
        let denied = DiskError::denied(&self.path, "write");
        // On the disk before it gets its name: a crash must not leave the name without the content.
        file.sync_all().map_err(&denied)?;
        drop(file);
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path).map_err(&denied)?;
        }
        self.temporary = None;
        // The new name survives a power cut only once the folder is on the disk too; not every system can do that.
        let folder = self.path.parent();
        if let Some(folder) = folder.and_then(|folder| fs::File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes a file that must not exist yet, unless forced.
pub(crate) fn write_new(path: &Path, text: &str, force: bool) -> Result<(), DiskError> {
    if force {
        return write_whole(path, text);
    }
    let written = fs::File::create_new(path).and_then(|mut file| {
        let written = io::Write::write_all(&mut file, text.as_bytes());
        // Half a file is worse than none: it was not there before.
        if written.is_err() {
            let _ = fs::remove_file(path);
        }
        written
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => DiskError::Exists {
            path: path.to_owned(),
        },
        _ => DiskError::denied(path, "write")(error),
    })
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
    fn a_folder_that_another_run_writes_into_is_refused() {
        let path = std::env::temp_dir().join(format!("delassus-claimed-{}", std::process::id()));
        make("--out", &path, true).unwrap();
        let first = claim(&path).unwrap();
        assert!(first.is_some());
        let second = claim(&path).unwrap_err();
        assert!(second.to_string().contains("another run"), "{second}");
        drop(first);
        assert!(claim(&path).unwrap().is_some());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn names_of_answers_stay_inside_their_folder() {
        assert_eq!(tame("../../a b/stack.json"), "stack");
        assert_eq!(tame("wall:12"), "wall-12");
        assert_eq!(tame("relax=1.3"), "relax=1.3");
        assert!(tame(&"x".repeat(1000)).len() <= LONGEST);
    }
}
