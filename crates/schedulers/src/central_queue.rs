//! One queue behind a mutex: the simplest scheduler that works, as a control.

use crate::Scheduler;
use crate::choice::SchedulerError;
use plimsoll_graph::Jobs;
use plimsoll_model::CpuSet;
use std::sync::Arc;

/// The workers and their queue.
#[derive(Debug)]
pub(crate) struct CentralQueue {
    workers: usize,
}

impl CentralQueue {
    pub(crate) fn start(cpus: &CpuSet) -> Result<CentralQueue, SchedulerError> {
        match cpus.len() {
            0 => Err(SchedulerError::NoCpu),
            workers => Ok(CentralQueue { workers }),
        }
    }
}

impl Scheduler for CentralQueue {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        // Placeholder of the first slice: in order, on this thread.
        for job in 0..jobs.count() {
            jobs.run(job, job as usize % self.workers);
        }
        Ok(())
    }
}
