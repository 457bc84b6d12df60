//! Which jobs may run: a counter of ended predecessors a job.
//!
//! Each predecessor *arrives* at its successors once, after it has ended. The arrival that
//! makes the count complete returns the job, so exactly one does. Arrivals are
//! acquire-release on one counter: what all predecessors did is visible to the one that
//! returns the job. A job with one predecessor needs no counter.

use super::sync::{AtomicU32, Ordering};

/// What becomes of a job whose predecessors have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Runs,
    /// A predecessor panicked, or was skipped itself.
    Skipped,
}

/// The highest bit of a counter. No job has 2^31 predecessors: the counters of so many
/// jobs take 8 GiB.
const SKIPPED: u32 = 1 << 31;

/// The counters of one run.
#[derive(Debug)]
pub(crate) struct Dependencies(Vec<AtomicU32>);

impl Dependencies {
    pub(crate) fn new(jobs: u32) -> Dependencies {
        Dependencies((0..jobs).map(|_| AtomicU32::new(0)).collect())
    }

    /// One of the `predecessors` of `job` has ended, as told by `fate`. Returns what becomes
    /// of the job if it was the last.
    pub(crate) fn arrive(&self, job: u32, predecessors: u32, fate: Fate) -> Option<Fate> {
        if predecessors == 1 {
            return Some(fate);
        }
        let count = &self.0[job as usize];
        if fate == Fate::Skipped {
            count.fetch_or(SKIPPED, Ordering::Relaxed);
        }
        let before = count.fetch_add(1, Ordering::AcqRel);
        if (before & !SKIPPED) + 1 != predecessors {
            return None;
        }
        Some(match before & SKIPPED {
            0 => Fate::Runs,
            _ => Fate::Skipped,
        })
    }
}
