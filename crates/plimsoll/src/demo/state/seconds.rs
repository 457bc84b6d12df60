//! What the charts show.

use plimsoll_law::SettlePhase;
use std::collections::VecDeque;
use std::time::Duration;

/// Seconds that are remembered, and shown.
pub(crate) const REMEMBERED: usize = 120;

/// How much work the job has done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JobWork {
    /// MiB that were hashed, or written and read, per second.
    Done(f64),
    /// CPU time, in percent of one CPU.
    CpuTime(f64),
}

impl JobWork {
    pub(crate) fn amount(self) -> f64 {
        match self {
            JobWork::Done(amount) | JobWork::CpuTime(amount) => amount,
        }
    }
}

/// A second of the service.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Second {
    /// Since the start, at its end.
    pub(crate) at: Duration,
    pub(crate) asked_rps: f64,
    pub(crate) served_rps: f64,
    /// What was served, in percent of the rating.
    pub(crate) load_pct: f64,
    /// Of the service's CPUs, whatever used them.
    pub(crate) cpu_pct: Option<f64>,
    /// The 50th, 95th and 99th percentile of latency, in microseconds.
    pub(crate) us: [Option<f64>; 3],
    pub(crate) in_flight: u64,
    pub(crate) phase: Option<SettlePhase>,
    pub(crate) job: Option<JobWork>,
    /// Of the time that the service's threads wanted a CPU, the part in which they waited for one.
    pub(crate) run_delay_pct: Option<f64>,
    /// Of the time, the part in which some task waited for a CPU.
    pub(crate) pressure_pct: Option<f64>,
}

pub(super) fn add(seconds: &mut VecDeque<Second>, second: Second) {
    if seconds.len() == REMEMBERED {
        seconds.pop_front();
    }
    seconds.push_back(second);
}
