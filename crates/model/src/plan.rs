//! Plans: everything that decides which trials a run makes.

use crate::{CpuCapacity, CpuSet, Goal, Rate, Share, SmtPlan, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The version of the record and of the plan in it.
pub const SCHEMA_VERSION: u32 = 4;

/// What every run of an experiment is planned by, whatever it varies: how long
/// and how often it measures, on which CPUs, and what makes a trial invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// How often each setting is visited. Odd passes mirror the pass before.
    pub passes: u32,
    /// How long a trial measures.
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// How long a trial waits for steady state before it measures.
    pub warm_up: WarmUp,
    /// How long the idle machine is measured at the start; zero for not at all.
    #[serde(rename = "idle_ns", with = "crate::Ns")]
    pub idle: Duration,
    /// What makes a trial invalid.
    pub bounds: Bounds,
    /// CPUs of the service and of the load generator.
    pub cpus: CpuPlan,
    /// Seeds the order of the settings and the arrivals of each trial.
    pub seed: u64,
    /// Once trials have taken this long in sum, invalid ones are not repeated.
    #[serde(rename = "budget_ns", with = "crate::Ns")]
    pub budget: Duration,
}

impl RunPlan {
    /// No passes, no bounds, no CPUs: the base for plans of imported tables and
    /// for tests, which set what differs.
    pub fn blank() -> RunPlan {
        RunPlan {
            passes: 0,
            window: Duration::from_secs(1),
            warm_up: WarmUp::NONE,
            idle: Duration::ZERO,
            bounds: Bounds {
                slip: Duration::ZERO,
                slip_share: Share::ONE,
                steal_share: Share::ONE,
                other_share: Share::ONE,
                interrupts: InterruptTime::Unknown,
                retries: 0,
            },
            cpus: CpuPlan::default(),
            seed: 0,
            budget: Duration::ZERO,
        }
    }
}

/// A plan for load offered to a service. The same plan and the same outcomes
/// give the same trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The service under test.
    pub workload: Workload,
    /// The SLOs under which the capacity is searched.
    pub goals: Vec<Goal>,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The graduated levels, ascending.
    pub levels: Vec<LoadLevel>,
    /// How the rated rate is found.
    pub calibration: CalibrationPlan,
    /// How long the service is loaded before that; left out for not at all, as in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_warm_up: Option<ServiceWarmUp>,
    /// A shell command that restarts the service before each pass over the
    /// levels.
    #[serde(default)]
    pub restart: Option<String>,
    /// How the capacity is searched after the graduated levels; `None` leaves
    /// it to the levels. Plans of version 1 have none.
    #[serde(default)]
    pub search: Option<SearchPlan>,
    /// How the speed-up by SMT is measured; `None` where no core has two
    /// usable threads, and in plans of older records.
    #[serde(default)]
    pub smt: Option<SmtPlan>,
    /// How trials of a slow service are lengthened; left out if they are not, as in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// The length of the body of a server's first answer, before any load; left out for others, and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answer_bytes: Option<u64>,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunPlan,
}

impl Plan {
    /// A plan without goals, levels and passes: the base for plans of imported
    /// tables and for tests, which set what differs.
    pub fn blank(workload: Workload) -> Plan {
        Plan {
            workload,
            goals: Vec::new(),
            arrivals: Arrivals::Constant,
            levels: Vec::new(),
            calibration: CalibrationPlan {
                first: Rate::ZERO,
                window: Duration::ZERO,
                retries: 0,
                rated: None,
            },
            service_warm_up: None,
            smt: None,
            restart: None,
            search: None,
            pace: None,
            first_answer_bytes: None,
            run: RunPlan::blank(),
        }
    }
}

/// How requests arrive in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exponential gaps: independent users.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// The offered rate as a part of the rated rate, in tenths of a percent, so
/// that levels can be compared and sorted exactly.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0.1, "maximum" = 200))]
pub struct LoadLevel(u32);

/// Why a load level could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a load level; give percent of the rated rate between 0.1 and 200, such as 50%"
)]
pub struct LoadLevelError(pub String);

impl LoadLevel {
    /// A level in percent of the rated rate; `None` unless 0.1 to 200.
    pub fn percent(pct: f64) -> Option<LoadLevel> {
        let tenths = (pct * 10.0).round();
        (1.0..=2000.0)
            .contains(&tenths)
            .then_some(LoadLevel(tenths as u32))
    }

    pub fn pct(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// The rate to offer at this level.
    pub fn of(self, rated: Rate) -> Rate {
        rated.times(f64::from(self.0) / 1000.0)
    }
}

impl FromStr for LoadLevel {
    type Err = LoadLevelError;
    fn from_str(text: &str) -> Result<Self, LoadLevelError> {
        let number = text.trim();
        let number = number.strip_suffix('%').unwrap_or(number);
        number
            .parse()
            .ok()
            .and_then(LoadLevel::percent)
            .ok_or_else(|| LoadLevelError(text.to_owned()))
    }
}

impl TryFrom<f64> for LoadLevel {
    type Error = LoadLevelError;
    fn try_from(pct: f64) -> Result<Self, LoadLevelError> {
        LoadLevel::percent(pct).ok_or_else(|| LoadLevelError(pct.to_string()))
    }
}

impl From<LoadLevel> for f64 {
    fn from(level: LoadLevel) -> f64 {
        level.pct()
    }
}

impl fmt::Display for LoadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.pct())
    }
}

/// A trial measures from the moment that throughput, requests in flight and
/// CPU use are steady, but not before `min` and not after `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// At least this long.
    #[serde(rename = "min_ns", with = "crate::Ns")]
    pub min: Duration,
    /// At most this long; the trial then says that it was not steady.
    #[serde(rename = "max_ns", with = "crate::Ns")]
    pub max: Duration,
}

