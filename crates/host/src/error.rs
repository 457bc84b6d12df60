use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why something about the machine could not be read. A counter that the kernel
/// does not provide is no error: it is `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("{} cannot be read: {source}{}", .path.display(), way_out(.source))]
    Unreadable { path: PathBuf, source: io::Error },
    /// The content of a file does not match its documentation.
    #[error("{} holds {garbled}; this kernel uses a format that this version does not support", .path.display())]
    Malformed { path: PathBuf, garbled: Malformed },
    #[error("there is no process {pid}; name one that runs on this machine")]
    NoProcess { pid: u32 },
    /// A root process of the service has ended: its last CPU time, and the
    /// processes that replace it, are unknown.
    #[error("a process of the service has ended; restart the service and name its processes again")]
    ServiceEnded,
    #[error("this process has no thread {tid}; read thread IDs after the threads have started")]
    NoThread { tid: u32 },
    /// The cgroup does not exist or does not count CPU time.
    #[error(
        "there is no cgroup '{name}' that counts CPU time; use its path below the cgroup \
         mount, such as system.slice/nginx.service"
    )]
    NoCgroup { name: String },
}

fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or do without it",
        _ => "",
    }
}

/// Text that does not match its documented format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Malformed {
    expected: &'static str,
    found: String,
}

impl Malformed {
    /// Maximum length of the quoted text, in characters.
    const SHOWN: usize = 80;

    pub(crate) fn new(expected: &'static str, found: &str) -> Malformed {
        Malformed {
            expected,
            found: found.trim().chars().take(Self::SHOWN).collect(),
        }
    }

    pub(crate) fn at(self, path: &Path) -> HostError {
        HostError::Malformed {
            path: path.to_owned(),
            garbled: self,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' instead of {}", self.found, self.expected)
    }
}

pub(crate) fn number(text: &str, expected: &'static str) -> Result<u64, Malformed> {
    text.trim()
        .parse()
        .map_err(|_| Malformed::new(expected, text))
}
