//! Runs jobs on pinned workers: a stream of jobs at their start times in order ([`Pool`]),
//! graphs of jobs in time ([`GraphScheduler`]), and jobs that poll ([`Poller`]). How workers wait is a
//! [`Waiting`] policy.
//!
//! This crate must not know what the jobs do, or judge them.
//!
//! # A stream of jobs
//!
//! A [`Pool`] has one worker thread per CPU of a set, pinned to it. Jobs come
//! from a *source* ([`Starts`]): an iterator of ascending start times in nanoseconds since a
//! common epoch, or one whose times may change until they come. A free worker claims the next start from the source; if that
//! is in the future, the worker waits for it; then it runs the job. There is no
//! dispatcher: workers share only the source, behind a mutex that is taken once
//! per job.
//!
//! **Invariant.** *A job starts at its time if a worker is free then; otherwise
//! jobs start in the order of their times.* Proof: suppose that a start `s` is
//! due and unclaimed. Starts are claimed in ascending order, so all current
//! claims are of starts up to `s`, which are due too, and their workers run
//! them instead of waiting. So all workers are busy: no worker idles while a
//! job is due. The worker that becomes free next claims the oldest unclaimed
//! start. This is a FIFO queue with k servers (M/G/k if the starts are
//! Poisson).
//!
//! A dispatcher would be better in one case: a worker that the operating system
//! wakes too late delays the job that it has claimed, even if another worker is
//! free by then. This delay is not queueing; it is reported as the *slip*
//! ([`Start::slip_ns`]).
//!
//! ```
//! use plimsoll_pool::{Pool, allowed_cpus};
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//!
//! let done = Arc::new(AtomicU64::new(0));
//! let count = Arc::clone(&done);
//! let three_jobs = [1_000_000, 2_000_000, 2_000_000].into_iter();
//! let pool = Pool::start(&allowed_cpus()?, Instant::now(), three_jobs, move |start| {
//!     assert!(start.started_ns >= start.intended_ns);
//!     count.fetch_add(1, Ordering::Relaxed);
//! })?;
//! while pool.oldest_open_ns().is_some() {
//!     std::thread::sleep(Duration::from_millis(1));
//! }
//! assert_eq!(pool.stop().count(), 0, "no start is left over");
//! assert_eq!(done.load(Ordering::Relaxed), 3);
//! # Ok::<(), plimsoll_pool::PoolError>(())
//! ```
//!
//! # Graphs of jobs
//!
//! A [`GraphScheduler`] runs graphs, which implement [`Jobs`](plimsoll_graph::Jobs): each job once, after its
//! predecessors and not before its start. [`GraphScheduler::run`] runs one to its end;
//! [`GraphScheduler::submit`] gives a [`Handle`] to wait, to cancel and to see the progress. Both
//! may be called from several threads. The workers sleep while there is nothing to do.
//!
//! *A timed job starts at its time if a worker is free then. No worker stays asleep while a job
//! is ready and nobody is looking for it.* Ready jobs have no order, except that timed ones
//! go first, by start; the stream of the hash service, which must be served in order, has the
//! [`Pool`] instead. docs/scheduler.md says how it works and why it is right.
//!
//! ```
//! use plimsoll_graph::{JobGraph, Jobs};
//! use plimsoll_pool::{GraphScheduler, SchedulerOptions, allowed_cpus};
//! use std::sync::Arc;
//!
//! struct Silent(JobGraph);
//! impl Jobs for Silent {
//!     fn count(&self) -> u32 { self.0.count() }
//!     fn predecessors(&self, job: u32) -> u32 { self.0.predecessors(job).len() as u32 }
//!     fn successors(&self, job: u32) -> &[u32] { self.0.successors(job) }
//!     fn run(&self, _job: u32, _worker: usize) {}
//! }
//!
//! let scheduler = GraphScheduler::start(&allowed_cpus()?, SchedulerOptions::PLAIN)?;
//! let diamond = JobGraph::new(&[1; 4], &[(0, 1), (0, 2), (1, 3), (2, 3)])?;
//! let outcome = scheduler.run(Arc::new(Silent(diamond)));
//! assert!(outcome.is_complete());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cpu;
mod pinned;
mod polling;
mod queue;
mod scheduler;
mod starts;
mod wait;
mod waiting;
mod workers;

pub use cpu::{allowed_cpus, keep_this_thread_on, pin_this_thread};
pub use polling::{Declared, Notifier, Poller, PollingJob};
pub use scheduler::{
    Accounting, GraphScheduler, Handle, Idling, JobPanic, Outcome, Progress, RunningJob,
    SchedulerOptions, Stretch, WorkerTime,
};
pub use starts::Starts;
pub use waiting::{SPIN_LIMIT, SpinLimit, WAKE_UP_PRICE, Waiting, WaitingError};
pub use workers::{Pool, Start};

use plimsoll_model::CpuId;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("no CPU to run on; give at least one")]
    NoCpu,
    #[error(
        "cannot pin a thread to CPU {cpu}: {source}; choose one of the CPUs that this \
         process may use (Cpus_allowed_list in /proc/self/status)"
    )]
    Pin { cpu: CpuId, source: std::io::Error },
    #[error("cannot read this process' CPU affinity: {0}; give the CPUs explicitly")]
    Affinity(#[source] std::io::Error),
    #[error("cannot start a thread for CPU {cpu}: {source}; raise `ulimit -u` or pids.max")]
    Spawn { cpu: CpuId, source: std::io::Error },
}
