//! Files that are written whole or not at all, and whose names others cannot prepare.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What happens to an existing file of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced once the new one is complete.
    Replace,
    /// It is kept, and the write fails.
    Keep,
}

/// Writes a file with mode 0600, completely or not at all: what is recorded and reported
/// may hold secrets.
///
/// # Errors
/// What the system says; [`io::ErrorKind::AlreadyExists`] for a file that is kept.
pub fn write_private(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    write(path, bytes, existing, 0o600)
}

/// The same with mode 0644, less what the umask takes, for what everybody may read.
///
/// # Errors
/// What the system says.
pub fn write_public(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, Existing::Replace, 0o644)
}

/// The bytes go to a new file in the same folder, with a random name and opened with
/// `O_EXCL`: nothing that others put into the folder is followed or written to. It is
/// synced before it is renamed, and removed if any of this fails.
fn write(path: &Path, bytes: &[u8], existing: Existing, mode: u32) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".plimsoll-")
        .suffix(OsStr::new(".part"))
        .rand_bytes(16)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(without_path)?;
    temporary.write_all(bytes).map_err(without_path)?;
    temporary.as_file().sync_all()?;
    match existing {
        Existing::Replace => temporary.persist(path),
        Existing::Keep => temporary.persist_noclobber(path),
    }
    .map_err(|failed| without_path(failed.error))?;
    // Makes the rename durable. Some file systems cannot sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The error without the name of the temporary file, which `tempfile` adds and the
/// user does not know.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_mode_is_0600_even_if_a_public_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        write_private(&path, b"new", Existing::Replace).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_symlink_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let path = dir.path().join("page.html");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_private(&path, b"page", Existing::Replace).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"page");
    }

    #[test]
    fn a_failed_write_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("there");
        fs::create_dir(&path).unwrap();
        assert!(write_private(&path, b"text", Existing::Replace).is_err());
        let kept = write_private(&path, b"text", Existing::Keep).unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let nowhere = dir.path().join("none/page.html");
        let error = write_private(&nowhere, b"text", Existing::Replace).unwrap_err();
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
