//! A thread per job: what a program pays that has no scheduler, as a control.
//!
//! A job that makes others ready starts a thread for each. The kernel's scheduler then
//! decides. At most [`LIMIT`] jobs, all of which may be alive at once. A job's worker
//! is the place of the CPU that it starts on; it may move to another.

use crate::Scheduler;
use crate::shared_run::SharedRun;
use crate::threads_of_cpus::{place_of_this_cpu, restrict_this_thread, set_min_timer_slack};
use plimsoll_graph::Jobs;
use plimsoll_model::{CpuId, CpuSet};
use std::sync::Arc;
use std::thread::{Builder, Scope};
use std::time::Instant;

/// More threads than this meet limits of containers and of the kernel.
pub(crate) const LIMIT: u32 = 4096;

/// Of each job's thread. Enough for all kernels and for the standard library.
const STACK_BYTES: usize = 128 << 10;

/// The CPUs that the threads may run on.
#[derive(Debug)]
pub(crate) struct JobThreads {
    cpus: CpuSet,
    places: Vec<CpuId>,
}

impl JobThreads {
    pub(crate) fn on(cpus: &CpuSet) -> JobThreads {
        JobThreads {
            cpus: cpus.clone(),
            places: cpus.iter().collect(),
        }
    }
}

impl Scheduler for JobThreads {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let began = Instant::now();
        if jobs.count() > LIMIT {
            return Err(format!(
                "a thread for each of {} jobs is too much; give `threads` at most {LIMIT} jobs",
                jobs.count()
            ));
        }
        let run = &SharedRun::new(jobs);
        let (cpus, places) = (&self.cpus, &self.places[..]);
        // Job threads inherit the CPUs of the one that starts them.
        std::thread::scope(|scope| {
            let start = move || {
                if let Err(why) = restrict_this_thread(cpus) {
                    return run.fail(why);
                }
                set_min_timer_slack();
                for job in run.ready_at_once().collect::<Vec<u32>>() {
                    start_job(scope, run, places, job);
                }
                run.release_in_time(began, |job| start_job(scope, run, places, job));
            };
            if let Err(error) = Builder::new().spawn_scoped(scope, start) {
                run.fail(format!("cannot start a thread: {error}"));
            }
        });
        run.result()
    }
}

fn start_job<'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: &'scope SharedRun,
    places: &'scope [CpuId],
    job: u32,
) {
    let body = move || {
        let worker = place_of_this_cpu(places);
        run.run_job(job, worker, |ready| start_job(scope, run, places, ready));
    };
    let thread = Builder::new().stack_size(STACK_BYTES);
    if let Err(error) = thread.spawn_scoped(scope, body) {
        run.fail(format!(
            "cannot start the thread of job {job}: {error}; raise `ulimit -u` or pids.max"
        ));
    }
}
