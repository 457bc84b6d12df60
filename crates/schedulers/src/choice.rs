//! The schedulers by name.

use crate::Scheduler;
use crate::central_queue::CentralQueue;
use plimsoll_model::CpuSet;
use std::fmt;
use std::str::FromStr;

/// A scheduler to test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// One queue behind a mutex and a condition variable: a control.
    CentralQueue,
}

/// Why a scheduler could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    #[error("no scheduler is called {0:?}; choose from central-queue")]
    Unknown(String),
    #[error("no CPU to run on; give at least one")]
    NoCpu,
    #[error("cannot start a worker: {0}; raise `ulimit -u` or pids.max")]
    Spawn(#[source] std::io::Error),
}

impl FromStr for Choice {
    type Err = SchedulerError;

    fn from_str(name: &str) -> Result<Choice, SchedulerError> {
        match name {
            "central-queue" => Ok(Choice::CentralQueue),
            _ => Err(SchedulerError::Unknown(name.to_owned())),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Choice::CentralQueue => "central-queue",
        })
    }
}

/// Starts a scheduler with one worker per CPU, pinned to it where the scheduler
/// allows that.
///
/// # Errors
/// No CPU, or a worker cannot be started.
pub fn start(choice: &Choice, cpus: &CpuSet) -> Result<Box<dyn Scheduler>, SchedulerError> {
    match choice {
        Choice::CentralQueue => Ok(Box::new(CentralQueue::start(cpus)?)),
    }
}
