//! Files that are named by flags and read again when a run is resumed.

use rustix::fs::OFlags;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

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
    // Some files of /proc call themselves regular and wait for what is to come.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(cannot)?;
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
