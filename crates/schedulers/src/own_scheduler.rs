//! Plimsoll's own scheduler, of the crate `pool`.

use crate::error::SchedulerError;
use plimsoll_graph::Jobs;
use plimsoll_model::CpuSet;
use plimsoll_plugin::{Account, Scheduler, WorkerEvent, WorkerEventKind};
use plimsoll_pool::{Accounting, GraphScheduler, Idling, SchedulerOptions, Stretch, WorkerTime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The scheduler with its workers.
#[derive(Debug)]
pub(crate) struct OwnScheduler(GraphScheduler);

impl OwnScheduler {
    pub(crate) fn start(
        cpus: &CpuSet,
        accounting: Accounting,
    ) -> Result<OwnScheduler, SchedulerError> {
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

    fn events_since(&self, began: Instant) -> Vec<WorkerEvent> {
        let stretches = self.0.stretches_since(began).into_iter();
        stretches.map(event).collect()
    }
}

fn event(stretch: Stretch) -> WorkerEvent {
    WorkerEvent {
        worker: stretch.worker,
        kind: match stretch.idling {
            Idling::Searching => WorkerEventKind::Steal,
            Idling::Parked => WorkerEventKind::Park,
        },
        start_ns: stretch.start_ns,
        end_ns: stretch.end_ns,
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
