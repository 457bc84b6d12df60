//! The end of what a command has written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes that are read from the end of a file, and how many of them are shown.
const READ: u64 = 64 << 10;
const SHOWN: usize = 4096;

/// The last lines of a file, at most so many; invalid UTF-8 is replaced. `hide` takes out what is not
/// to be shown, before the text is cut.
pub(crate) fn last_lines(
    path: &Path,
    most: usize,
    hide: impl Fn(String) -> String,
) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes)?;
    let text = hide(String::from_utf8_lossy(&bytes).into_owned());
    let shown = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
    let lines: Vec<&str> = text[shown..].lines().collect();
    let first = lines.len().saturating_sub(most);
    Ok(lines[first..].iter().map(ToString::to_string).collect())
}
