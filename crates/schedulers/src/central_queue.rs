//! One queue behind a mutex: the simplest scheduler that works, as a control.
//!
//! Workers take the oldest job from a queue that they share, and sleep on a condition
//! variable while it is empty. After a job a worker takes the mutex once, for the jobs
//! that became ready and for its next one. Starts in the future are released by the
//! calling thread.

use crate::Scheduler;
use crate::error::SchedulerError;
use crate::shared_run::SharedRun;
use crate::threads_of_cpus::pinned;
use plimsoll_graph::Jobs;
use plimsoll_model::CpuSet;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The workers and their queue.
#[derive(Debug)]
pub(crate) struct CentralQueue {
    queue: Arc<Queue>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    ready: VecDeque<u32>,
    /// The run whose jobs these are.
    run: Option<Arc<SharedRun>>,
    quit: bool,
}

impl CentralQueue {
    pub(crate) fn start(cpus: &CpuSet) -> Result<CentralQueue, SchedulerError> {
        let queue = Arc::new(Queue::default());
        let mut started = CentralQueue {
            queue: Arc::clone(&queue),
            workers: Vec::new(),
        };
        for (index, cpu) in cpus.iter().enumerate() {
            let queue = Arc::clone(&queue);
            let worker = pinned(cpu, "central-queue", move || queue.work(index))?;
            started.workers.push(worker);
        }
        Ok(started)
    }
}

impl Scheduler for CentralQueue {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let began = Instant::now();
        let run = Arc::new(SharedRun::new(jobs));
        {
            let mut state = self.queue.lock();
            state.ready = run.ready_at_once().collect();
            state.run = Some(Arc::clone(&run));
        }
        self.queue.wake.notify_all();
        run.release_in_time(began, |job| self.queue.push(job));
        let result = run.wait();
        let mut state = self.queue.lock();
        state.run = None;
        state.ready.clear();
        result
    }
}

impl Drop for CentralQueue {
    fn drop(&mut self) {
        self.queue.lock().quit = true;
        self.queue.wake.notify_all();
        for worker in self.workers.drain(..) {
            // It catches the panics of jobs, and has no others.
            let _ = worker.join();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: u32) {
        self.lock().ready.push_back(job);
        self.wake.notify_one();
    }

    fn work(&self, worker: usize) {
        let mut ready = Vec::new();
        while let Some((run, job)) = self.next(&mut ready) {
            run.run_job(job, worker, |job| ready.push(job));
        }
    }

    /// Queues the jobs that became ready and waits for one; `None` at the end.
    fn next(&self, became_ready: &mut Vec<u32>) -> Option<(Arc<SharedRun>, u32)> {
        let mut state = self.lock();
        // This worker takes one of them itself.
        for _ in 1..became_ready.len() {
            self.wake.notify_one();
        }
        state.ready.extend(became_ready.drain(..));
        loop {
            if state.quit {
                return None;
            }
            // A job is there only while its run is.
            if let Some(run) = state.run.clone()
                && let Some(job) = state.ready.pop_front()
            {
                return Some((run, job));
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}
