//! What the rig and the process of a scheduler say to each other, a line of JSON each.

use super::super::outcome::{RigOutcome, RigSetting};
use super::super::plan::RigPlan;
use plimsoll_model::TrialSpec;
use plimsoll_schedulers::{JobTime, WorkerEvent, WorkerEventKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The first line that a process gets. It prepares and says [`Answer::Ready`]; the line
/// [`GO`] lets it call the scheduler.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) plan: RigPlan,
    pub(super) task: Task,
}

/// The second line.
pub(super) const GO: &str = "go\n";

/// What a process is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Task {
    /// To show whether the scheduler can be started.
    Probe {
        scheduler: String,
    },
    Trial(TrialSpec<RigSetting>),
    /// One run of the graph whose schedule is broken, without start times.
    Trace {
        scheduler: String,
    },
}

impl Task {
    pub(super) fn scheduler(&self) -> &str {
        match self {
            Task::Probe { scheduler } | Task::Trace { scheduler } => scheduler,
            Task::Trial(spec) => spec.setting.scheduler(),
        }
    }
}

/// What a process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// All but the scheduler is there.
    Ready,
    /// What it does from now on.
    Doing(Doing),
    /// It goes on; about once a second.
    Alive,
    /// The scheduler started and stopped.
    Probed,
    /// What a trial measured.
    Measured(Box<RigOutcome>),
    Traced {
        jobs: Vec<Ran>,
        events: Vec<Did>,
    },
    /// The scheduler broke its contract outside of a trial.
    Broke(String),
    /// A usage error.
    Refused(String),
    /// The run cannot go on.
    Stuck(String),
}

/// Where the process is with its scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Doing {
    Starting,
    Measuring,
    Stopping,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Starting => "while it started",
            Doing::Measuring => "while it was measured",
            Doing::Stopping => "while it stopped",
        })
    }
}

/// When a job ran: job, worker, start and end in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Ran(u32, usize, u64, u64);

impl From<JobTime> for Ran {
    fn from(time: JobTime) -> Ran {
        Ran(time.job, time.worker, time.start_ns, time.end_ns)
    }
}

impl From<Ran> for JobTime {
    fn from(Ran(job, worker, start_ns, end_ns): Ran) -> JobTime {
        JobTime {
            job,
            worker,
            start_ns,
            end_ns,
        }
    }
}

/// What a worker did between jobs: worker, whether it slept, start and end in
/// nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Did(usize, bool, u64, u64);

impl From<WorkerEvent> for Did {
    fn from(event: WorkerEvent) -> Did {
        let slept = event.kind == WorkerEventKind::Park;
        Did(event.worker, slept, event.start_ns, event.end_ns)
    }
}

impl From<Did> for WorkerEvent {
    fn from(Did(worker, slept, start_ns, end_ns): Did) -> WorkerEvent {
        WorkerEvent {
            worker,
            kind: match slept {
                true => WorkerEventKind::Park,
                false => WorkerEventKind::Steal,
            },
            start_ns,
            end_ns,
        }
    }
}
