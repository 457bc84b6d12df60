//! Why a sideload could not be run.

use plimsoll_control::ControlError;
use plimsoll_host::HostError;
use plimsoll_law::ParameterError;
use plimsoll_load::LoadError;
use std::io;
use std::path::PathBuf;

/// Why a command could not be run as a sideload, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SideError {
    /// What was asked for cannot be had on this machine.
    #[error("{what} cannot be had here: {reason}; {way_out}")]
    NotHere {
        /// What.
        what: String,
        /// Why, a sentence without its end.
        reason: String,
        /// What can be done, a sentence without its end.
        way_out: &'static str,
    },
    /// A headroom that leaves no room for what a mechanism gives at least.
    #[error(
        "with this headroom the law cannot run: {0}; choose a smaller headroom, or another --mechanism"
    )]
    Law(#[from] ParameterError),
    /// The log could not be opened.
    #[error("the log {} cannot be written: {source}; choose another file", .path.display())]
    Log {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two runs in one log could not be replayed.
    #[error(
        "another run writes to the log {}; choose another file, or wait for its end", .path.display()
    )]
    LogInUse {
        /// Which file.
        path: PathBuf,
    },
    /// A guard that can never be read.
    #[error("a guard cannot be asked: {0}")]
    Guard(LoadError),
    /// What a guard is to watch is not there.
    #[error("a guard cannot be asked: {0}")]
    Target(HostError),
    /// The command could not be waited for.
    #[error("the command cannot be waited for: {0}; it was ended")]
    Wait(io::Error),
    /// The machine could not be changed as is needed.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The machine could not be read.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl SideError {
    /// Whether asking differently is the way out.
    pub fn is_mistake(&self) -> bool {
        matches!(
            self,
            SideError::NotHere { .. }
                | SideError::Law(_)
                | SideError::Log { .. }
                | SideError::LogInUse { .. }
                | SideError::Guard(LoadError::Mistake(_))
                | SideError::Target(_)
        )
    }
}
