//! The one loop that drives every experiment.

use crate::observer::{Ended, Observer, Progress, Started};
use plimsoll_host::HostError;
use plimsoll_load::LoadError;
use plimsoll_model::{Rate, Share, Trial, TrialSetting, TrialSpec, human_duration};
use plimsoll_study::bootstrap::shows_quantile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a planner answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<S> {
    /// Run this trial and ask again.
    Trial(TrialSpec<S>),
    /// The plan is complete.
    Done,
    /// The run cannot continue; the sentence says why and what can be done.
    Stuck(String),
}

/// Decides which trial comes next. A pure function of its plan and the trials
/// so far, so that a resumed run asks again with the trials of its record.
pub trait Planner {
    /// What a trial is made at.
    type Setting: TrialSetting;
    /// What a trial measures besides the common quantities.
    type Outcome;

    /// The next trial.
    fn next(&self, trials: &[Trial<Self::Setting, Self::Outcome>]) -> Next<Self::Setting>;

    /// How far the run is.
    fn progress(&self, trials: &[Trial<Self::Setting, Self::Outcome>]) -> Progress;

    /// A trial's setting in words, for people who follow the run.
    fn describe(&self, spec: &TrialSpec<Self::Setting>) -> String;

    /// The place of a setting on the x axis of the run's charts.
    fn x(&self, setting: &Self::Setting) -> Option<f64> {
        setting.rate().map(Rate::get)
    }

    /// The times of a trial in microseconds, and in words. By default p50, p99 and p99.9 of the latency, without words.
    fn times(&self, trial: &Trial<Self::Setting, Self::Outcome>) -> (Vec<f64>, String) {
        latency_times(trial)
    }

    /// A trial that is about to run, for people who follow the run.
    fn announce(&self, spec: &TrialSpec<Self::Setting>) -> Started {
        Started {
            x: self.x(&spec.setting),
            ..Started::of(spec, self.describe(spec))
        }
    }

    /// A trial's results for people who follow the run.
    fn summarize(&self, trial: &Trial<Self::Setting, Self::Outcome>) -> Ended {
        let (times_us, words) = self.times(trial);
        let words = [words, measured(trial)].into_iter();
        let words: Vec<String> = words.filter(|part| !part.is_empty()).collect();
        let cpu = trial.machine.service_share(trial.service.as_ref());
        Ended {
            phase: trial.spec.phase,
            attempt: trial.spec.attempt,
            what: self.describe(&trial.spec),
            measured: words.join(" · "),
            invalid: trial.verdict.reasons().to_vec(),
            x: self.x(&trial.spec.setting),
            times_us,
            cpu_pct: cpu.map(Share::pct),
        }
    }
}

pub(crate) fn latency_times<S, O>(trial: &Trial<S, O>) -> (Vec<f64>, String) {
    let times = [0.5, 0.99, 0.999].map(|q| trial.work.latency.quantile(q));
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    (times.into_iter().flatten().map(us).collect(), String::new())
}

/// Rate, p99, CPU use and errors of a trial, as far as it has them, in words.
fn measured<S: TrialSetting, O>(trial: &Trial<S, O>) -> String {
    let mut parts = Vec::new();
    if trial.spec.setting.rate().is_some() {
        parts.push(trial.achieved().to_string());
    }
    let latency = &trial.work.latency;
    if let Some(p99) = latency.quantile(0.99)
        && shows_quantile(latency.count(), 0.99)
    {
        parts.push(format!("p99 {}", human_duration(p99)));
    }
    if let Some(share) = trial.machine.service_share(trial.service.as_ref()) {
        parts.push(match trial.machine.service_quota {
            Some(_) => format!("quota {:.0} % used", share.pct()),
            None => format!("CPUs {:.0} % busy", share.pct()),
        });
    }
    if let Some(doubt) = &trial.machine.doubt {
        parts.push(format!("CPU use unknown: {doubt}"));
    }
    let errors = trial.work.errors.total();
    if errors > 0 {
        parts.push(format!("{errors} failed"));
    }
    parts.join(" · ")
}

/// Carries out trials on a machine, real or simulated.
pub trait Runner<S, O> {
    /// Runs one trial. `Ok(None)` when `stop` was raised before its window
    /// ended: an incomplete window is dropped.
    fn run(
        &mut self,
        spec: &TrialSpec<S>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError>;
}

/// Why a run ended before it was complete.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A usage error: the sentence says what to ask for instead.
    #[error("{0}")]
    Usage(String),
    /// The load could not be offered.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine could not be read.
    #[error("{0}")]
    Sensor(String),
    /// The machine could not be read, or the service was not found on it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A job could not be started, restricted or ended.
    #[error(transparent)]
    Control(#[from] plimsoll_control::ControlError),
    /// The planner or the runner could not continue.
    #[error("{0}")]
    Stuck(String),
    /// The user stopped it before the first trial.
    #[error("the run was stopped before its first trial")]
    Interrupted,
}

/// How a run ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The plan is complete.
    Complete,
    /// It was stopped.
    Interrupted,
}

/// Asks `planner` for a trial, has it run and recorded, until the plan is
/// complete or `stop` is raised. `trials` holds those that a resumed run has
/// already, and in the end all. `record` may fail in its own way.
pub fn conduct<P: Planner, E: From<RunError>>(
    planner: &P,
    trials: &mut Vec<Trial<P::Setting, P::Outcome>>,
    runner: &mut dyn Runner<P::Setting, P::Outcome>,
    mut record: impl FnMut(&Trial<P::Setting, P::Outcome>) -> Result<(), E>,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome, E> {
    loop {
        let spec = match planner.next(trials) {
            Next::Trial(spec) => spec,
            Next::Done => return Ok(Outcome::Complete),
            Next::Stuck(why) => return Err(RunError::Stuck(why).into()),
        };
        observer.wait_while_paused(stop);
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        observer.trial_started(&planner.announce(&spec), &planner.progress(trials));
        let Some(trial) = runner.run(&spec, observer, stop)? else {
            return Ok(Outcome::Interrupted);
        };
        record(&trial)?;
        observer.trial_ended(&planner.summarize(&trial));
        trials.push(trial);
    }
}
