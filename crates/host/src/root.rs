//! Reading files of /proc and /sys below a root directory.

use crate::error::{HostError, Malformed};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory that holds `/proc` and `/sys`: `/`, or a fake tree for a test.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
    tick: Tick,
}

impl Root {
    pub fn machine() -> Root {
        Root::at("/")
    }

    /// A tree with `proc`, `sys` and `run` below `dir`.
    pub fn at(dir: impl Into<PathBuf>) -> Root {
        Root {
            dir: dir.into(),
            tick: Tick {
                per_second: rustix::param::clock_ticks_per_second().max(1),
            },
        }
    }

    pub(crate) fn is_machine(&self) -> bool {
        self.dir == Path::new("/")
    }

    /// Maps an absolute path of the machine into the tree.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.dir
            .join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The clock tick of the kernel's tables.
    pub(crate) fn tick(&self) -> Tick {
        self.tick
    }

    /// The content of a file that must exist. Invalid UTF-8 is replaced,
    /// because a process name may contain any bytes.
    pub(crate) fn text(&self, absolute: impl AsRef<Path>) -> Result<String, HostError> {
        let path = self.path(absolute);
        match fs::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(HostError::Unreadable { path, source }),
        }
    }

    /// The content of a file; `None` if this kernel does not have it.
    pub(crate) fn optional(&self, absolute: impl AsRef<Path>) -> Result<Option<String>, HostError> {
        self.parse_optional(absolute, |text| Ok(text.to_owned()))
    }

    /// Parses a file that must exist.
    pub(crate) fn parse<T>(
        &self,
        absolute: impl AsRef<Path>,
        parse: impl FnOnce(&str) -> Result<T, Malformed>,
    ) -> Result<T, HostError> {
        let text = self.text(&absolute)?;
        parse(&text).map_err(|malformed| malformed.at(&self.path(absolute)))
    }

    /// Parses a file; `None` if this kernel does not have it.
    pub(crate) fn parse_optional<T>(
        &self,
        absolute: impl AsRef<Path>,
        parse: impl FnOnce(&str) -> Result<T, Malformed>,
    ) -> Result<Option<T>, HostError> {
        match self.parse(absolute, parse) {
            Ok(parsed) => Ok(Some(parsed)),
            Err(HostError::Unreadable { source, .. }) if means_absent(&source) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The first line of a file, trimmed; `None` if the file is missing, empty
    /// or not readable.
    pub(crate) fn line(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let text = self.text(absolute).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The names in a directory, unordered; empty if there is no such
    /// directory.
    pub(crate) fn names(&self, absolute: impl AsRef<Path>) -> Result<Vec<String>, HostError> {
        let path = self.path(absolute);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(source) if means_absent(&source) => return Ok(Vec::new()),
            Err(source) => return Err(HostError::Unreadable { path, source }),
        };
        Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect())
    }

    /// The numeric names in a directory, such as process and thread IDs.
    pub(crate) fn numbers(&self, absolute: impl AsRef<Path>) -> Result<Vec<u32>, HostError> {
        let names = self.names(absolute)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    pub(crate) fn has(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }
}

/// The unit of /proc/stat and /proc/PID/stat: USER_HZ, 100 per second on all
/// common architectures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    per_second: u64,
}

impl Tick {
    pub(crate) fn times(self, n: u64) -> Duration {
        let nanos = (n % self.per_second) * 1_000_000_000 / self.per_second;
        // Less than a second, so it fits.
        Duration::new(n / self.per_second, u32::try_from(nanos).unwrap_or(0))
    }

    #[cfg(test)]
    pub(crate) fn hundredth() -> Tick {
        Tick { per_second: 100 }
    }
}

/// Whether the error means that the kernel does not provide the file: it does
/// not exist, its driver is off, or the task has ended.
pub(crate) fn means_absent(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NOENT
                | Errno::NOTDIR
                | Errno::OPNOTSUPP
                | Errno::NODEV
                | Errno::NXIO
                | Errno::SRCH
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn ticks_become_time_without_overflow() {
        let tick = Tick::hundredth();
        assert_eq!(tick.times(1), Duration::from_millis(10));
        assert_eq!(tick.times(250), Duration::from_millis(2500));
        assert_eq!(tick.times(u64::MAX).as_secs(), u64::MAX / 100);
    }

    #[test]
    fn absolute_paths_stay_below_the_root() {
        let root = Root::at("/somewhere");
        assert_eq!(root.path("/proc/stat"), Path::new("/somewhere/proc/stat"));
        assert_eq!(root.path("proc/stat"), Path::new("/somewhere/proc/stat"));
    }

    #[test]
    fn missing_file_is_none_and_directory_is_an_error() {
        let tree = FakeTree::new().file("proc/odd/inside", "");
        assert_eq!(tree.root().optional("/proc/none").unwrap(), None);
        assert_eq!(tree.root().optional("/proc/odd/inside/x").unwrap(), None);
        let error = tree.root().optional("/proc/odd").unwrap_err();
        assert!(error.to_string().contains("proc/odd"), "{error}");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let tree = FakeTree::new();
        std::fs::create_dir_all(tree.root().path("/proc")).unwrap();
        std::fs::write(tree.root().path("/proc/x"), b"a\xffb").unwrap();
        assert_eq!(tree.root().text("/proc/x").unwrap(), "a\u{fffd}b");
    }
}
