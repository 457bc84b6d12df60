//! A scheduler for graphs of jobs in time.
//!
//! | module | what it does |
//! |---|---|
//! | `worker` | the loop of a worker: take an item, run a job, release its successors, steal |
//! | `sleep` | how workers find out that there is work, and sleep when there is none: the protocol |
//! | `dependencies` | the counters that make a job ready once |
//! | `timed` | jobs that wait for their start |
//! | `run`, `handle` | a graph while it runs, for the workers and for its owner |
//! | `shared`, `item`, `account`, `sync` | what these are built of |

mod account;
mod dependencies;
mod handle;
mod item;
mod run;
mod shared;
mod sleep;
pub(crate) mod sync;
mod timed;
mod worker;

#[cfg(all(test, model_check))]
mod model_tests;

pub use account::{Accounting, Idling, Stretch, WorkerTime};
pub use handle::{Handle, Progress, RunningJob};
pub use run::{JobPanic, Outcome};

use crate::PoolError;
use crate::pinned::start_pinned;
use crate::wait::{Clock, Gate};
use crate::waiting::Waiting;
use crossbeam_deque::Worker as Deque;
use plimsoll_graph::Jobs;
use plimsoll_model::CpuSet;
use shared::Shared;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use worker::Worker;

/// How a [`GraphScheduler`] is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerOptions {
    pub accounting: Accounting,
    /// More than one is for tests.
    pub workers_per_cpu: NonZeroU32,
    /// How workers wait for jobs.
    pub waiting: Waiting,
}

impl SchedulerOptions {
    /// One worker per CPU, without accounting; workers spin, yield, then park.
    pub const PLAIN: SchedulerOptions = SchedulerOptions {
        accounting: Accounting::Off,
        workers_per_cpu: NonZeroU32::MIN,
        waiting: Waiting::YieldThenPark,
    };
}

/// Pinned workers that run graphs of jobs, also several at once.
///
/// Dropping it stops it: running jobs complete, others do not run, and their graphs end
/// as cancelled. A job that never returns keeps the drop waiting; `std::mem::forget` leaves the
/// threads to it.
#[derive(Debug)]
pub struct GraphScheduler {
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    threads: Vec<JoinHandle<()>>,
    thread_ids: Vec<u32>,
}

impl GraphScheduler {
    /// Starts the workers, which sleep until there is a graph.
    ///
    /// # Errors
    /// No CPU, or a worker cannot be started or pinned.
    pub fn start(cpus: &CpuSet, options: SchedulerOptions) -> Result<GraphScheduler, PoolError> {
        if cpus.is_empty() {
            return Err(PoolError::NoCpu);
        }
        let per_cpu = options.workers_per_cpu.get() as usize;
        let pinned_to: Vec<_> = (0..per_cpu).flat_map(|_| cpus.iter()).collect();
        let deques: Vec<Deque<_>> = pinned_to.iter().map(|_| Deque::new_lifo()).collect();
        let stealers = deques.iter().map(Deque::stealer).collect();
        let clock = Clock::new(Instant::now());
        let mut scheduler = GraphScheduler {
            shared: Arc::new(Shared::new(clock, stealers, options.accounting)),
            gate: Arc::default(),
            threads: Vec::new(),
            thread_ids: Vec::new(),
        };
        let shared = Arc::clone(&scheduler.shared);
        let gate = Arc::clone(&scheduler.gate);
        let bodies = pinned_to.into_iter().zip(deques).enumerate();
        let bodies = bodies.map(|(index, (cpu, deque))| {
            let (shared, gate) = (Arc::clone(&shared), Arc::clone(&gate));
            let body = move || {
                shared.begin_account(index);
                if gate.wait_open() {
                    Worker::new(index, shared, deque, options.waiting).work();
                }
            };
            (cpu, body)
        });
        scheduler.thread_ids = start_pinned(&mut scheduler.threads, bodies)?;
        scheduler.gate.open();
        Ok(scheduler)
    }

    /// Has the workers run all jobs of a graph: each once, after its predecessors and not
    /// before its start. Times are relative to this call. Memory: 4 bytes a job and 256 bytes a worker, until it ends.
    ///
    /// If a job panics, the jobs that need it do not run. The panic hook prints as usual.
    pub fn submit(&self, jobs: Arc<dyn Jobs>) -> Handle {
        let run = self.shared.submit(jobs);
        Handle::new(run, Arc::clone(&self.shared))
    }

    /// Submits a graph and waits for its end.
    pub fn run(&self, jobs: Arc<dyn Jobs>) -> Outcome {
        self.submit(jobs).wait()
    }

    /// The kernel's thread IDs of the workers, in the order of their indices.
    pub fn thread_ids(&self) -> &[u32] {
        &self.thread_ids
    }

    /// Where the time of each worker went so far; empty without accounting.
    pub fn accounts(&self) -> Vec<WorkerTime> {
        self.shared.read_accounts()
    }

    /// When the workers had nothing to do, from `began` on; empty unless that is kept.
    pub fn stretches_since(&self, began: Instant) -> Vec<Stretch> {
        self.shared.stretches_since(began)
    }
}

impl Drop for GraphScheduler {
    fn drop(&mut self) {
        self.gate.stop();
        self.shared.sleep.stop();
        for thread in self.threads.drain(..) {
            // Jobs that panic are caught, so there is nothing to learn from it.
            let _ = thread.join();
        }
        self.shared.close_all();
    }
}
