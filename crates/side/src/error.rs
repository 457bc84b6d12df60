//! Errors of a sideload.

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
    #[error("{what} is unavailable here: {reason}; {way_out}")]
    NotHere {
        what: String,
        /// A sentence without its full stop.
        reason: String,
        /// The way out; a sentence without its full stop.
        way_out: &'static str,
    },
    /// The headroom leaves less than the minimum of the mechanism.
    #[error(
        "with this headroom the law cannot run: {0}; choose a smaller headroom, or another --mechanism"
    )]
    Law(#[from] ParameterError),
    #[error("the log {} cannot be written: {source}; choose another file", .path.display())]
    Log { path: PathBuf, source: io::Error },
    /// Two runs in one log could not be replayed.
    #[error(
        "another run writes to the log {}; choose another file, or wait for its end", .path.display()
    )]
    LogInUse { path: PathBuf },
    /// Two gates would release what the other one holds.
    #[error("{}", other_gate(*.owner))]
    OtherGate { owner: Option<u32> },
    #[error("the tasks to keep CPUs awake for cannot be followed: {0}")]
    Follow(HostError),
    #[error("wake-ups cannot be measured: {0}")]
    Wakeups(LoadError),
    #[error("a guard cannot be asked: {0}")]
    Guard(LoadError),
    #[error("the guard {name} cannot be read: {why}; start its server, or correct the guard")]
    Unread {
        name: String,
        /// As a clause.
        why: String,
    },
    #[error("a guard cannot be asked: {0}")]
    Target(HostError),
    #[error("the command cannot be waited for: {0}; it was ended")]
    Wait(io::Error),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Host(#[from] HostError),
}

fn other_gate(owner: Option<u32>) -> String {
    match owner {
        Some(pid) => format!(
            "process {pid} runs plimsoll gate already; wait for its end, or end it (kill {pid})"
        ),
        None => "another plimsoll gate has just begun; wait for its end, or end it".to_owned(),
    }
}

impl SideError {
    pub fn is_mistake(&self) -> bool {
        matches!(
            self,
            SideError::NotHere { .. }
                | SideError::Law(_)
                | SideError::Log { .. }
                | SideError::LogInUse { .. }
                | SideError::OtherGate { .. }
                | SideError::Follow(_)
                | SideError::Guard(LoadError::Mistake(_))
                | SideError::Target(_)
        )
    }
}
