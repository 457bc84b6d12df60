//! The request for a run and its messages. Plain data.

use crate::advice::Advice;
use crate::cpu_mechanism::CpuMechanism;
use crate::guard::GuardSpec;
use plimsoll_control::{Gate, MemoryLimits};
use plimsoll_law::Headroom;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub struct Request<'a> {
    pub command: &'a [OsString],
    pub gate: &'a Gate,
    pub restriction: Restriction,
    pub memory: MemoryLimits,
    pub least_io: bool,
    pub log: Option<&'a Path>,
    /// Whether its standard input is empty: a background process group cannot read from
    /// a terminal.
    pub no_input: bool,
    /// Whether this process starts nothing else, so that without a cgroup it can adopt
    /// orphans of the command.
    pub alone: bool,
}

impl<'a> Request<'a> {
    /// A command with no limits except those of `restriction`.
    pub fn new(command: &'a [OsString], gate: &'a Gate, restriction: Restriction) -> Request<'a> {
        Request {
            command,
            gate,
            restriction,
            memory: MemoryLimits::default(),
            least_io: false,
            log: None,
            no_input: false,
            alone: false,
        }
    }
}

#[derive(Debug)]
pub enum Restriction {
    /// As a sideload, within the headroom.
    Sideload(SideloadOptions),
    /// As a sysload: unrestricted. Its process tree still ends with it.
    Sysload,
}

#[derive(Debug, Default)]
pub struct SideloadOptions {
    /// The mechanism; `None` for the advised one or the default.
    pub mechanism: Option<CpuMechanism>,
    /// The result of a measurement on this machine.
    pub advice: Advice,
    /// The share of the machine that stays free.
    pub headroom: Headroom,
    /// The interval between decisions; `None` for [`CpuMechanism::period`].
    pub period: Option<Duration>,
    /// The guards; if empty, [`GuardSpec::default`] if it is readable.
    pub guards: Vec<GuardSpec>,
}

pub(crate) type Notify<'a> = &'a mut dyn FnMut(Notice);

/// A message for the user: one sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// How the command is run.
    Note(String),
    /// A deviation from the request.
    Warning(String),
    /// A decision could not be set, or has no effect.
    NotHeld(String),
}
