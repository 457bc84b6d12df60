//! The end of what a command has written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes that are read from the end of a file.
const LAST_BYTES: u64 = 4096;

/// The last lines of a file, at most so many; invalid UTF-8 is replaced.
pub(crate) fn last_lines(path: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(most);
    Ok(lines[first..].iter().map(ToString::to_string).collect())
}
