//! The one loop that drives every experiment.

use crate::watch::{Progress, Watch};
use plimsoll_host::HostError;
use plimsoll_load::LoadError;
use plimsoll_model::{CpuTime, Trial, TrialSpec};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a planner answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this trial and ask again.
    Trial(TrialSpec),
    /// All that was asked is done.
    Done,
    /// It cannot go on; the sentence says why and what can be done.
    Stuck(String),
}

/// Carries out trials on a machine, real or simulated.
pub trait Runner {
    /// Runs one trial. `Ok(None)` when `stop` was raised within it: what was
    /// measured of it by then is dropped, for it is no whole window.
    fn run(
        &mut self,
        spec: &TrialSpec,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<Option<Trial>, RunError>;
}

/// Why a run ended before it was done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The load could not be offered.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine could not be read.
    #[error("{0}")]
    Sensor(String),
    /// The machine could not be read, or the service was not found on it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A job could not be started, held or ended.
    #[error(transparent)]
    Control(#[from] plimsoll_control::ControlError),
    /// The planner could not go on.
    #[error("{0}")]
    Stuck(String),
}

/// How a run ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All that was asked is done.
    Complete,
    /// It was stopped.
    Interrupted,
}

/// What looking on cost within a window.
pub(crate) struct ViewCost(Option<CpuTime>);

impl ViewCost {
    /// From the window's beginning.
    pub(crate) fn from_now(watch: &dyn Watch) -> ViewCost {
        ViewCost(watch.cpu_used())
    }

    /// Until its end.
    pub(crate) fn until_now(&self, watch: &dyn Watch) -> Option<CpuTime> {
        Some(watch.cpu_used()?.since(self.0?))
    }
}

/// Asks `plan` for a trial, has it run and kept, until the plan is done or
/// `stop` is raised. `trials` holds what a resumed run has already, and in
/// the end all there is. `keep` records a trial and may fail in its own way.
pub fn conduct<E: From<RunError>>(
    plan: impl Fn(&[Trial]) -> (Next, Progress),
    trials: &mut Vec<Trial>,
    runner: &mut dyn Runner,
    mut keep: impl FnMut(&Trial) -> Result<(), E>,
    watch: &mut dyn Watch,
    stop: &AtomicBool,
) -> Result<Ended, E> {
    loop {
        let (next, progress) = plan(trials);
        let spec = match next {
            Next::Trial(spec) => spec,
            Next::Done => return Ok(Ended::Complete),
            Next::Stuck(why) => return Err(RunError::Stuck(why).into()),
        };
        watch.hold(stop);
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended::Interrupted);
        }
        watch.begins(&spec, &progress);
        let Some(trial) = runner.run(&spec, watch, stop)? else {
            return Ok(Ended::Interrupted);
        };
        keep(&trial)?;
        watch.ended(&trial);
        trials.push(trial);
    }
}
