//! Task schedulers behind one trait, and the jobs that prove what they did.
//!
//! A [`Scheduler`] runs a graph of jobs. [`start`] makes one of those that Plimsoll
//! knows: its own, others to compare with, and controls. A [`JobRun`] is a graph with
//! work in its nodes; while it runs, each job checks that its predecessors have run
//! and computes a value from theirs, so that [`JobRun::verify`] shows afterwards that
//! each job ran once, and in order. [`execute()`] runs one on the other and ends, also
//! if the scheduler does not.
//!
//! This crate must not decide what is run, nor judge figures.
//!
//! ```
//! use plimsoll_graph::JobGraph;
//! use plimsoll_schedulers::{Choice, JobRun, Kernel, Neighbours, Work};
//! use plimsoll_schedulers::{calibrate, execute, start};
//! use std::sync::{Arc, atomic::AtomicBool};
//! use std::time::Duration;
//!
//! let cpus = plimsoll_pool::allowed_cpus()?;
//! let work = Arc::new(Work::new(Kernel::Compute, cpus.len()));
//! let speed = calibrate(&work, &cpus, Neighbours::Idle)?;
//! let diamond = JobGraph::new(&[1, 1, 3, 1], &[(0, 1), (0, 2), (1, 3), (2, 3)])?;
//! let work = work.node_work(speed, Duration::from_micros(20));
//! let jobs = Arc::new(JobRun::new(Arc::new(diamond), work, None, true));
//!
//! let scheduler = start(&Choice::CentralQueue, &cpus)?;
//! let ran = execute(scheduler, &jobs, &AtomicBool::new(false))?;
//! assert_eq!(ran.proof.nodes_checked, 4);
//! assert!(jobs.times()[2].end_ns <= jobs.times()[3].start_ns);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calibrate;
mod central_queue;
mod choice;
mod error;
mod execute;
mod fingerprint;
mod job_run;
mod job_threads;
mod kernels;
mod own_scheduler;
mod proof;
mod rayon_pool;
mod shared_run;
mod threads_of_cpus;
mod timeline;
mod tokio_runtime;
mod trace;
mod wakers;

pub use calibrate::{Neighbours, calibrate};
pub use choice::{Choice, start, start_accounted, start_traced};
pub use error::SchedulerError;
pub use execute::{
    ExecuteError, Executed, PATIENCE, call_within, execute, execute_while, execute_within,
};
pub use fingerprint::fingerprint;
pub use job_run::{JobRun, JobTime, NodeWork};
pub use kernels::{BLOCK_BYTES, Calibration, Kernel, Work};
pub use plimsoll_plugin::{Account, LoadError, Scheduler, WorkerEvent, WorkerEventKind};
pub use plimsoll_pool::{WAKE_UP_PRICE, pin_this_thread};
pub use proof::{Proof, Violation};
pub use timeline::{Step, Timeline, inflations};
pub use trace::{Trace, write_trace};
pub use wakers::{Arrivals, Arrived, WaitPolicy, Waiters};
