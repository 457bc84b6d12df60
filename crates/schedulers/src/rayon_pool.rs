//! rayon: a thread pool of its own, and a spawn per job in one scope.
//!
//! One job in the pool spawns those that are ready at once; each job spawns those that
//! it makes ready. Starts in the future are released by the calling thread, which is
//! not in the pool.

use crate::Scheduler;
use crate::error::SchedulerError;
use crate::shared_run::SharedRun;
use crate::threads_of_cpus::{pin_worker, set_min_timer_slack};
use plimsoll_graph::Jobs;
use plimsoll_model::{CpuId, CpuSet};
use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder, current_thread_index};
use std::sync::Arc;
use std::time::Instant;

/// The pool.
#[derive(Debug)]
pub(crate) struct Rayon {
    pool: ThreadPool,
}

impl Rayon {
    pub(crate) fn start(cpus: &CpuSet) -> Result<Rayon, SchedulerError> {
        let places: Vec<CpuId> = cpus.iter().collect();
        let pool = ThreadPoolBuilder::new()
            .num_threads(places.len())
            .thread_name(|index| format!("rayon-{index}"))
            .start_handler(move |index| pin_worker(places[index]))
            .build()
            .map_err(|e| SchedulerError::Spawn(std::io::Error::other(e)))?;
        Ok(Rayon { pool })
    }
}

impl Scheduler for Rayon {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let began = Instant::now();
        let run = &SharedRun::new(jobs);
        set_min_timer_slack();
        // On the calling thread, so that waiting for a start takes no worker.
        self.pool.in_place_scope(|tasks| {
            tasks.spawn(|tasks| run.ready_at_once().for_each(|job| spawn(tasks, run, job)));
            run.release_in_time(began, |job| spawn(tasks, run, job));
        });
        run.result()
    }
}

fn spawn<'scope>(tasks: &Scope<'scope>, run: &'scope SharedRun, job: u32) {
    tasks.spawn(move |tasks| {
        let worker = current_thread_index().unwrap_or(0);
        run.run_job(job, worker, |ready| spawn(tasks, run, ready));
    });
}
