//! Observers of a run: progress lines, a bar, the live view.

use plimsoll_model::{CpuTime, Invalid, Phase, Second, TrialSetting, TrialSpec};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Planned visits that are done.
    pub done: usize,
    /// Planned visits in all.
    pub visits: usize,
    /// About how long the rest takes.
    pub left: Duration,
}

/// A trial that is about to run, as an observer sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    pub phase: Phase,
    /// How often the same was tried before.
    pub attempt: u32,
    /// The setting in words.
    pub what: String,
    /// Whether it offers requests, so that seconds will be reported.
    pub offers_load: bool,
    /// Its place on the x axis of the run's charts; `None` for none.
    pub x: Option<f64>,
    /// How long it measures.
    pub window: Duration,
}

/// A trial that has ended, as an observer sees it, with what [`Started`] says of it. It
/// holds no histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub phase: Phase,
    pub attempt: u32,
    pub what: String,
    /// What was measured, in words.
    pub measured: String,
    /// Why it is invalid; empty for a valid trial.
    pub invalid: Vec<Invalid>,
    pub x: Option<f64>,
    /// Times in microseconds: p50, p99 and p99.9 of the latency, unless the experiment
    /// measures others; NaN for one that the trial does not have.
    pub times_us: Vec<f64>,
    /// CPU use of the service's CPUs in percent.
    pub cpu_pct: Option<f64>,
}

impl Started {
    /// Of a trial with this setting in words. The x axis is the offered rate.
    pub fn of<S: TrialSetting>(spec: &TrialSpec<S>, what: String) -> Started {
        Started {
            phase: spec.phase,
            attempt: spec.attempt,
            what,
            offers_load: spec.setting.rate().is_some(),
            x: spec.setting.rate().map(|rate| rate.get()),
            window: spec.window,
        }
    }
}

impl Ended {
    /// Whether the trial is valid.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}

/// Receives the events of a run. Called on the thread that measures, so each
/// method must return quickly, except [`Observer::wait_while_paused`].
pub trait Observer {
    /// Called between two trials. May block for as long as the user pauses the
    /// run, or until `stop` is raised. Budgets are sums of trial times, so a
    /// pause is in none.
    fn wait_while_paused(&mut self, _stop: &AtomicBool) {}
    /// A trial starts.
    fn trial_started(&mut self, _trial: &Started, _progress: &Progress) {}
    /// A second of it has passed, or its warm-up.
    fn second(&mut self, _second: &Second) {}
    /// It has ended and is recorded.
    fn trial_ended(&mut self, _trial: &Ended) {}
    /// CPU time used by observing so far; `None` where there is none.
    fn cpu_used(&self) -> Option<CpuTime> {
        None
    }
}

/// Observes nothing.
#[derive(Debug)]
pub struct Quiet;

impl Observer for Quiet {}

/// CPU time that an observer used within a window.
pub struct ObserverCost(Option<CpuTime>);

impl ObserverCost {
    /// Starts at the window's beginning.
    pub fn start(observer: &dyn Observer) -> ObserverCost {
        ObserverCost(observer.cpu_used())
    }

    /// Up to the window's end.
    pub fn end(&self, observer: &dyn Observer) -> Option<CpuTime> {
        Some(observer.cpu_used()?.since(self.0?))
    }
}
