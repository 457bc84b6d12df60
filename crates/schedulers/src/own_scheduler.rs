//! Plimsoll's own scheduler, of the crate `pool`.

use crate::choice::SchedulerError;
use plimsoll_graph::Jobs;
use plimsoll_model::CpuSet;
use plimsoll_plugin::{Account, Scheduler};
use plimsoll_pool::{GraphScheduler, SchedulerOptions, WorkerTime};
use std::sync::Arc;
use std::time::Duration;

/// The scheduler with its workers.
#[derive(Debug)]
pub(crate) struct OwnScheduler(GraphScheduler);

impl OwnScheduler {
    /// `accounting`: whether the workers account for their time.
    pub(crate) fn start(cpus: &CpuSet, accounting: bool) -> Result<OwnScheduler, SchedulerError> {
        let options = SchedulerOptions {
            accounting,
            ..SchedulerOptions::PLAIN
        };
        Ok(OwnScheduler(GraphScheduler::start(cpus, options)?))
    }
}

impl Scheduler for OwnScheduler {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let outcome = self.0.run(jobs);
        match outcome.panics.first() {
            None => Ok(()),
            Some(panic) => Err(match panic.job {
                Some(job) => format!("job {job} panicked: {}", panic.message),
                None => panic.message.clone(),
            }),
        }
    }

    fn accounts(&self) -> Vec<Account> {
        self.0.accounts().iter().map(account).collect()
    }
}

fn account(time: &WorkerTime) -> Account {
    let ns = |time: Duration| time.as_nanos() as u64;
    Account {
        wall_ns: ns(time.wall),
        work_ns: ns(time.work),
        dispatch_ns: ns(time.dispatch),
        steal_ns: ns(time.steal),
        spin_ns: ns(time.spin),
        parked_ns: ns(time.parked),
    }
}
