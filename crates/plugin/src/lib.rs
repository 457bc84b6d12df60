//! The trait of a scheduler under test, and how one gets in from a shared library.
//!
//! A scheduler in Rust implements [`Scheduler`] and exports it:
//!
//! ```
//! use plimsoll_plugin::{Jobs, Scheduler, export_scheduler};
//! use std::sync::Arc;
//!
//! struct OneAfterAnother;
//!
//! impl Scheduler for OneAfterAnother {
//!     fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
//!         // Jobs are numbered in an order that keeps all dependencies.
//!         (0..jobs.count()).for_each(|job| jobs.run(job, 0));
//!         Ok(())
//!     }
//! }
//!
//! export_scheduler!(|_cpus: &[u32]| Ok(OneAfterAnother));
//! ```
//!
//! In a crate of type `cdylib` this makes a library for `--scheduler ./libmine.so`.
//! `examples/my_scheduler.rs` is a whole one, with workers. A scheduler in another
//! language implements `include/plimsoll_scheduler.h`; `examples/onetbb` in the
//! repository is one in C++.
//!
//! A library that is loaded is code in this process: the rig has a process for each
//! trial. The proof of a run catches jobs that are lost, doubled, early or unknown.
//! Nothing catches what such code writes where it must not.
//!
//! This crate holds all unsafe code of the workspace, in `export` and `load`.
//! It must not schedule.

pub mod abi;
#[allow(unsafe_code, reason = "reads what the program hands over by pointers")]
#[doc(hidden)]
pub mod export;
#[cfg(feature = "load")]
#[allow(unsafe_code, reason = "loads a library and calls it by pointers")]
mod load;

pub use abi::{ABI_VERSION, JobsTable, SchedulerTable};
#[cfg(feature = "load")]
pub use load::{LoadError, Plugin};
pub use plimsoll_graph::{Jobs, Release};

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

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

    /// What the workers did between jobs from `began` on, by worker and time; empty
    /// where it keeps no such events.
    fn events_since(&self, began: Instant) -> Vec<WorkerEvent> {
        let _ = began;
        Vec::new()
    }
}

impl std::fmt::Debug for dyn Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scheduler")
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

/// Something that a worker did between jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerEvent {
    pub worker: usize,
    pub kind: WorkerEventKind,
    /// Nanoseconds since the start of the run.
    pub start_ns: u64,
    pub end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEventKind {
    /// It looked for jobs of others, awake.
    Steal,
    /// It slept.
    Park,
}

/// What a panic said that was caught.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".into())
}
