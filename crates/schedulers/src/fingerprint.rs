//! Whether a library is still the one that it was.

use rustix::fs::{Mode, OFlags, open};
use sha1::{Digest, Sha1};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The SHA-1 of a file in hexadecimal digits. It shows a library that was built again;
/// against somebody who wants two files to look alike it proves nothing.
///
/// # Errors
/// The file cannot be read.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    // Opening a pipe otherwise waits for its writer; reading a device may never end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let (mut hash, mut block) = (Sha1::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block)? {
            0 => break,
            read => hash.update(&block[..read]),
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sha_1_of_the_content() {
        let empty = tempfile::NamedTempFile::new().unwrap();
        let found = fingerprint(empty.path()).unwrap();
        // FIPS 180: of the empty message.
        assert_eq!(found, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        for none in ["/nowhere", "/dev/zero", "/"] {
            assert!(fingerprint(Path::new(none)).is_err(), "{none}");
        }
    }
}
