//! Task schedulers behind one trait, and the jobs that prove what they did.
//!
//! A [`Scheduler`] runs a graph of jobs. [`start`] makes one of those that Plimsoll
//! knows: its own, others to compare with, and controls. A [`JobRun`] is a graph with
//! work in its nodes; while it runs, each job checks that its predecessors have run
//! and computes a value from theirs, so that [`JobRun::verify`] shows afterwards that
//! each job ran once, and in order. [`execute`] runs one on the other and ends, also
//! if the scheduler does not.
//!
//! This crate must not decide what is run, nor judge figures.

mod central_queue;
mod choice;
mod execute;
mod job_run;

pub use choice::{Choice, SchedulerError, start};
pub use execute::{ExecuteError, Executed, execute};
pub use job_run::{JobRun, JobTime, NodeWork, Proof, Violation};

use plimsoll_graph::Jobs;
use std::sync::Arc;

/// A task scheduler under test, with its workers.
pub trait Scheduler: Send {
    /// Runs all jobs, each once, after its predecessors and not before its start.
    /// Returns when all have ended.
    ///
    /// # Errors
    /// It could not: a sentence that says why.
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String>;

    /// Where the workers' time went since the scheduler was started, one entry a
    /// worker; empty where it keeps no account.
    fn accounts(&self) -> Vec<Account> {
        Vec::new()
    }
}

/// Where the time of one worker went, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    pub wall_ns: u64,
    /// In the jobs themselves.
    pub work_ns: u64,
    /// Between jobs that it had itself.
    pub dispatch_ns: u64,
    /// Looking for jobs of others.
    pub steal_ns: u64,
    /// Waiting without sleeping.
    pub spin_ns: u64,
    /// Asleep.
    pub parked_ns: u64,
}
