//! Copies of a command, started at once, each on its own CPU.
//!
//! This measures a machine by batch work: a compiler run, a benchmark. Copy `i` is
//! pinned to the `i`-th CPU of a given order and runs in a new working directory,
//! with its number in `PLIMSOLL_COPY` (from 0), with empty standard input, and with
//! its output in `stdout.txt` and `stderr.txt` there.
//!
//! - All copies have a common start: their pinned threads wait and are released
//!   together. A copy's time runs from there, so it includes the start of the
//!   process, to the exit of its first process, as seen by its own thread.
//! - A copy is a process group. When its first process has ended, the rest of the
//!   group is killed, and what has left it, so that nothing runs into the next trial. A
//!   process that has left the group and has cleared its environment is not found here:
//!   the caller adopts it (`plimsoll_control::AdoptedOrphans`).
//! - When one copy fails, the others are ended: the trial is void.
//! - Working directories are removed after a success or an interruption, and kept
//!   after a failure.

mod directories;
mod program;
mod thread;

use crate::LoadError;
use directories::WorkingDirectories;
use plimsoll_control::Scratch;
use plimsoll_model::{Copies, CpuId, CpuSet, human_duration};
use program::Program;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use thread::{Event, Member};

/// Polling interval of the stop flag.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Why a run of copies is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum CopiesError {
    /// The stop flag was set, and all copies were ended.
    #[error("interrupted while the copies ran; they were ended")]
    Interrupted,
    /// The command, a copy or the system failed, and all copies were ended.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Running copies. Dropping it ends them and removes their files.
#[derive(Debug)]
pub struct RunningCopies {
    command: String,
    timeout: Duration,
    began: Instant,
    copies: Vec<RunningCopy>,
    events: Receiver<(usize, Event)>,
    /// Ends of short copies, received before the last copy had started.
    early: Vec<(usize, Event)>,
    directories: WorkingDirectories,
}

#[derive(Debug)]
struct RunningCopy {
    member: Member,
    pid: Option<u32>,
    /// From the common start to its end, once it has succeeded.
    wall: Option<Duration>,
}

/// Checks, without running it, that the command exists and is executable.
///
/// # Errors
/// A [`LoadError::Mistake`] with the reason.
pub fn check(copies: &Copies) -> Result<(), LoadError> {
    Program::find(&copies.command).map(|_| ())
}

/// Starts `n` copies at once on the first `n` of `cpus`, which must be distinct, in
/// their order, with their working directories in `scratch`.
///
/// On an error no copy runs. The error is [`LoadError::Mistake`] if the command is
/// missing or not executable, or if there are more copies than CPUs.
pub fn start(
    copies: &Copies,
    n: u32,
    cpus: &[CpuId],
    scratch: &Scratch,
) -> Result<RunningCopies, LoadError> {
    let program = Program::find(&copies.command)?;
    let wanted = n as usize;
    if wanted == 0 || wanted > cpus.len() {
        return LoadError::mistake(format!(
            "{n} copies were asked for, and each needs one of the CPUs {} for itself; ask for \
             1 to {}",
            cpus.iter().copied().collect::<CpuSet>(),
            cpus.len()
        ));
    }
    let directories = WorkingDirectories::create(scratch, wanted)?;
    let (sender, events) = channel();
    let members = thread::start_threads(
        &program,
        cpus[..wanted].iter().copied(),
        &directories,
        sender,
    )?;
    let began = Instant::now();
    for member in &members {
        member.start();
    }
    let copies_of = members.into_iter().map(|member| RunningCopy {
        member,
        pid: None,
        wall: None,
    });
    let mut running = RunningCopies {
        command: copies.command.join(" "),
        timeout: copies.timeout,
        began,
        copies: copies_of.collect(),
        events,
        early: Vec::new(),
        directories,
    };
    running.await_starts(&program)?;
    Ok(running)
}

impl RunningCopies {
    /// The PIDs of the copies' first processes, which are also their process group IDs,
    /// in the order of the CPUs.
    pub fn pids(&self) -> Vec<u32> {
        self.copies.iter().filter_map(|c| c.pid).collect()
    }

    /// Waits until all copies have succeeded, one has failed, the command's time-out is
    /// over, or `stop` is set (detected within 50 ms). Returns the time from the common
    /// start to the end of each copy, in the order of the CPUs.
    pub fn wait(mut self, stop: &AtomicBool) -> Result<Vec<Duration>, CopiesError> {
        for (i, event) in std::mem::take(&mut self.early) {
            self.note(i, event)?;
        }
        while self.copies.iter().any(|c| c.wall.is_none()) {
            let left = self.timeout.saturating_sub(self.began.elapsed());
            match self.events.recv_timeout(left.min(STOP_POLL)) {
                Ok((i, event)) => self.note(i, event)?,
                Err(RecvTimeoutError::Disconnected) => return Err(lost().into()),
                Err(RecvTimeoutError::Timeout) => {
                    if stop.load(Ordering::Relaxed) {
                        return Err(CopiesError::Interrupted);
                    }
                    if left.is_zero() {
                        return Err(self.timed_out().into());
                    }
                }
            }
        }
        Ok(self.copies.iter().filter_map(|c| c.wall).collect())
    }

    /// Waits until the start of every copy has succeeded or failed, so that all can be
    /// ended after a failure.
    fn await_starts(&mut self, program: &Program) -> Result<(), LoadError> {
        let mut known = 0;
        let mut failed = None;
        while known < self.copies.len() {
            let (i, event) = self.events.recv().map_err(|_| lost())?;
            match event {
                Event::Started(pid) => self.copies[i].pid = Some(pid),
                Event::NotStarted(source) => failed = Some(source),
                Event::Ended { .. } => {
                    self.early.push((i, event));
                    continue;
                }
            }
            known += 1;
        }
        failed.map_or(Ok(()), |source| Err(program.not_started(source)))
    }

    /// Records the end of a copy; an error if it has failed.
    fn note(&mut self, i: usize, event: Event) -> Result<(), LoadError> {
        let Event::Ended { at, status } = event else {
            return Ok(());
        };
        let wall = at.saturating_duration_since(self.began);
        let how = match status {
            Ok(status) if status.success() => {
                self.copies[i].wall = Some(wall);
                return Ok(());
            }
            Ok(status) => status.to_string(),
            Err(error) => format!("an unknown status ({error})"),
        };
        Err(self.failure(
            i,
            &format!(
                "ended with {how} after {}; note that each copy runs in a directory of its own, \
                 so files must be named by absolute paths",
                human_duration(wall)
            ),
        ))
    }

    fn timed_out(&mut self) -> LoadError {
        let still = self.copies.iter().position(|c| c.wall.is_none());
        let timeout = human_duration(self.timeout);
        self.failure(
            still.unwrap_or_default(),
            &format!(
                "ran longer than {timeout} and was ended with all its processes; give it more \
                 time with --timeout, or less to do"
            ),
        )
    }

    fn failure(&mut self, i: usize, what: &str) -> LoadError {
        self.directories.keep();
        LoadError::Service(format!(
            "copy {i} of `{}` on CPU {} {what}. {}",
            self.command,
            self.copies[i].member.cpu,
            self.directories.last_words(i),
        ))
    }

    fn end(&mut self) {
        for copy in &self.copies {
            copy.member.kill();
        }
        for copy in &mut self.copies {
            copy.member.join();
        }
    }
}

impl Drop for RunningCopies {
    fn drop(&mut self) {
        self.end();
    }
}

/// A thread that ends without an event is a bug.
fn lost() -> LoadError {
    LoadError::Service("a copy was lost: nothing waits for it any more; run it again".to_owned())
}
