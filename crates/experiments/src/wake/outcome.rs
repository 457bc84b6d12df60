//! What a trial is made at, and what it measures besides latency and slip.

use super::program::{Program, ProgramFigure};
use plimsoll_model::{Arrivals, IdlePolicy, Placement, Rate, Trial, TrialSetting, Wait, WakeParts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a trial is made at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeSetting {
    pub policy: IdlePolicy,
    #[serde(flatten)]
    pub load: WakeLoad,
}

/// What sleeps and wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeLoad {
    /// A thread of Plimsoll.
    Wakes(Wakes),
    /// A program that measures by itself.
    Program(Program),
}

impl WakeSetting {
    pub(super) fn wakes(&self) -> Option<&Wakes> {
        match &self.load {
            WakeLoad::Wakes(wakes) => Some(wakes),
            WakeLoad::Program(_) => None,
        }
    }
}

impl fmt::Display for WakeSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.load {
            WakeLoad::Wakes(wakes) => write!(f, "{}: {wakes}", self.policy),
            WakeLoad::Program(program) => write!(f, "{}: {program}", self.policy),
        }
    }
}

/// The wake-ups of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wakes {
    pub wait: Wait,
    pub placement: Placement,
    #[serde(rename = "gap_ns", with = "plimsoll_model::Ns")]
    pub gap: Duration,
    /// Whether gaps are exponential; else they are equal.
    pub poisson: bool,
}

impl Wakes {
    pub(super) fn arrivals(&self) -> Arrivals {
        match self.poisson {
            true => Arrivals::Poisson,
            false => Arrivals::Constant,
        }
    }

    pub(super) fn gap_us(&self) -> f64 {
        self.gap.as_secs_f64() * 1e6
    }
}

impl fmt::Display for Wakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = plimsoll_model::human_duration(self.gap);
        let arrivals = if self.poisson { "Poisson" } else { "constant" };
        write!(
            f,
            "{} {}, {arrivals} gaps of {gap}",
            self.wait, self.placement
        )
    }
}

impl TrialSetting for WakeSetting {
    fn rate(&self) -> Option<Rate> {
        Rate::per_second(1.0 / self.wakes()?.gap.as_secs_f64())
    }
}

/// What a trial measured; conclusions are in the findings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WakeOutcome {
    /// The CPU of the thread that was woken.
    pub wakee_cpu: u32,
    /// The waker's CPU; `None` for a timer.
    pub waker_cpu: Option<u32>,
    /// How often the thread went to sleep.
    pub slept: u64,
    /// How CPUs were kept awake, in words; `None` where they were not.
    pub means: Option<String>,
    /// Why a CPU was not kept awake to the end; the trial then shows nothing about the policy.
    #[serde(default)]
    pub not_kept: Option<String>,
    /// CPU time of this process: waker, woken thread, and threads that keep CPUs awake.
    #[serde(rename = "own_cpu_ns", with = "plimsoll_model::Ns")]
    pub own_cpu: Duration,
    /// Time that idle CPUs polled instead of sleeping (the states of no exit latency), over all
    /// CPUs; `None` without a cpuidle driver.
    #[serde(rename = "polled_ns", with = "plimsoll_model::OptionNs")]
    pub polled: Option<Duration>,
    /// What the program printed; empty where a thread of Plimsoll is woken.
    #[serde(default)]
    pub program: Vec<ProgramFigure>,
    /// Some more wake-ups after those that were timed, recorded in their parts.
    #[serde(default)]
    pub recorded: Recorded,
    /// The idle states of the woken thread's CPU; empty without a cpuidle driver.
    pub states: Vec<StateUse>,
}

/// Wake-ups in parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Empty if none was recorded.
    pub wakeups: Vec<WakeParts>,
    /// Why none was; `None` if some were.
    pub absent: Option<String>,
}

/// An idle state within a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateUse {
    pub name: String,
    /// What the driver says that leaving it takes.
    #[serde(rename = "advertised_exit_ns", with = "plimsoll_model::Ns")]
    pub advertised_exit: Duration,
    /// How often it was entered.
    pub entered: u64,
    #[serde(rename = "time_ns", with = "plimsoll_model::Ns")]
    pub time: Duration,
}

pub(super) type WakeTrial = Trial<WakeSetting, WakeOutcome>;
