//! Calls of a scheduler, which end also if the scheduler does not.
//!
//! It is called on a thread of its own, which owns it. If the call does not end, that
//! thread is left behind with the scheduler: it cannot be ended from outside, and
//! joining it could last for ever. The process can still be killed.

use crate::job_run::JobRun;
use crate::proof::Proof;
use plimsoll_plugin::{Scheduler, panic_message};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The longest time without progress that [`execute()`] takes for a run that goes on.
/// No job may last longer than this, nor may a start or a stop.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often progress and stop are looked at. Few enough that they cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a run gave no figures. The scheduler must not be used again, and is not
/// returned.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("{0}")]
    Refused(String),
    #[error("{ended} of {count} jobs ended, then nothing happened for {} s: a deadlock, or a job that does not end", .patience.as_secs_f64())]
    Stalled {
        ended: u64,
        count: u64,
        patience: Duration,
    },
    #[error("its {call} did not return within {} s", .patience.as_secs_f64())]
    Hung {
        call: &'static str,
        patience: Duration,
    },
    #[error("it panicked: {0}")]
    Panicked(String),
    #[error("it broke its contract: {0}")]
    Violated(Proof),
    #[error("this run was made before; make another with JobRun::again")]
    MadeBefore,
    #[error("stopped by the user")]
    Stopped,
    #[error("cannot start a thread to call the scheduler on: {0}; raise `ulimit -u` or pids.max")]
    Spawn(#[source] std::io::Error),
}

/// A run that ended, and that [`Proof`] shows to be right.
#[derive(Debug)]
pub struct Executed {
    pub scheduler: Box<dyn Scheduler>,
    /// From the call of the scheduler to its return.
    pub elapsed: Duration,
    pub proof: Proof,
}

/// Runs `jobs` on `scheduler`, and gives it back if it can be used again. `stop` ends
/// the wait for it.
///
/// # Errors
/// The scheduler gave up, panicked, made no progress for [`PATIENCE`], or did not run
/// each job once and in order.
pub fn execute(
    scheduler: Box<dyn Scheduler>,
    jobs: &Arc<JobRun>,
    stop: &AtomicBool,
) -> Result<Executed, ExecuteError> {
    execute_within(PATIENCE, scheduler, jobs, stop)
}

/// [`execute()`] with a patience of one's own, which is extended by the longest pause
/// between the starts of the jobs.
///
/// # Errors
/// As [`execute()`].
pub fn execute_within(
    patience: Duration,
    scheduler: Box<dyn Scheduler>,
    jobs: &Arc<JobRun>,
    stop: &AtomicBool,
) -> Result<Executed, ExecuteError> {
    let mut goes_on = || !stop.load(Ordering::Relaxed);
    execute_while(&mut goes_on, patience, scheduler, jobs)
}

/// [`execute_within`] for as long as `goes_on`, which is asked some 20 times a second.
///
/// # Errors
/// As [`execute()`].
pub fn execute_while(
    goes_on: &mut dyn FnMut() -> bool,
    patience: Duration,
    scheduler: Box<dyn Scheduler>,
    jobs: &Arc<JobRun>,
) -> Result<Executed, ExecuteError> {
    let (done, result) = channel();
    let own = Arc::clone(jobs);
    std::thread::Builder::new()
        .name("scheduler-run".into())
        .spawn(move || call(scheduler, &own, &done))
        .map_err(ExecuteError::Spawn)?;
    let pause = Duration::from_nanos(jobs.longest_pause_ns());
    wait(&result, patience.saturating_add(pause), jobs, goes_on)
}

/// Starts or ends a scheduler, as `call` does, for as long as `goes_on`. `name` is that
/// of the call, for the error.
///
/// # Errors
/// It has not returned after `patience`, or panicked.
pub fn call_within<T: Send + 'static>(
    goes_on: &mut dyn FnMut() -> bool,
    patience: Duration,
    name: &'static str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ExecuteError> {
    let (done, result) = channel();
    let caught = move || {
        let _ = done.send(catch_unwind(AssertUnwindSafe(call)));
    };
    std::thread::Builder::new()
        .name(format!("scheduler-{name}"))
        .spawn(caught)
        .map_err(ExecuteError::Spawn)?;
    let began = Instant::now();
    loop {
        // The thread always answers.
        if let Ok(answer) = result.recv_timeout(LOOK_EVERY.min(patience)) {
            return answer.map_err(|e| ExecuteError::Panicked(panic_message(e.as_ref())));
        }
        if !goes_on() {
            return Err(ExecuteError::Stopped);
        }
        if began.elapsed() >= patience {
            return Err(ExecuteError::Hung {
                call: name,
                patience,
            });
        }
    }
}

type Answer = Result<Executed, ExecuteError>;

fn call(mut scheduler: Box<dyn Scheduler>, jobs: &Arc<JobRun>, done: &Sender<Answer>) {
    let given = Arc::clone(jobs) as _;
    // Here, so that the start of this thread is in no time of a job.
    if !jobs.begin() {
        let _ = done.send(Err(ExecuteError::MadeBefore));
        return;
    }
    let began = Instant::now();
    let run = catch_unwind(AssertUnwindSafe(|| scheduler.run(given)));
    let elapsed = began.elapsed();
    let error = match run {
        Ok(Ok(())) => match jobs.verify() {
            proof if proof.violated == 0 => {
                // The receiver is gone if the caller's patience was at its end.
                let _ = done.send(Ok(Executed {
                    scheduler,
                    elapsed,
                    proof,
                }));
                return;
            }
            proof => ExecuteError::Violated(proof),
        },
        Ok(Err(why)) => ExecuteError::Refused(why),
        Err(panic) => ExecuteError::Panicked(panic_message(panic.as_ref())),
    };
    let _ = done.send(Err(error));
    // Here, because the end of a broken scheduler may last for ever, or panic.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(scheduler)));
}

fn wait(
    result: &Receiver<Answer>,
    patience: Duration,
    jobs: &JobRun,
    goes_on: &mut dyn FnMut() -> bool,
) -> Answer {
    let mut progress = Progress::new();
    loop {
        match result.recv_timeout(LOOK_EVERY.min(patience)) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => {}
            // `call` always answers, but for a panic of the proof itself.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ExecuteError::Panicked("the check of the run failed".into()));
            }
        }
        if !goes_on() {
            return Err(ExecuteError::Stopped);
        }
        if let Some(ended) = progress.stalled(jobs, patience) {
            return Err(ExecuteError::Stalled {
                ended,
                count: jobs.graph().count().into(),
                patience,
            });
        }
    }
}

/// What was last seen of a run.
struct Progress {
    since: Instant,
    /// By sample.
    ended: u64,
    /// When the sample last stood still.
    ended_exactly: u64,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            since: Instant::now(),
            ended: 0,
            ended_exactly: 0,
        }
    }

    /// How many jobs had ended, if none has since `patience`.
    fn stalled(&mut self, jobs: &JobRun, patience: Duration) -> Option<u64> {
        let ended = jobs.ended();
        let moved = ended != self.ended;
        self.ended = ended;
        if !moved && self.since.elapsed() < patience {
            return None;
        }
        // The sample may have missed the progress.
        let exactly = jobs.ended_exactly();
        if !moved && exactly == self.ended_exactly {
            return Some(exactly);
        }
        self.ended_exactly = exactly;
        self.since = Instant::now();
        None
    }
}