impl WarmUp {
    pub const NONE: WarmUp = WarmUp::fixed(Duration::ZERO);

    pub const fn fixed(length: Duration) -> WarmUp {
        WarmUp {
            min: length,
            max: length,
        }
    }
}

/// How long a service is loaded before anything is measured, until it has compiled and cached
/// what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceWarmUp {
    /// For so many nanoseconds.
    #[serde(rename = "time_ns", with = "crate::Ns")]
    Time(Duration),
    /// With so many answers.
    Requests(u64),
}

impl ServiceWarmUp {
    /// What is left of it after so much time and so many answers; `None` if it is done.
    pub fn left(self, spent: Duration, answered: u64) -> Option<ServiceWarmUp> {
        match self {
            ServiceWarmUp::Time(all) if spent < all => Some(ServiceWarmUp::Time(all - spent)),
            ServiceWarmUp::Requests(all) if answered < all => {
                Some(ServiceWarmUp::Requests(all - answered))
            }
            _ => None,
        }
    }
}

/// How the rated rate is found: open-loop trials, each at twice the rate of
/// the one before, until the rate is not carried any more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationPlan {
    /// The first rate.
    #[serde(rename = "first_rps")]
    pub first: Rate,
    /// How long each trial measures.
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// How often a trial that others disturbed is run again.
    pub retries: u32,
    /// A rate given by the user; then nothing is calibrated.
    #[serde(rename = "rated_rps")]
    pub rated: Option<Rate>,
}

/// The least lengths of warm-up and window, in mean latencies at light load: the shortest
/// mean of a carried trial of the calibration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// How long the service took for one request before the run: the latency until the
    /// calibration has measured one.
    #[serde(rename = "first_answer_ns", with = "crate::Ns")]
    pub first_answer: Duration,
    /// A trial warms up for at least so many latencies.
    pub warm_up_latencies: f64,
    /// A trial measures for at least so many latencies.
    pub window_latencies: f64,
}

/// How the capacity under each goal is searched: short trials around the
/// boundary until its interval is narrow, then one longer trial at its lower
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchPlan {
    /// Half the width of the interval, as a share of the rate, at which the
    /// search ends.
    #[serde(rename = "precision_share")]
    pub precision: Share,
    /// How long each trial measures.
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// What the trials of the search may take in sum, whatever is reached.
    #[serde(rename = "budget_ns", with = "crate::Ns")]
    pub budget: Duration,
    /// How long the confirmation measures; zero for none.
    #[serde(rename = "confirm_ns", with = "crate::Ns")]
    pub confirm: Duration,
}

/// What makes a trial invalid. A trial outside of any bound is run again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The p99 of the slip may be this, or `slip_share` of the p99 latency, whichever is more.
    #[serde(rename = "slip_ns", with = "crate::Ns")]
    pub slip: Duration,
    /// See `slip_ns`: the generator's own lateness is then a small part of what is reported.
    pub slip_share: Share,
    /// The most CPU time that the hypervisor may have taken.
    pub steal_share: Share,
    /// The most CPU time that others on this machine may have used.
    pub other_share: Share,
    /// Where the kernel counts the time of interrupts; unknown in older records.
    #[serde(default)]
    pub interrupts: InterruptTime,
    /// How often an invalid trial is run again.
    pub retries: u32,
}

impl Bounds {
    /// The default bounds.
    ///
    /// A generator with a core of its own keeps a slip p99 of 100 us here
    /// (docs/benchmarks.md); of longer latencies the slip may be a tenth. A busy cloud
    /// machine shows steal below 2 % and other load below 5 % all the time.
    pub fn usual(interrupts: InterruptTime) -> Bounds {
        let share = |x| Share::new(x).unwrap_or(Share::ZERO);
        Bounds {
            slip: Duration::from_micros(100),
            slip_share: share(0.10),
            steal_share: share(0.02),
            other_share: share(0.05),
            interrupts,
            retries: 3,
        }
    }
}

/// Where a kernel counts the time of interrupts, beside `irq` and `softirq` of
/// /proc/stat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptTime {
    /// It is not known of which kind the kernel is.
    #[default]
    Unknown,
    /// In no task's CPU time.
    Apart,
    /// In the CPU time of the task that they interrupt.
    InTasks,
}

/// Which CPUs serve and which ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPlan {
    /// CPUs that the service runs on; empty when the service is elsewhere.
    pub service: CpuSet,
    /// CPUs that generator threads are pinned to, one thread each; empty
    /// when the service makes its own arrivals.
    pub generator: CpuSet,
    /// The CPUs of each core that has one of the service's, those included
    /// that are not the service's to use. Empty where it is not known which
    /// share a core, and in plans of older records.
    #[serde(default)]
    pub cores: Vec<CpuSet>,
    /// How many CPUs the service can use at once. `None` where it is not on this host or it is
    /// not known where it runs, and in plans of older records.
    #[serde(default)]
    pub capacity: Option<CpuCapacity>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_read_with_and_without_percent() {
        assert_eq!(
            "50%".parse(),
            LoadLevel::percent(50.0).ok_or(LoadLevelError(String::new()))
        );
        assert_eq!("12.5".parse::<LoadLevel>().unwrap().pct(), 12.5);
        for bad in ["0", "-5", "NaN", "abc", "201", "inf", ""] {
            assert_eq!(
                bad.parse::<LoadLevel>(),
                Err(LoadLevelError(bad.to_owned()))
            );
        }
    }
}
