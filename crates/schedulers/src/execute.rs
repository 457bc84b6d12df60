//! One run of a graph on a scheduler, which ends also if the scheduler does not.

use crate::Scheduler;
use crate::job_run::{JobRun, PATIENCE, Proof};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a run gave no figures. The scheduler must not be used again.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("{0}")]
    Refused(String),
    #[error("it ran {ended} of {count} jobs and then none for {} s: a deadlock, or a job that does not end", PATIENCE.as_secs())]
    Stalled { ended: u64, count: u64 },
    #[error("it panicked: {0}")]
    Panicked(String),
}

/// A run that ended.
#[derive(Debug)]
pub struct Executed {
    pub scheduler: Box<dyn Scheduler>,
    /// From the call of the scheduler to its return.
    pub elapsed: Duration,
    pub proof: Proof,
}

impl std::fmt::Debug for dyn Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scheduler")
    }
}

/// Runs `jobs` on `scheduler`, and gives it back if it can be used again.
///
/// # Errors
/// The scheduler gave up, panicked, or made no progress.
pub fn execute(
    mut scheduler: Box<dyn Scheduler>,
    jobs: &Arc<JobRun>,
) -> Result<Executed, ExecuteError> {
    let began = Instant::now();
    scheduler
        .run(Arc::clone(jobs) as _)
        .map_err(ExecuteError::Refused)?;
    let elapsed = began.elapsed();
    Ok(Executed {
        scheduler,
        elapsed,
        proof: jobs.verify(),
    })
}
