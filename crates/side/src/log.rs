//! The decision log: JSON lines, as `plimsoll_law::replay` reads them.

use crate::error::SideError;
use plimsoll_law::Entry;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
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
        // Nothing is asked of the name, which another user may exchange meanwhile. Neither
        // to open a pipe nor to write to it may wait for its reader.
        let flags = match is_descriptor(path) {
            true => OFlags::NONBLOCK | OFlags::NOCTTY,
            false => OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW,
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .read(true)
            .append(true)
            // The law's guards may contain URLs with secrets.
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .map_err(|e| match e.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::LOOP) => fail(io::Error::other(
                    "it is a symlink, and others might change where it leads",
                )),
                _ => fail(e),
            })?;
        let about = file.metadata().map_err(fail)?;
        // Devices of the system, such as /dev/null, are root's.
        if about.uid() != mine && (about.is_file() || about.uid() != 0) {
            return Err(fail(foreign("it belongs to")));
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(SideError::LogInUse {
                path: path.to_owned(),
            });
        }
        if is_something_else(&file).map_err(fail)? {
            let words = "it does not begin as a log does; give the name of a new file";
            return Err(fail(io::Error::other(words)));
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
        let error = match written.err()? {
            e if e.kind() == ErrorKind::WouldBlock => "its reader does not keep up".to_owned(),
            other => other.to_string(),
        };
        self.file = None;
        Some(format!(
            "the log {} ends here, for it cannot be written: {error}; the command goes on",
            self.path.display()
        ))
    }
}

/// Whether a name stands for an open file; these links are the system's.
fn is_descriptor(path: &Path) -> bool {
    let streams = ["/dev/stdout", "/dev/stderr"].map(Path::new);
    let folders = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    streams.contains(&path) || path.parent().is_some_and(|dir| folders.contains(&dir))
}

/// Whether a file holds what no run has logged: each entry is a JSON object.
fn is_something_else(file: &File) -> io::Result<bool> {
    let mut first = [0];
    let has_any = file.metadata()?.is_file() && file.read_at(&mut first, 0)? > 0;
    Ok(has_any && first != *b"{")
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
    fn a_file_that_is_no_log_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes");
        std::fs::write(&path, "dear diary\n").unwrap();
        let error = Log::open(&path).unwrap_err().to_string();
        assert!(error.contains("name of a new file"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"dear diary\n");
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
        let (theirs, pipe) = (dir.path().join("theirs"), dir.path().join("pipe"));
        let nobody = Some(65534);
        std::fs::write(&theirs, "").unwrap();
        make_pipe(&pipe);
        for path in [&theirs, &pipe] {
            std::os::unix::fs::chown(path, nobody, nobody).unwrap();
            let error = Log::open(path).unwrap_err().to_string();
            assert!(error.contains("another user"), "{error}");
        }
    }

    fn make_pipe(path: &Path) {
        let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, link) = (dir.path().join("mine"), dir.path().join("link"));
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        let error = Log::open(&link).unwrap_err().to_string();
        assert!(error.contains("a symlink"), "{error}");
        assert!(!mine.exists());
        std::fs::write(&mine, "precious").unwrap();
        assert!(Log::open(&link).is_err());
        assert_eq!(std::fs::read(&mine).unwrap(), b"precious");
    }

    #[test]
    fn a_pipe_that_nobody_reads_ends_the_log_and_not_the_control() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        make_pipe(&pipe);
        let mut log = Log::open(&pipe).unwrap();
        let mut warnings = (0..10_000).filter_map(|_| log.write(&begin()));
        let warning = warnings.next().unwrap();
        assert!(warning.contains("does not keep up"), "{warning}");
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
