//! What a trial is made at, and what it measures besides the common quantities.

use plimsoll_model::{PhaseWork, Rate, Trial, TrialSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One of two targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The one that is asked about.
    First,
    /// The one it is compared with.
    Against,
}

impl Target {
    pub(super) const ALL: [Target; 2] = [Target::First, Target::Against];

    pub(super) fn index(self) -> usize {
        match self {
            Target::First => 0,
            Target::Against => 1,
        }
    }
}

/// What a trial is made at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstSetting {
    /// No requests to either target.
    Idle,
    /// A cycle of the pattern on one target, the other being idle.
    Cycle {
        target: Target,
        /// That of the first burst.
        #[serde(rename = "rate_rps")]
        rate: Rate,
    },
}

impl TrialSetting for BurstSetting {
    fn rate(&self) -> Option<Rate> {
        match self {
            BurstSetting::Idle => None,
            BurstSetting::Cycle { rate, .. } => Some(*rate),
        }
    }

    fn is_idle(&self) -> bool {
        *self == BurstSetting::Idle
    }
}

/// The time lines of a trial, and its requests by phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BurstOutcome {
    /// Of each target in order; `None` where it has no CPU time that can be read.
    pub(super) lines: Vec<Option<CpuLine>>,
    /// From the warm-up on. Empty in a trial without load.
    pub(super) phases: Vec<PhaseWork>,
    /// CPU time of all tasks of the machine, and of Plimsoll. Older records have none.
    #[serde(default)]
    pub(super) tasks: Option<CpuLine>,
    #[serde(default)]
    pub(super) own: Option<CpuLine>,
    /// Which counter was read.
    pub(super) counter: Option<String>,
}

pub(super) type BurstTrial = Trial<BurstSetting, BurstOutcome>;

/// CPU time of a service by time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct CpuLine {
    /// When it was read, from the beginning of the load (without load: of the window); ascending.
    pub(super) at_ns: Vec<u64>,
    /// CPU time so far.
    pub(super) cpu_ns: Vec<u64>,
}

impl CpuLine {
    pub(super) fn push(&mut self, at: Duration, cpu: Duration) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.at_ns.push(ns(at));
        self.cpu_ns.push(ns(cpu));
    }

    /// Readings in seconds.
    pub(super) fn readings(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let pairs = self.at_ns.iter().zip(&self.cpu_ns);
        pairs.map(|(at, cpu)| (*at as f64 / 1e9, *cpu as f64 / 1e9))
    }

    /// When it was last read, in seconds.
    pub(super) fn end_s(&self) -> Option<f64> {
        Some(*self.at_ns.last()? as f64 / 1e9)
    }

    /// CPU time over the whole line.
    pub(super) fn total(&self) -> Option<Duration> {
        let (first, last) = (self.cpu_ns.first()?, self.cpu_ns.last()?);
        Some(Duration::from_nanos(last.saturating_sub(*first)))
    }

    /// CPU seconds by a time, linear between readings; `None` outside of them.
    fn used_by(&self, at_s: f64) -> Option<f64> {
        let after = self.at_ns.partition_point(|at| (*at as f64 / 1e9) < at_s);
        let reading = |i: usize| {
            let at = *self.at_ns.get(i)? as f64 / 1e9;
            Some((at, *self.cpu_ns.get(i)? as f64 / 1e9))
        };
        let (to, cpu_to) = reading(after)?;
        if to <= at_s {
            return Some(cpu_to);
        }
        let (from, cpu_from) = reading(after.checked_sub(1)?)?;
        Some(cpu_from + (cpu_to - cpu_from) * (at_s - from) / (to - from))
    }

    /// CPU seconds between two times, if they were seen.
    pub(super) fn used_s(&self, from_s: f64, to_s: f64) -> Option<f64> {
        Some((self.used_by(to_s)? - self.used_by(from_s)?).max(0.0))
    }
}
