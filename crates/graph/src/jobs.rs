//! What a scheduler sees of the jobs that it runs.

/// When a job may start and when it should have ended, in nanoseconds since the
/// start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The earliest start; 0 for as soon as its predecessors have ended.
    pub start_ns: u64,
    /// The latest end. A job that misses it runs all the same.
    pub deadline_ns: Option<u64>,
}

impl Release {
    /// As soon as the predecessors have ended, and no deadline.
    pub const AT_ONCE: Release = Release {
        start_ns: 0,
        deadline_ns: None,
    };
}

/// A set of jobs with dependencies. Jobs are numbered from 0, and every successor
/// has a higher number than its predecessor.
///
/// A scheduler calls [`Jobs::run`] once for each job: after `run` has returned for
/// all of its predecessors, and not before its start. What happened in a
/// predecessor must be visible to it (happens-before).
pub trait Jobs: Send + Sync {
    /// How many jobs there are.
    fn count(&self) -> u32;

    /// How many jobs must end before this one.
    fn predecessors(&self, job: u32) -> u32;

    /// The jobs that need this one.
    fn successors(&self, job: u32) -> &[u32];

    /// When it may start.
    fn release(&self, _job: u32) -> Release {
        Release::AT_ONCE
    }

    /// Does the job. `worker` is the index of the calling worker, from 0.
    fn run(&self, job: u32, worker: usize);
}
