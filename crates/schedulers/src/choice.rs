//! The schedulers by name.

use crate::Scheduler;
use crate::central_queue::CentralQueue;
use crate::error::{SchedulerError, alternatives};
use crate::job_threads::JobThreads;
use crate::own_scheduler::OwnScheduler;
use crate::rayon_pool::Rayon;
use crate::threads_of_cpus::check;
use crate::tokio_runtime::Tokio;
use plimsoll_model::{CpuId, CpuSet};
use plimsoll_plugin::Plugin;
use plimsoll_pool::Accounting;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A scheduler to test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Plimsoll's own: work stealing, with timers.
    Plimsoll,
    /// rayon's thread pool, a spawn per job.
    Rayon,
    /// tokio's multi-thread runtime, a task per job.
    Tokio,
    /// A thread per job: a control.
    Threads,
    /// One queue behind a mutex and a condition variable: a control.
    CentralQueue,
    /// One of the user's own, in a shared library.
    Library(PathBuf),
}

impl Choice {
    /// Those that have a name, which are in the program.
    pub const ALL: [Choice; 5] = [
        Choice::Plimsoll,
        Choice::Rayon,
        Choice::Tokio,
        Choice::Threads,
        Choice::CentralQueue,
    ];
}

impl FromStr for Choice {
    type Err = SchedulerError;

    fn from_str(name: &str) -> Result<Choice, SchedulerError> {
        // As for a shell: with a `/` it is a path.
        if name.contains('/') {
            return Ok(Choice::Library(name.into()));
        }
        let named = Choice::ALL
            .into_iter()
            .find(|choice| choice.to_string() == name);
        named.ok_or_else(|| SchedulerError::Unknown {
            name: name.to_owned(),
            known: alternatives(&Choice::ALL),
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Choice::Plimsoll => "plimsoll",
            Choice::Rayon => "rayon",
            Choice::Tokio => "tokio",
            Choice::Threads => "threads",
            Choice::CentralQueue => "central-queue",
            Choice::Library(path) => return path.display().fmt(f),
        })
    }
}

/// Starts a scheduler with one worker per CPU, pinned to it where the scheduler
/// allows that.
///
/// # Errors
/// No CPU, one that this process may not use, a worker cannot be started, or a library
/// holds no scheduler.
pub fn start(choice: &Choice, cpus: &CpuSet) -> Result<Box<dyn Scheduler>, SchedulerError> {
    start_any(choice, cpus, Accounting::Off)
}

/// [`start`], with an account of the workers' time where the scheduler can keep one.
/// That reads the clock twice a job.
///
/// # Errors
/// As [`start`].
pub fn start_accounted(
    choice: &Choice,
    cpus: &CpuSet,
) -> Result<Box<dyn Scheduler>, SchedulerError> {
    start_any(choice, cpus, Accounting::Totals)
}

/// [`start_accounted`], with what the workers did between jobs where the scheduler can
/// keep that.
///
/// # Errors
/// As [`start`].
pub fn start_traced(choice: &Choice, cpus: &CpuSet) -> Result<Box<dyn Scheduler>, SchedulerError> {
    start_any(choice, cpus, Accounting::Stretches)
}

fn start_any(
    choice: &Choice,
    cpus: &CpuSet,
    accounting: Accounting,
) -> Result<Box<dyn Scheduler>, SchedulerError> {
    check(cpus)?;
    Ok(match choice {
        Choice::Plimsoll => Box::new(OwnScheduler::start(cpus, accounting)?),
        Choice::Rayon => Box::new(Rayon::start(cpus)?),
        Choice::Tokio => Box::new(Tokio::start(cpus)?),
        Choice::Threads => Box::new(JobThreads::on(cpus)),
        Choice::CentralQueue => Box::new(CentralQueue::start(cpus)?),
        Choice::Library(path) => {
            let cpus: Vec<CpuId> = cpus.iter().collect();
            Plugin::load(path)?.start(&cpus)?
        }
    })
}
