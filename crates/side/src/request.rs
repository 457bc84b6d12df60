//! What is asked for, and what is told back. Plain data.

use crate::advice::Advice;
use crate::guard::GuardSpec;
use crate::hold::Hold;
use plimsoll_control::{Gate, MemoryLimits};
use plimsoll_law::Headroom;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// A command and the care with which it is to be run.
#[derive(Debug)]
pub struct Request<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// What becomes the command once it is held.
    pub gate: &'a Gate,
    /// How it is held.
    pub care: Care,
    /// Limits on its memory.
    pub memory: MemoryLimits,
    /// Whether it is to have the lowest weight at the disks.
    pub least_io: bool,
    /// Where to log the decisions.
    pub log: Option<&'a Path>,
    /// Whether its standard input is empty: a process group of its own cannot
    /// read from a terminal.
    pub no_input: bool,
    /// Whether this process starts nothing else, so that it can keep what of the
    /// command forks away where there is no cgroup.
    pub alone: bool,
}

impl<'a> Request<'a> {
    /// A command without any limits but those of its care.
    pub fn new(command: &'a [OsString], gate: &'a Gate, care: Care) -> Request<'a> {
        Request {
            command,
            gate,
            care,
            memory: MemoryLimits::default(),
            least_io: false,
            log: None,
            no_input: false,
            alone: false,
        }
    }
}

/// With which care a command is run.
#[derive(Debug)]
pub enum Care {
    /// As a sideload, within the headroom.
    Sideload(Held),
    /// As a sysload: with none. Its tree is ended with it all the same.
    Sysload,
}

/// How a sideload is held.
#[derive(Debug, Default)]
pub struct Held {
    /// By what; `None` for what is advised, or else the best guess.
    pub hold: Option<Hold>,
    /// What a measurement on this machine says.
    pub advice: Advice,
    /// What is to stay free.
    pub headroom: Headroom,
    /// How often to decide; `None` for [`Hold::period`].
    pub period: Option<Duration>,
    /// What else is asked; if nothing, [`GuardSpec::default`] where it can be.
    pub guards: Vec<GuardSpec>,
}

/// Something for a person to know, one sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// How it is run.
    Note(String),
    /// Something that is not as was asked for.
    Warning(String),
    /// What was decided could not be set, or does not hold.
    NotHeld(String),
}
