//! What the live view keeps of a trial that has ended.

use crate::progress;
use plimsoll_model::{CpuUse, Invalid, Phase, Setting, Trial, Verdict};
use std::time::Duration;

/// A part of a run, as the strip of trials shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Idle,
    Calibration,
    Levels,
    Threads,
    Search,
    Confirmation,
}

impl Group {
    pub(crate) fn of(phase: Phase) -> Group {
        match phase {
            Phase::Idle => Group::Idle,
            Phase::Calibration => Group::Calibration,
            Phase::Level { .. } => Group::Levels,
            Phase::OneThreadPerCore | Phase::TwoThreadsPerCore => Group::Threads,
            Phase::Search => Group::Search,
            Phase::Confirmation => Group::Confirmation,
        }
    }

    /// In a word or two.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Idle => "idle",
            Group::Calibration => "rated rate",
            Group::Levels => "levels",
            Group::Threads => "threads",
            Group::Search => "narrowing",
            Group::Confirmation => "confirming",
        }
    }
}

/// A trial that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) group: Group,
    /// Whether the same had been tried before.
    pub(crate) is_retry: bool,
    /// What was done.
    pub(crate) what: String,
    /// What was measured.
    pub(crate) measured: String,
    /// Why it does not count; empty where it does.
    pub(crate) invalid: Vec<Invalid>,
    /// Where it is on the charts: the offered rate per second, or how many
    /// copies; `None` without a load.
    pub(crate) load: Option<f64>,
    /// In microseconds: p50, p99, p99.9; of copies, the mean and the slowest.
    pub(crate) times_us: Vec<f64>,
    /// CPU use in percent.
    pub(crate) cpu_pct: Option<f64>,
}

impl Done {
    /// What is kept of `trial`: no histogram.
    pub(crate) fn of(trial: &Trial) -> Done {
        let load = match trial.spec.setting {
            Setting::Idle => None,
            Setting::Offer { rate } | Setting::Beside { rate, .. } => Some(rate.get()),
            Setting::Copies { copies } => Some(f64::from(copies)),
        };
        let cpu = trial.machine.service_cpu.as_ref();
        Done {
            group: Group::of(trial.spec.phase),
            is_retry: trial.spec.attempt > 0,
            what: progress::describe(&trial.spec),
            measured: progress::describe_measured(trial),
            invalid: match &trial.verdict {
                Verdict::Valid => Vec::new(),
                Verdict::Invalid(reasons) => reasons.clone(),
            },
            load,
            times_us: times_us(trial),
            cpu_pct: cpu.and_then(CpuUse::busy_share).map(|share| share.pct()),
        }
    }

    /// Whether it counts.
    pub(crate) fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}

fn times_us(trial: &Trial) -> Vec<f64> {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    if let Some(slowest) = trial.copy_times.iter().max() {
        let sum: Duration = trial.copy_times.iter().sum();
        let mean = us(sum) / trial.copy_times.len() as f64;
        return vec![mean, us(*slowest)];
    }
    let latency = &trial.work.latency;
    let quantiles = [0.5, 0.99, 0.999].into_iter();
    quantiles
        .filter_map(|q| latency.quantile(q))
        .map(us)
        .collect()
}
