//! A submitted graph, as its owner sees it.

use super::run::{Outcome, Run};
use super::shared::Shared;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A graph that was submitted. Dropping it lets the graph run on.
pub struct Handle {
    run: Arc<Run>,
    shared: Arc<Shared>,
    /// The jobs that ran when it was looked at last, with the first look that saw each.
    seen: Vec<(usize, u32, Instant)>,
}

/// How far a graph is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Jobs that have returned or panicked.
    pub ended: u32,
    /// Jobs of the graph.
    pub count: u32,
    pub running: Vec<RunningJob>,
}

/// A job that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningJob {
    pub job: u32,
    pub worker: usize,
    /// Since the first look that saw it: workers read no clock for it.
    pub at_least: Duration,
}

impl Handle {
    pub(crate) fn new(run: Arc<Run>, shared: Arc<Shared>) -> Handle {
        Handle {
            run,
            shared,
            seen: Vec::new(),
        }
    }

    /// Waits until every job has ended or cannot run any more.
    pub fn wait(self) -> Outcome {
        loop {
            if let Some(outcome) = self.run.wait(None) {
                return outcome;
            }
        }
    }

    /// The same, for at most so long; `None` if the graph has not ended by then.
    pub fn wait_at_most(&self, time: Duration) -> Option<Outcome> {
        self.run.wait(Some(time))
    }

    /// Lets no further job of the graph begin. Running ones complete.
    pub fn cancel(&self) {
        self.shared.cancel(&self.run);
    }

    /// How far it is. A job that is in [`Progress::running`] for too long, from one look
    /// to the next, may never return; all others go on.
    pub fn progress(&mut self) -> Progress {
        let now = Instant::now();
        let running = self.shared.running(self.run.id);
        let running = running.map(|(worker, job)| {
            let known = self.seen.iter().find(|s| (s.0, s.1) == (worker, job));
            (worker, job, known.map_or(now, |s| s.2))
        });
        self.seen = running.collect();
        let running = self.seen.iter().map(|&(worker, job, since)| RunningJob {
            job,
            worker,
            at_least: now - since,
        });
        Progress {
            ended: self.run.executed(),
            count: self.run.count,
            running: running.collect(),
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
