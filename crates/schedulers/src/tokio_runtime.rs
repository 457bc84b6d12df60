//! tokio: the multi-thread runtime, and a task per job.
//!
//! One task spawns those that are ready at once; each job spawns those that it makes
//! ready. The jobs never wait, so a task runs once and to its end. Starts in the future
//! are released by the calling thread: tokio's own timers have a resolution of 1 ms.

use crate::Scheduler;
use crate::error::SchedulerError;
use crate::shared_run::SharedRun;
use crate::threads_of_cpus::{pin_worker, set_min_timer_slack};
use plimsoll_graph::Jobs;
use plimsoll_model::{CpuId, CpuSet};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    /// The index of this worker.
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// The runtime.
#[derive(Debug)]
pub(crate) struct Tokio {
    runtime: Runtime,
}

impl Tokio {
    pub(crate) fn start(cpus: &CpuSet) -> Result<Tokio, SchedulerError> {
        let places: Vec<CpuId> = cpus.iter().collect();
        let started = AtomicUsize::new(0);
        let runtime = Builder::new_multi_thread()
            .worker_threads(places.len())
            .thread_name("tokio-worker")
            .on_thread_start(move || {
                // Workers come first, and no blocking task starts more threads.
                let index = started.fetch_add(1, Ordering::Relaxed) % places.len();
                WORKER.set(index);
                pin_worker(places[index]);
            })
            .build()
            .map_err(SchedulerError::Spawn)?;
        Ok(Tokio { runtime })
    }
}

impl Scheduler for Tokio {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let began = Instant::now();
        let run = Arc::new(SharedRun::new(jobs));
        set_min_timer_slack();
        let handle = self.runtime.handle();
        let first = Arc::clone(&run);
        handle.spawn(async move {
            let ready = first.ready_at_once();
            ready.for_each(|job| drop(tokio::spawn(task(&first, job))));
        });
        run.release_in_time(began, |job| drop(handle.spawn(task(&run, job))));
        run.wait()
    }
}

fn task(run: &Arc<SharedRun>, job: u32) -> impl Future<Output = ()> + Send + use<> {
    let run = Arc::clone(run);
    async move { run_job(&run, job) }
}

/// Not in the task itself, whose type would contain itself.
fn run_job(run: &Arc<SharedRun>, job: u32) {
    let spawn = |ready| drop(tokio::spawn(task(run, ready)));
    run.run_job(job, WORKER.get(), spawn);
}
