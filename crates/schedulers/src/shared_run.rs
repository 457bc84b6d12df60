//! What all schedulers here need to run a graph, so that all pay the same for it.

use plimsoll_graph::Jobs;
use plimsoll_plugin::panic_message;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A graph that is being run: the counters of its dependencies, and its end.
pub(crate) struct SharedRun {
    jobs: Arc<dyn Jobs>,
    /// For each job how many predecessors have not ended, and one more if it waits
    /// for its start.
    waits_for: Vec<AtomicU32>,
    /// Jobs without successors that have not ended. Once these have, all have.
    ends_left: AtomicU32,
    /// Why the run cannot be completed.
    failure: OnceLock<String>,
    caller: Thread,
}

impl SharedRun {
    /// A run that the calling thread waits for.
    pub(crate) fn new(jobs: Arc<dyn Jobs>) -> SharedRun {
        let starts_later = |job| u32::from(jobs.release(job).start_ns > 0);
        let waits_for = |job| AtomicU32::new(jobs.predecessors(job) + starts_later(job));
        let all = 0..jobs.count();
        SharedRun {
            waits_for: all.clone().map(waits_for).collect(),
            ends_left: AtomicU32::new(
                all.filter(|&job| jobs.successors(job).is_empty()).count() as u32
            ),
            failure: OnceLock::new(),
            caller: std::thread::current(),
            jobs,
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.jobs.count()
    }

    /// The jobs that wait for nothing, by the graph: by the counters, a job that became
    /// ready meanwhile would be among them.
    pub(crate) fn ready_at_once(&self) -> impl Iterator<Item = u32> {
        (0..self.count()).filter(|&job| self.jobs.predecessors(job) == 0 && !self.starts_later(job))
    }

    fn starts_later(&self, job: u32) -> bool {
        self.jobs.release(job).start_ns > 0
    }

    /// Does a job, then hands those to `ready` that have waited for nothing else. A
    /// job that panics ends the run.
    pub(crate) fn run_job(&self, job: u32, worker: usize, ready: impl FnMut(u32)) {
        let run = AssertUnwindSafe(|| self.jobs.run(job, worker));
        match catch_unwind(run) {
            Ok(()) => self.ended(job, ready),
            Err(panic) => self.fail(format!(
                "job {job} panicked: {}",
                panic_message(panic.as_ref())
            )),
        }
    }

    fn ended(&self, job: u32, ready: impl FnMut(u32)) {
        let successors = self.jobs.successors(job);
        if successors.is_empty() {
            if self.ends_left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.caller.unpark();
            }
            return;
        }
        let is_ready = |&job: &u32| self.needs_one_less(job);
        successors.iter().copied().filter(is_ready).for_each(ready);
    }

    /// Whether that was the last that `job` waited for. Release, so that the job sees
    /// what happened before in all that it waited for, and acquire for that.
    fn needs_one_less(&self, job: u32) -> bool {
        self.waits_for[job as usize].fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Sleeps on the calling thread until each start that lies in the future, and
    /// hands the jobs to `ready` that have waited for nothing else. Ends early if the
    /// run has failed, and at once if no job has a start.
    ///
    /// One thread does this for all workers: starts at the same time are handed out
    /// one after the other, and each is late by the time that this thread takes to
    /// wake. A scheduler with timers of its own has neither delay.
    pub(crate) fn release_in_time(&self, began: Instant, mut ready: impl FnMut(u32)) {
        for (start_ns, job) in self.starts() {
            let start = began + Duration::from_nanos(start_ns);
            while let Some(left) = start.checked_duration_since(Instant::now()) {
                if left.is_zero() || self.failure.get().is_some() {
                    break;
                }
                std::thread::park_timeout(left);
            }
            if self.failure.get().is_some() {
                return;
            }
            if self.needs_one_less(job) {
                ready(job);
            }
        }
    }

    /// The jobs that start later, by time.
    fn starts(&self) -> Vec<(u64, u32)> {
        let start = |job| (self.jobs.release(job).start_ns, job);
        let mut starts: Vec<(u64, u32)> = (0..self.count()).map(start).collect();
        starts.retain(|(start_ns, _)| *start_ns > 0);
        starts.sort_unstable();
        starts
    }

    /// Ends the run without its other jobs.
    pub(crate) fn fail(&self, why: String) {
        // The first failure is the one to report.
        let _ = self.failure.set(why);
        self.caller.unpark();
    }

    pub(crate) fn result(&self) -> Result<(), String> {
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Sleeps on the thread that made the run until all jobs have ended or it failed.
    pub(crate) fn wait(&self) -> Result<(), String> {
        while self.failure.get().is_none() && self.ends_left.load(Ordering::Acquire) > 0 {
            std::thread::park();
        }
        self.result()
    }
}
