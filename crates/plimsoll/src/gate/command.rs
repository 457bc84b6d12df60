//! The command of `plimsoll gate -- CMD`.

use super::args::GateArgs;
use crate::failure::Failure;
use crate::note::note;
use crate::side::exit_code;
use plimsoll_control::PlacedTasks;
use plimsoll_host::{Pid, Root, own_foreground_group};
use plimsoll_model::CpuSet;
use plimsoll_side::Signal;
use rustix::io::Errno;
use rustix::process::{Pid as RawPid, Signal as UnixSignal, getpgid, getpgrp, kill_process};
use rustix::process::{WaitOptions, wait};
use rustix::thread::{CpuSet as Mask, sched_setaffinity};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A command that was started for a gate, in the foreground as by `nice`.
#[derive(Debug)]
pub(super) struct Job {
    child: Child,
    ended: Option<u8>,
    /// When a signal was passed on that ends it.
    ending: Option<Instant>,
}

/// Signals that come together are one.
const TOGETHER: Duration = Duration::from_secs(1);

impl Job {
    /// `None` if no command was named.
    pub(super) fn start(
        args: &GateArgs,
        placed: Option<&mut PlacedTasks>,
    ) -> Result<Option<Job>, Failure> {
        let Some((program, rest)) = args.command.split_first() else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command.args(rest);
        let pool = placed.as_ref().map(|placed| placed.pool());
        let child = spawn(command, pool).map_err(|error| {
            note(&format!(
                "plimsoll: '{}' cannot be run: {error}",
                program.to_string_lossy()
            ));
            Failure::Command(match error.kind() {
                io::ErrorKind::NotFound => 127,
                _ => 126,
            })
        })?;
        let mut job = Job {
            child,
            ended: None,
            ending: None,
        };
        match placed.map(|placed| placed.started(job.pid())).transpose() {
            Ok(_) => Ok(Some(job)),
            Err(error) => Err(job.end(Failure::Run(error.to_string()))),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.child.id()
    }

    /// A command that was started for a gate does not run without it after an error.
    pub(super) fn end(&mut self, failure: Failure) -> Failure {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        failure
    }

    /// The exit code, if it has ended. Also takes note of the ends of adopted orphans
    /// ([`PlacedTasks::for_command`]), which stay as zombies otherwise.
    pub(super) fn exit_code(&mut self) -> Result<Option<u8>, Failure> {
        let own = RawPid::from_child(&self.child);
        while self.ended.is_none() {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == own => {
                    self.ended = Some(exit_code(ExitStatus::from_raw(status.as_raw())));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(error) => {
                    let why = format!("the command cannot be waited for: {error}");
                    return Err(Failure::Run(why));
                }
            }
        }
        Ok(self.ended)
    }

    /// Passes a signal on, unless the command has it already. At a second one the command is
    /// killed.
    pub(super) fn pass_on(&mut self, signal: Signal, root: &Root) {
        let number = match signal {
            Signal::Pause => return,
            Signal::Terminate => UnixSignal::TERM,
            Signal::HangUp => UnixSignal::HUP,
            Signal::Interrupt => UnixSignal::INT,
            Signal::Quit => UnixSignal::QUIT,
        };
        let is_key = matches!(signal, Signal::Interrupt | Signal::Quit);
        if is_key && self.has_terminal(root) {
            return;
        }
        let number = match self.ending {
            Some(since) if since.elapsed() < TOGETHER => return,
            Some(_) => {
                note("plimsoll: a second signal to end the command, so it is killed");
                UnixSignal::KILL
            }
            None => number,
        };
        if signal != Signal::HangUp {
            self.ending = Some(Instant::now());
        }
        // One that has just ended needs none.
        let _ = kill_process(RawPid::from_child(&self.child), number);
    }

    fn has_terminal(&self, root: &Root) -> bool {
        let child = getpgid(Some(RawPid::from_child(&self.child))).ok();
        let number = |group: RawPid| group.as_raw_nonzero().get().unsigned_abs();
        share_terminal(
            own_foreground_group(root),
            number(getpgrp()),
            child.map(number),
        )
    }
}

/// Whether the keys of the terminal reach this process and the command: those of process
/// groups, with that in the terminal's foreground first.
fn share_terminal(foreground: Option<Pid>, own: Pid, child: Option<Pid>) -> bool {
    foreground == Some(own) && child == Some(own)
}

/// On a thread of its own, from which the command inherits its CPUs.
fn spawn(mut command: Command, pool: Option<&CpuSet>) -> io::Result<Child> {
    let spawn = move || {
        if let Some(pool) = pool {
            let mut mask = Mask::new();
            pool.iter().for_each(|cpu| mask.set(cpu as usize));
            sched_setaffinity(None, &mask)?;
        }
        command.spawn()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, spawn)?;
        let gone = |_| io::Error::other("the thread that starts it panicked");
        thread.join().map_err(gone)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_reach_both_only_in_the_same_group_in_the_foreground() {
        for (foreground, child, both) in [
            (Some(7), Some(7), true),
            (Some(8), Some(7), false),
            (Some(7), Some(8), false),
            (None, Some(7), false),
            (Some(7), None, false),
        ] {
            assert_eq!(share_terminal(foreground, 7, child), both);
        }
    }
}
