//! Files that get their name once they are whole, and folders that one process claims.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file or folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// The system does not let us.
    #[error("{}: cannot {doing}: {cause}; {}", path.display(), remedy(cause))]
    Denied {
        /// Which.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// A folder holds something already.
    #[error("{option} {}: the folder is not empty; choose another, or add --force to write into it", path.display())]
    NotEmpty {
        /// What named it.
        option: &'static str,
        /// Which.
        path: PathBuf,
    },
    /// Another process writes into a folder.
    #[error("--out {}: another run is writing into this folder; wait for it, or choose another", path.display())]
    Claimed {
        /// Which.
        path: PathBuf,
    },
    /// A file is there already.
    #[error("{}: the file exists; choose another name, or add --force to overwrite it", path.display())]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// Bodies or joints came or went while a world was recorded.
    #[error(
        "the world has other bodies or joints than when its recording began; close that and begin another"
    )]
    WorldChanged,
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
    pub fn denied(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> DiskError {
        move |cause| DiskError::Denied {
            path: path.to_owned(),
            doing,
            cause,
        }
    }
}

/// Makes the folder of an option; one that is not empty is refused unless forced.
pub fn make(option: &'static str, path: &Path, force: bool) -> Result<(), DiskError> {
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
pub fn claim(path: &Path) -> Result<Option<fs::File>, DiskError> {
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
pub fn write_whole(path: &Path, text: &str) -> Result<(), DiskError> {
    write_bytes(path, text.as_bytes())
}

/// The same for what is no text.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let (unnamed, mut file) = Unnamed::create(path)?;
    io::Write::write_all(&mut file, bytes).map_err(DiskError::denied(path, "write"))?;
    unnamed.name(file)
}

/// A file that gets its name once it is whole. Until then it stands beside its place under another one, from where it
/// goes when this is dropped: what was written of it is of no use to anybody.
#[derive(Debug)]
pub struct Unnamed {
    path: PathBuf,
    /// None once it has its name, or where something else than a file has it.
    temporary: Option<PathBuf>,
}

impl Unnamed {
    /// Opens it for writing. A device or a pipe has its name already and stays what it is: it is written to.
    pub fn create(path: &Path) -> Result<(Unnamed, fs::File), DiskError> {
        if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = fs::OpenOptions::new().write(true).open(path);
            let unnamed = Unnamed {
                path: path.to_owned(),
                temporary: None,
            };
            return Ok((unnamed, file.map_err(DiskError::denied(path, "write"))?));
        }
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
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file, to which nothing more is written, its name.
    pub fn name(mut self, file: fs::File) -> Result<(), DiskError> {
        let Some(temporary) = &self.temporary else {
            return Ok(());
        };
        let denied = DiskError::denied(&self.path, "write");
        // On the disk before it gets its name: a crash must not leave the name without the content.
        file.sync_all().map_err(&denied)?;
        drop(file);
        fs::rename(temporary, &self.path).map_err(&denied)?;
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
pub fn write_new(path: &Path, text: &str, force: bool) -> Result<(), DiskError> {
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

    /// `--save-problem /dev/full --force` by a user who may do so made a file of the device.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        use std::os::unix::fs::FileTypeExt;
        let path = std::env::temp_dir().join(format!("delassus-special-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(write_new(&path, "text", true).is_err());
        let is_socket = fs::metadata(&path).unwrap().file_type().is_socket();
        drop(listener);
        fs::remove_file(&path).unwrap();
        assert!(is_socket);
    }
}
