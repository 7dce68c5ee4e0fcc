//! The most that is read of any file: a device or a pipe may never end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that are read of a file, a pipe or a device.
pub const MOST_BYTES: u64 = 256 << 20;

/// Everything a source has; [`io::ErrorKind::FileTooLarge`] where it does not end within [`MOST_BYTES`].
pub fn read_to_end(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if MOST_BYTES < bytes.len() as u64 {
        let most = MOST_BYTES >> 20;
        let what = format!("it has more than {most} MiB, which is the most that is read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// A whole file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_to_end(File::open(path)?)
}

/// A whole file as text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("byte {at}: the text is not UTF-8; save it as UTF-8");
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_never_ends_is_refused_and_a_short_one_is_not() {
        let refused = read_to_end(io::repeat(0)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert!(
            refused.to_string().contains("more than 256 MiB"),
            "{refused}"
        );
        let whole = read_to_end(io::repeat(0).take(1000)).unwrap();
        assert_eq!(whole.len(), 1000);
    }
}
