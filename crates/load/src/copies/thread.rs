//! One thread per copy: it pins itself, starts the process, and waits for it.
//!
//! A process inherits the CPU affinity of the thread that starts it, so the copy is
//! pinned from its first instruction on. The thread stays on the same CPU: it
//! sleeps while the copy runs, and the end of the copy frees the CPU for it.

use super::directories::WorkingDirectories;
use super::program::Program;
use crate::LoadError;
use plimsoll_control::Scratch;
use plimsoll_model::CpuId;
use plimsoll_pool::{PoolError, pin_this_thread};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Events of a copy's thread: `Started` and later `Ended`, or `NotStarted`.
#[derive(Debug)]
pub(super) enum Event {
    /// The copy runs as this PID.
    Started(u32),
    /// The process could not be started.
    NotStarted(std::io::Error),
    /// Its first process has ended, and its others were killed.
    Ended {
        at: Instant,
        status: std::io::Result<ExitStatus>,
    },
}

/// A copy's thread.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) cpu: CpuId,
    group: Arc<Group>,
    start: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Lets the copy start.
    pub(super) fn start(&self) {
        // The thread waits for this, or for the sender to be dropped.
        let _ = self.start.send(());
    }

    /// Kills the processes of the copy, if it runs.
    pub(super) fn kill(&self) {
        self.group.kill();
    }

    /// Waits for the thread, and thus for the copy.
    pub(super) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic.
            let _ = thread.join();
        }
    }
}

/// Starts a thread for each CPU and returns when all are pinned and ready. If one
/// cannot start, all end. The threads send the state of their copies to `events`.
pub(super) fn start_threads(
    program: &Program,
    cpus: impl Iterator<Item = CpuId>,
    directories: &WorkingDirectories,
    events: Sender<(usize, Event)>,
) -> Result<Vec<Member>, LoadError> {
    let (ready, reports) = channel();
    let mut members = Vec::new();
    for (i, cpu) in cpus.enumerate() {
        let command = program.command(i, directories)?;
        let scratch = directories.scratch().clone();
        let (start, wait_for_start) = channel();
        let group = Arc::new(Group::default());
        let (own_group, ready, events) = (Arc::clone(&group), ready.clone(), events.clone());
        let body = move || {
            let pinned = pin_this_thread(cpu);
            let is_pinned = pinned.is_ok();
            // If another thread could not start, nobody receives this, and no start
            // signal follows.
            let _ = ready.send(pinned);
            if is_pinned && wait_for_start.recv().is_ok() {
                run_copy(command, &scratch, &own_group, |event| {
                    let _ = events.send((i, event));
                });
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("copy-{i}"))
            .spawn(body)
            .map_err(|source| PoolError::Spawn { cpu, source })?;
        members.push(Member {
            cpu,
            group,
            start,
            thread: Some(thread),
        });
    }
    reports
        .iter()
        .take(members.len())
        .collect::<Result<(), PoolError>>()?;
    Ok(members)
}

/// Runs a copy to its end.
fn run_copy(mut command: Command, scratch: &Scratch, group: &Group, report: impl Fn(Event)) {
    let (child, working) = match scratch.start(&mut command) {
        Ok(started) => started,
        Err(error) => return report(Event::NotStarted(error)),
    };
    let pid = Pid::from_child(&child);
    group.set(pid);
    report(Event::Started(child.id()));
    let at = wait_for_exit(pid);
    let status = group.end(child);
    let status = match working.end_rest() {
        Ok(()) => status,
        Err(error) => Err(std::io::Error::other(error)),
    };
    drop(working);
    report(Event::Ended { at, status });
}

/// Waits until the process has ended, without reaping it.
fn wait_for_exit(pid: Pid) -> Instant {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(pid), ended).err() == Some(Errno::INTR) {}
    // The reaping reports any other error.
    Instant::now()
}

/// A copy's process group while its first process is not reaped: its ID cannot be
/// reused until then.
#[derive(Debug, Default)]
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn lock(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, pid: Pid) {
        *self.lock() = Some(pid);
    }

    fn kill(&self) {
        if let Some(pid) = *self.lock() {
            kill(pid);
        }
    }

    /// Kills the rest of the group, then reaps its first process, which has ended.
    fn end(&self, mut child: Child) -> std::io::Result<ExitStatus> {
        let mut pid = self.lock();
        if let Some(pid) = pid.take() {
            kill(pid);
        }
        child.wait()
    }
}

fn kill(pid: Pid) {
    // Fails if the group is empty, which is the goal.
    let _ = kill_process_group(pid, Signal::KILL);
}
