//! What can go wrong in reading the machine.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why something about the machine could not be told. A counter that this
/// kernel simply does not have is no error: it is `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The kernel refused to let a file be read.
    #[error("{} cannot be read: {source}{}", .path.display(), way_out(.source))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file holds something else than is documented.
    #[error("{} holds {garbled}; this kernel writes it in a way that is not known here", .path.display())]
    Garbled {
        /// Which file.
        path: PathBuf,
        /// What was expected and what was found.
        garbled: Garbled,
    },
    /// A process that should be watched is not there.
    #[error("there is no process {pid}; name one that runs on this machine")]
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// A process that the service was watched by has ended: what it used to its
    /// end is not known, nor is who serves now.
    #[error("a process of the service has ended, or all of them; start it again and name it anew")]
    ServiceEnded,
    /// A thread that should be watched is not there.
    #[error("this process has no thread {tid}; read its threads' ids once they have started")]
    NoThread {
        /// Its number.
        tid: u32,
    },
    /// A cgroup that should be watched is not there, or does not count.
    #[error(
        "there is no cgroup '{name}' that counts CPU time; name it as it is below the cgroup \
         mount, such as system.slice/nginx.service"
    )]
    NoCgroup {
        /// As it was named.
        name: String,
    },
}

fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or go without it",
        _ => "",
    }
}

/// Text that is not what its documentation says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Garbled {
    expected: &'static str,
    found: String,
}

impl Garbled {
    /// Long enough to recognise the line, short enough for one message.
    const SHOWN: usize = 80;

    pub(crate) fn new(expected: &'static str, found: &str) -> Garbled {
        Garbled {
            expected,
            found: found.trim().chars().take(Self::SHOWN).collect(),
        }
    }

    pub(crate) fn at(self, path: &Path) -> HostError {
        HostError::Garbled {
            path: path.to_owned(),
            garbled: self,
        }
    }
}

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' where {} should be", self.found, self.expected)
    }
}

/// The number that `text` is.
pub(crate) fn number(text: &str, expected: &'static str) -> Result<u64, Garbled> {
    text.trim()
        .parse()
        .map_err(|_| Garbled::new(expected, text))
}
