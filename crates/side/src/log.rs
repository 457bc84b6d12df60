//! The decision log: JSON lines, as `plimsoll_law::replay` reads them.

use crate::error::SideError;
use plimsoll_law::Entry;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// An open log. Several runs may append to one file, because each begins with its
/// law.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// `None` after a write error.
    file: Option<File>,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Result<Log, SideError> {
        let fail = |source| SideError::Log {
            path: path.to_owned(),
            source,
        };
        let mine = rustix::process::geteuid().as_raw();
        let foreign = |what: &str| {
            let words = format!("{what} another user; give a name in a folder of your own");
            io::Error::new(ErrorKind::PermissionDenied, words)
        };
        // Links of the system, such as /dev/stdout, are root's.
        let link = fs::symlink_metadata(path).ok().filter(|l| l.is_symlink());
        if link.is_some_and(|link| ![0, mine].contains(&link.uid())) {
            return Err(fail(foreign("it is a link of")));
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .read(true)
            .append(true)
            // The law's guards may contain URLs with secrets.
            .mode(0o600)
            .open(path)
            .map_err(fail)?;
        let about = file.metadata().map_err(fail)?;
        if about.is_file() && about.uid() != mine {
            return Err(fail(foreign("it belongs to")));
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(SideError::LogInUse {
                path: path.to_owned(),
            });
        }
        end_torn_line(&mut file).map_err(fail)?;
        Ok(Log {
            path: path.to_owned(),
            file: Some(file),
        })
    }

    /// Writes an entry. The first error is reported and ends the log; the command
    /// continues.
    pub(crate) fn write(&mut self, entry: &Entry) -> Option<String> {
        self.write_line(entry.to_line())
    }

    /// The same for a line of another log.
    pub(crate) fn write_line(&mut self, line: serde_json::Result<String>) -> Option<String> {
        let file = self.file.as_mut()?;
        let written = line.map_err(io::Error::other).and_then(|line| {
            // In one write, so that it is complete or torn at the end.
            file.write_all(format!("{line}\n").as_bytes())
        });
        let error = written.err()?;
        self.file = None;
        Some(format!(
            "the log {} ends here, for it cannot be written: {error}; the command goes on",
            self.path.display()
        ))
    }
}

/// Terminates the torn last line of a killed run.
fn end_torn_line(file: &mut File) -> io::Result<()> {
    // A pipe or a device has no last line.
    if !file.metadata()?.is_file() || file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_mechanism::CpuMechanism;
    use plimsoll_law::{Headroom, Law};
    use std::os::unix::fs::PermissionsExt;

    fn begin() -> Entry {
        let law = CpuMechanism::Quota.law(Headroom::default(), 2).unwrap();
        let state = CpuMechanism::start(&law);
        Entry::Begin {
            law: Law::Plimsoll(law),
            state,
        }
    }

    #[test]
    fn a_torn_last_line_is_ended_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "{\"entry\":\"dec").unwrap();
        assert_eq!(Log::open(&path).unwrap().write(&begin()), None);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().nth(1), Some(&*begin().to_line().unwrap()));
    }

    #[test]
    fn a_log_has_mode_0600() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        Log::open(&path).unwrap();
        let about = std::fs::metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("link"));
        let nobody = Some(65534);
        std::fs::write(&theirs, "").unwrap();
        std::os::unix::fs::chown(&theirs, nobody, nobody).unwrap();
        std::os::unix::fs::symlink(dir.path().join("mine"), &link).unwrap();
        std::os::unix::fs::lchown(&link, nobody, nobody).unwrap();
        for path in [&theirs, &link] {
            let error = Log::open(path).unwrap_err().to_string();
            assert!(error.contains("another user"), "{error}");
        }
        assert!(!dir.path().join("mine").exists());
    }

    #[test]
    fn a_log_in_use_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let first = Log::open(&path).unwrap();
        assert!(matches!(Log::open(&path), Err(SideError::LogInUse { .. })));
        drop(first);
        assert!(Log::open(&path).is_ok());
    }

    #[test]
    fn a_full_disk_is_reported_once() {
        let mut log = Log::open(Path::new("/dev/full")).unwrap();
        assert!(log.write(&begin()).unwrap().contains("/dev/full"));
        assert_eq!(log.write(&begin()), None);
    }
}
