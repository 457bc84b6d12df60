//! Jobs at their start times on a set of workers; how workers wait.
//!
//! A [`Pool`] has one worker thread per CPU of a set, pinned to it. What is to
//! be done comes from a *source*: an iterator of start times in nanoseconds
//! since an agreed beginning, ascending. A free worker claims the next start
//! of the source; if that lies in the future, the worker waits for it; then it
//! runs the job. There is no dispatcher: the only thing that the workers share
//! is the source, behind a mutex that is taken once per job.
//!
//! **Invariant.** *A job starts at its time whenever a worker is free then,
//! and otherwise jobs start in the order of their times.* For suppose that a
//! start `s` has come and nobody has claimed it. Starts are claimed in
//! ascending order, so all claims of this moment are of starts up to `s`,
//! which have come too; a worker that holds one does not wait for it, it runs
//! it. So all workers are busy: work is never left while a worker idles. And
//! whoever becomes free next claims the oldest start that is left. That is a
//! FIFO queue with k servers (M/G/k when the starts are Poisson).
//!
//! The one thing that a dispatcher would do better: a worker that the
//! operating system wakes too late delays the job that it has claimed, even
//! if another worker is free by then. Such a delay is no queueing; it is told
//! apart as the *slip* ([`Start::slip_ns`]).
//!
//! This room must not know what the jobs are, count them, or judge.
//!
//! ```
//! use plimsoll_pool::{Pool, Waiting, allowed_cpus};
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//!
//! let done = Arc::new(AtomicU64::new(0));
//! let count = Arc::clone(&done);
//! let three_jobs = [1_000_000, 2_000_000, 2_000_000].into_iter();
//! let pool = Pool::start(
//!     &allowed_cpus()?,
//!     Waiting::Sleep,
//!     Instant::now(),
//!     three_jobs,
//!     move |start| {
//!         assert!(start.started_ns >= start.intended_ns);
//!         count.fetch_add(1, Ordering::Relaxed);
//!     },
//! )?;
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
pub use queue::Rest;
pub use wait::Waiting;
pub use workers::{Pool, Start};

use plimsoll_model::CpuId;

/// Why workers could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// There is nothing to run on.
    #[error("no CPU was given to run on; give at least one")]
    NoCpu,
    /// A thread could not be pinned.
    #[error(
        "a thread could not be pinned to CPU {cpu}: {source}; choose from the CPUs that this \
         process may use (Cpus_allowed_list in /proc/self/status)"
    )]
    Pin {
        /// To which CPU.
        cpu: CpuId,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The kernel did not tell which CPUs this process may use.
    #[error("the kernel does not tell which CPUs this process may use: {0}")]
    Affinity(#[source] std::io::Error),
    /// A thread could not be made.
    #[error("no thread could be made for CPU {cpu}: {source}; see `ulimit -u` and pids.max")]
    Spawn {
        /// For which CPU.
        cpu: CpuId,
        /// The kernel's answer.
        source: std::io::Error,
    },
}
