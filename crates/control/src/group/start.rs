//! Starts a command so that no part of it runs outside its limits.
//!
//! A process at the [`Gate`] joins the groups that it can join by itself
//! ([`Joins`]), stops itself, is moved into the other groups, and becomes the
//! command when it is continued. It has its own process group: if this process is
//! killed meanwhile, the kernel ends the stopped process (SIGHUP to a stopped
//! orphaned process group, setpgid(2)). In a container whose init is in the same
//! session the kernel does not; there the journal has it.

use super::{Group, Made};
use crate::error::ControlError;
use crate::folder;
use crate::gate::Gate;
use crate::journal::Change;
use crate::layout::Version;
use crate::mechanism::Mechanism;
use crate::schedule::{self, Class};
use crate::tasks::{self, Mark, ProcessKey};
use plimsoll_model::CpuSet;
use rustix::process::{Pid as RawPid, Signal, WaitId, WaitIdOptions, getpriority_process, waitid};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

/// How a command enters one of the folders of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joins {
    /// It joins by itself: version 1.
    Itself,
    /// It is moved there. The kernel waits until no process forks or exits: an RCU
    /// grace period, measured at 12 to 32 ms.
    Moved,
    /// It is moved there when it is first frozen. Only freezing needs this folder;
    /// other folders hold the command meanwhile.
    ToFreeze,
}

/// Attributes that a command inherits from the thread that starts it.
#[derive(Debug, Clone, Default)]
struct Inherited {
    class: Class,
    nice: Option<i32>,
    cpus: Option<CpuSet>,
}

impl Inherited {
    fn apply(&self) -> Result<(), ControlError> {
        schedule::take_class(self.class);
        if let Some(nice) = self.nice {
            schedule::set_nice(0, nice)?;
        }
        match &self.cpus {
            Some(cpus) => schedule::set_affinity(0, cpus),
            None => Ok(()),
        }
    }
}

impl Group {
    /// Starts a command in the group, through `gate`. `prepare` may set its working
    /// directory, environment and standard streams, but not its program. The command
    /// has its own process group: Ctrl-C at the terminal does not reach it, and it
    /// cannot read from the terminal, so redirect its standard input.
    ///
    /// A missing program shows as exit code 127, as in a shell.
    ///
    /// # Errors
    /// If the command cannot be started or moved; it does not run then.
    pub fn start(
        &mut self,
        gate: &Gate,
        program: &OsStr,
        args: &[impl AsRef<OsStr>],
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Child, ControlError> {
        let name = program.to_string_lossy().into_owned();
        let entered: Vec<&Path> = self.joined(Joins::Itself).collect();
        let mut command = gate.command(&entered);
        command.arg(program);
        command.args(args.iter().map(AsRef::as_ref));
        prepare(&mut command);
        command.process_group(0);
        // A cgroup tells its processes from others; a process group does not.
        let mark = self.made.is_empty().then_some(self.mark);
        if let Some(mark) = mark {
            command.env(Mark::VARIABLE, mark.to_string());
        }
        let journal = self.journal.clone();
        let _starting = journal.starting();
        let mut child = spawn(command, &self.inherited()?, &name)?;
        match self.admit(&child, mark, &name) {
            Ok(()) => Ok(child),
            Err(error) => {
                // It has not become the command yet, so killing it loses nothing.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn inherited(&self) -> Result<Inherited, ControlError> {
        let instead = |m| self.capabilities.can(m) && !self.capabilities.by_group(m);
        let mut inherited = Inherited::default();
        if instead(Mechanism::Weight) {
            let nice = self.nice();
            inherited.nice = (nice != own_nice()).then_some(nice);
        }
        if instead(Mechanism::Idle) && self.current.idle {
            inherited.class = schedule::lowest_class();
            inherited.nice = Some(19);
        }
        if instead(Mechanism::CpuSet) {
            inherited.cpus.clone_from(&self.current.cpus);
        }
        Ok(inherited)
    }

    /// The nice value for the current weight, never below that of this process.
    pub(super) fn nice(&self) -> i32 {
        schedule::nice_for(self.current.weight).max(own_nice())
    }

    fn admit(&mut self, child: &Child, mark: Option<Mark>, name: &str) -> Result<(), ControlError> {
        let early = || ControlError::EndedEarly {
            command: name.to_owned(),
        };
        let process = ProcessKey::now(&self.root, child.id())?.ok_or_else(early)?;
        let leader = Change::TreeStarted {
            leader: process,
            at_end: self.at_end,
            mark,
            unmarked: Vec::new(),
        };
        let entry = self.journal.enter(&leader)?;
        let joined = match wait_until_stopped(child, name) {
            Ok(true) => self.attach(process),
            Ok(false) => self.all_there().and(Err(early())),
            Err(error) => Err(error),
        };
        // From here on the group holds the process, or it is killed below.
        if joined.is_err() || !self.made.is_empty() {
            self.journal.mark_undone(entry)?;
        } else {
            self.changes.push((entry, leader));
        }
        joined?;
        self.leaders.push(process);
        let by_signals = !self.capabilities.by_group(Mechanism::Freeze);
        if self.current.frozen && by_signals {
            return Ok(());
        }
        tasks::signal_process(&self.root, process, Signal::CONT)
    }

    fn attach(&self, process: ProcessKey) -> Result<(), ControlError> {
        let mut folders = self.joined(Joins::Moved);
        folders.try_for_each(|folder| folder::attach(folder, process.pid))
    }

    fn joined(&self, by: Joins) -> impl Iterator<Item = &Path> {
        let joined = self.made.iter().filter(move |made| self.joins(made) == by);
        joined.map(|made| made.folder.as_path())
    }

    /// Whether commands are in it as soon as they run.
    pub(super) fn is_joined_at_start(&self, made: &Made) -> bool {
        self.joins(made) != Joins::ToFreeze
    }

    fn joins(&self, made: &Made) -> Joins {
        // A process that enters a frozen group is stopped at once.
        let frozen = self.current.frozen && made.place.serves.contains(&Mechanism::Freeze);
        let controls = !made.place.controllers.is_empty();
        match made.place.version {
            Version::V1 if !frozen => Joins::Itself,
            Version::V2 if !frozen && !controls && self.holder().is_some() => Joins::ToFreeze,
            Version::V1 | Version::V2 => Joins::Moved,
        }
    }
}

/// Waits until the process stops at the gate; `false` if it has ended instead.
fn wait_until_stopped(child: &Child, name: &str) -> Result<bool, ControlError> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(RawPid::from_child(child)), options) {
        Ok(status) => Ok(status.is_some_and(|s| s.stopped())),
        Err(errno) => Err(ControlError::Start {
            command: name.to_owned(),
            source: errno.into(),
        }),
    }
}

fn own_nice() -> i32 {
    getpriority_process(None).unwrap_or(0)
}

/// Runs on a short-lived thread: the command inherits the thread's attributes.
fn spawn(mut command: Command, inherited: &Inherited, name: &str) -> Result<Child, ControlError> {
    let fail = |source| ControlError::Start {
        command: name.to_owned(),
        source,
    };
    std::thread::scope(|scope| {
        let start = move || {
            inherited.apply()?;
            command.spawn().map_err(fail)
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, start);
        let thread = thread.map_err(fail)?;
        let gone = || fail(io::Error::other("the thread that was to start it is gone"));
        thread.join().unwrap_or_else(|_| Err(gone()))
    })
}
