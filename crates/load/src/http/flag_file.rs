//! Files that are named by flags and read again when a run is resumed.

use std::fs::{self, File};
use std::io::{self, Read};

/// The bytes of a regular file, at most `most`.
///
/// # Errors
/// A sentence with a way out.
pub(super) fn bytes(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let cannot = |e: io::Error| {
        format!("the file '{path}' cannot be read: {e}; check the name and its permissions")
    };
    // To open a pipe waits for its writer, and a device has no end.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(format!(
            "'{path}' is no regular file, and it is read again when a run is resumed; give a file"
        ));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(format!(
            "'{path}' has more than {} MiB; give a smaller file",
            most >> 20
        )),
    }
}
