//! Runs jobs at their start times on a set of pinned workers.
//!
//! A [`Pool`] has one worker thread per CPU of a set, pinned to it. Jobs come
//! from a *source*: an iterator of ascending start times in nanoseconds since a
//! common epoch. A free worker claims the next start from the source; if that
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
//! This crate must not know what the jobs do, count them or judge them.
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

mod cpu;
mod queue;
mod wait;
mod workers;

pub use cpu::{allowed_cpus, pin_this_thread};
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
