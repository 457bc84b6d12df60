//! One graph while it runs.

use super::dependencies::Dependencies;
use super::item::{Item, Task};
use crossbeam_utils::CachePadded;
use plimsoll_graph::Jobs;
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many panics of a run are kept.
const PANICS_KEPT: usize = 16;

/// A job that panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPanic {
    /// `None` if the graph itself did, by contradicting itself; the run ends then.
    pub job: Option<u32>,
    pub message: String,
}

/// What became of the jobs of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Jobs that returned.
    pub ran: u32,
    /// Jobs that panicked.
    pub panicked: u32,
    /// The first of these, at most 16.
    pub panics: Vec<JobPanic>,
    /// Jobs that did not run because a predecessor, or one of its predecessors, panicked.
    pub skipped: u32,
    /// Jobs that did not run because the run was cancelled or the scheduler dropped.
    pub cancelled: u32,
    /// Jobs that ended after their deadline.
    pub deadlines_missed: u32,
    /// From the submission to the end of the last job.
    pub elapsed: Duration,
}

impl Outcome {
    /// Whether every job returned.
    pub fn is_complete(&self) -> bool {
        self.panicked == 0 && self.skipped == 0 && self.cancelled == 0
    }
}

/// What one worker did for a run. Only that worker writes it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) ran: Count,
    pub(crate) panicked: Count,
    pub(crate) skipped: Count,
    pub(crate) deadlines_missed: Count,
}

/// A counter with one writer.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU32);

impl Count {
    pub(crate) fn add_one(&self) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Run {
    pub(crate) id: u32,
    pub(crate) jobs: Arc<dyn Jobs>,
    pub(crate) dependencies: Dependencies,
    /// The submission, in nanoseconds of the scheduler's clock.
    pub(crate) epoch_ns: u64,
    pub(crate) tallies: Vec<CachePadded<Tally>>,
    submitted: Instant,
    cancelled: AtomicBool,
    pub(crate) count: u32,
    /// Jobs that have not ended in any way.
    remaining: CachePadded<AtomicU32>,
    panics: Mutex<Vec<JobPanic>>,
    outcome: Mutex<Option<Outcome>>,
    closed: Condvar,
}

impl Run {
    pub(crate) fn new(id: u32, jobs: Arc<dyn Jobs>, epoch_ns: u64, workers: usize) -> Run {
        let count = jobs.count();
        Run {
            id,
            dependencies: Dependencies::new(count),
            epoch_ns,
            tallies: (0..workers).map(|_| CachePadded::default()).collect(),
            submitted: Instant::now(),
            cancelled: AtomicBool::new(false),
            count,
            remaining: CachePadded::new(AtomicU32::new(count)),
            panics: Mutex::new(Vec::new()),
            outcome: Mutex::new(None),
            closed: Condvar::new(),
            jobs,
        }
    }

    pub(crate) fn item(&self, task: Task) -> Item {
        Item { run: self.id, task }
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The scheduler's clock at `ns` after the submission.
    pub(crate) fn at_ns(&self, ns: u64) -> u64 {
        self.epoch_ns.saturating_add(ns)
    }

    /// Counts `ended` jobs as ended. Returns whether these were the last.
    pub(crate) fn end(&self, ended: u32) -> bool {
        self.remaining.fetch_sub(ended, Ordering::AcqRel) == ended
    }

    /// How many jobs have returned or panicked.
    pub(crate) fn executed(&self) -> u32 {
        self.sum(|tally| &tally.ran) + self.sum(|tally| &tally.panicked)
    }

    pub(crate) fn note_panic(&self, job: Option<u32>, cause: &(dyn Any + Send)) {
        let mut panics = lock(&self.panics);
        if panics.len() < PANICS_KEPT {
            let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
            let message = text.unwrap_or_else(|| "no message".to_owned());
            panics.push(JobPanic { job, message });
        }
    }

    /// Ends the run, if it is still open.
    pub(crate) fn close(&self) {
        let mut closed = lock(&self.outcome);
        if closed.is_some() {
            return;
        }
        let ran = self.sum(|tally| &tally.ran);
        let panicked = self.sum(|tally| &tally.panicked);
        let skipped = self.sum(|tally| &tally.skipped);
        let outcome = Outcome {
            ran,
            panicked,
            panics: std::mem::take(&mut *lock(&self.panics)),
            skipped,
            cancelled: self.count.saturating_sub(ran + panicked + skipped),
            deadlines_missed: self.sum(|tally| &tally.deadlines_missed),
            elapsed: self.submitted.elapsed(),
        };
        *closed = Some(outcome);
        self.closed.notify_all();
    }

    /// The outcome, once the run has ended or after `at_most`.
    pub(crate) fn wait(&self, at_most: Option<Duration>) -> Option<Outcome> {
        let outcome = lock(&self.outcome);
        let is_open = |outcome: &mut Option<Outcome>| outcome.is_none();
        let outcome = match at_most {
            Some(at_most) => {
                let waited = self.closed.wait_timeout_while(outcome, at_most, is_open);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.closed.wait_while(outcome, is_open);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        outcome.clone()
    }

    fn sum(&self, count: impl Fn(&Tally) -> &Count) -> u32 {
        self.tallies.iter().map(|tally| count(tally).get()).sum()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .field("count", &self.count)
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
