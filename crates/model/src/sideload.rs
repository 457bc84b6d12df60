//! Batch work beside a service: how it is held, what it is, what is asked.

use crate::{
    Bytes, CpuSet, CpuTime, LoadLevel, Plan, Quantile, Rate, Share, StepPlan, Trial, TrialSetting,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What runs in a trial, and how the batch work beside the service is held.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The service, and no job.
    ServiceAlone,
    /// The same once more: what differs between the two is noise. Findings have no such arm.
    #[schemars(skip)]
    ServiceAgain,
    /// The job, and no service.
    JobAlone,
    /// The job as any other program.
    None,
    /// The job with nice 19.
    Nice,
    /// The job in the scheduling class `SCHED_IDLE`.
    SchedIdle,
    /// The job in a cgroup of the least weight.
    Weight,
    /// The job in a cgroup that is idle.
    CpuIdle,
    /// The job with a quota in periods of 10 ms.
    #[serde(rename = "quota-10ms")]
    Quota10ms,
    /// The job with a quota in periods of 100 ms.
    #[serde(rename = "quota-100ms")]
    Quota100ms,
    /// The job on some of the CPUs.
    #[serde(rename = "cpuset")]
    CpuSet,
    /// The job in a cgroup of the least weight whose memory is reclaimed above a limit.
    MemoryHigh,
    /// The job in a cgroup of the least weight that has no memory above a limit.
    MemoryMax,
    /// The job in a cgroup of the least weight, at the disks as well.
    IoWeight,
    /// The job by resctl-demo's law.
    Resctl,
    /// The job by Koordinator's law.
    Koordinator,
    /// The job by our law.
    Plimsoll,
}

impl Arm {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Arm; 17] = [
        Arm::ServiceAlone,
        Arm::ServiceAgain,
        Arm::JobAlone,
        Arm::None,
        Arm::Nice,
        Arm::SchedIdle,
        Arm::Weight,
        Arm::CpuIdle,
        Arm::Quota10ms,
        Arm::Quota100ms,
        Arm::CpuSet,
        Arm::MemoryHigh,
        Arm::MemoryMax,
        Arm::IoWeight,
        Arm::Resctl,
        Arm::Koordinator,
        Arm::Plimsoll,
    ];

    /// Its name, as it is typed, recorded and shown.
    pub fn name(self) -> &'static str {
        match self {
            Arm::ServiceAlone => "service-alone",
            Arm::ServiceAgain => "service-again",
            Arm::JobAlone => "job-alone",
            Arm::None => "none",
            Arm::Nice => "nice",
            Arm::SchedIdle => "sched-idle",
            Arm::Weight => "weight",
            Arm::CpuIdle => "cpu-idle",
            Arm::Quota10ms => "quota-10ms",
            Arm::Quota100ms => "quota-100ms",
            Arm::CpuSet => "cpuset",
            Arm::MemoryHigh => "memory-high",
            Arm::MemoryMax => "memory-max",
            Arm::IoWeight => "io-weight",
            Arm::Resctl => "resctl",
            Arm::Koordinator => "koordinator",
            Arm::Plimsoll => "plimsoll",
        }
    }

    /// Whether the service is offered requests in it.
    pub fn has_service(self) -> bool {
        self != Arm::JobAlone
    }

    /// Whether the job runs in it.
    pub fn has_job(self) -> bool {
        !matches!(self, Arm::ServiceAlone | Arm::ServiceAgain)
    }

    /// Whether it is a way to hold a job beside a service, and not one of the
    /// three that others are measured by.
    pub fn is_beside(self) -> bool {
        self.has_service() && self.has_job()
    }

    /// Whether a law holds the job, which decides again and again what it may use.
    pub fn is_law(self) -> bool {
        matches!(self, Arm::Resctl | Arm::Koordinator | Arm::Plimsoll)
    }

    /// Whether it is about memory or disks, and so of no use beside a job that hashes.
    pub fn is_of_memory_or_disk(self) -> bool {
        matches!(self, Arm::MemoryHigh | Arm::MemoryMax | Arm::IoWeight)
    }

    /// Whether it leaves a headroom that is asked for.
    pub fn keeps_headroom(self) -> bool {
        self.is_law() || matches!(self, Arm::Quota10ms | Arm::Quota100ms | Arm::CpuSet)
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why an arm could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not an isolation mechanism; choose from {known}")]
pub struct ArmError {
    given: String,
    known: String,
}

impl FromStr for Arm {
    type Err = ArmError;
    fn from_str(text: &str) -> Result<Self, ArmError> {
        let found = Arm::ALL.into_iter().find(|arm| arm.name() == text);
        found.ok_or_else(|| {
            let beside = Arm::ALL.into_iter().filter(|arm| arm.is_beside());
            ArmError {
                given: text.to_owned(),
                known: beside.map(Arm::name).collect::<Vec<_>>().join(", "),
            }
        })
    }
}

/// The batch work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// A command line for the shell, which is run again and again and timed to
    /// its end.
    Command(String),
    /// Work without end, a thread per CPU, which is counted in bytes.
    #[serde(untagged)]
    Counted(CountedJob),
}

/// Work without end, a thread per CPU, which is counted in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedJob {
    /// Hashing.
    Burn,
    /// Memory that grows while there is some, and is written again and again.
    Memory {
        /// It grows no further; `None` means that it grows for as long as others have enough.
        #[serde(rename = "most_bytes")]
        most: Option<Bytes>,
    },
    /// Files that are written to the disk and read back.
    Disk {
        /// They lie here, without names.
        dir: PathBuf,
    },
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Counted(counted) => counted.fmt(f),
            Job::Command(line) => write!(f, "`{line}`"),
        }
    }
}

impl fmt::Display for CountedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountedJob::Burn => f.write_str("burn (hashing, a thread per CPU)"),
            CountedJob::Memory { most: None } => {
                f.write_str("memory (as much as there is, written again and again)")
            }
            CountedJob::Memory { most: Some(most) } => {
                write!(f, "memory ({most}, written again and again)")
            }
            CountedJob::Disk { dir } => {
                write!(f, "disk (files in '{}', written and read)", dir.display())
            }
        }
    }
}

/// How much more latency may be paid: `p99+5%`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Budget {
    /// Of which quantile.
    pub quantile: Quantile,
    /// How much more, in percent of what it is without a job; above 0.
    pub more_pct: f64,
}

/// Why a budget could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a latency budget; write it like p99+5%, with one of p50, p95, p99 and p99.9, and \
     more than 0 and up to 10000 percent"
)]
pub struct BudgetError(pub String);

impl Budget {
    /// The quantiles that findings state, and so those that there can be a
    /// budget for.
    pub const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];
}

impl FromStr for Budget {
    type Err = BudgetError;
    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let read = || {
            let (quantile, more) = squeezed.split_once('+')?;
            let quantile: Quantile = quantile.parse().ok()?;
            let more_pct: f64 = more.strip_suffix('%')?.parse().ok()?;
            let stated = |q: &f64| (q - quantile.fraction()).abs() < 1e-9;
            let fits =
                Budget::QUANTILES.iter().any(stated) && more_pct > 0.0 && more_pct <= 10_000.0;
            fits.then_some(Budget { quantile, more_pct })
        };
        read().ok_or_else(|| BudgetError(text.to_owned()))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}%", self.quantile, self.more_pct)
    }
}

impl TryFrom<String> for Budget {
    type Error = BudgetError;
    fn try_from(text: String) -> Result<Self, BudgetError> {
        text.parse()
    }
}

impl From<Budget> for String {
    fn from(budget: Budget) -> String {
        budget.to_string()
    }
}

/// An arm that this machine cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingArm {
    /// Which.
    pub arm: Arm,
    /// Why, as a sentence without its full stop.
    pub reason: String,
}

/// At which rate the service is offered requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BesideRate {
    /// In percent of the rated rate.
    #[serde(rename = "load_pct")]
    Load(LoadLevel),
    /// In requests per second.
    #[serde(rename = "rate_rps")]
    Rate(Rate),
}

/// Batch work beside the service of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideloadPlan {
    /// The batch work.
    pub job: Job,
    /// The rate at which the service is asked.
    pub service: BesideRate,
    /// The arms, each visited once in every pass.
    #[schemars(extend("items" = {"anyOf": [{"$ref": "#/$defs/Arm"}, {"const": "service-again"}]}))]
    pub arms: Vec<Arm>,
    /// Those that this machine cannot do.
    pub missing_arms: Vec<MissingArm>,
    /// The part of the machine that a job may leave unused, where an arm
    /// leaves any.
    #[serde(rename = "headroom_share")]
    pub headroom: Share,
    /// The headrooms that each arm that leaves one is tried with instead,
    /// ascending; empty, and left out where it is written, unless the run is
    /// about them.
    #[serde(
        rename = "headrooms_share",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub headrooms: Vec<Share>,
    /// How much latency may be paid.
    pub budget: Budget,
    /// The CPUs that the job may use.
    pub cpus: CpuSet,
    /// A command that takes longer than this beside the service fails the run.
    #[serde(rename = "timeout_ns", with = "crate::Ns")]
    pub timeout: Duration,
}

impl SideloadPlan {
    /// What is visited once in every pass: each arm, and one that leaves a
    /// headroom with each that it is tried with.
    pub fn visits(&self) -> Vec<(Arm, Option<Share>)> {
        let one = [self.headroom];
        let headrooms = match self.headrooms.as_slice() {
            [] => &one,
            many => many,
        };
        let of = |arm: &Arm| -> Vec<(Arm, Option<Share>)> {
            match arm.keeps_headroom() {
                true => headrooms.iter().map(|h| (*arm, Some(*h))).collect(),
                false => vec![(*arm, None)],
            }
        };
        self.arms.iter().flat_map(of).collect()
    }
}

/// How far a job was held back, of which only what applies is known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JobHeld {
    /// The mean share of its CPUs that a law allowed it; `None` where no law
    /// held it, or by a mechanism that caps nothing.
    #[serde(rename = "allowed_share")]
    pub allowed: Option<Share>,
    /// The part of the time in which a law had it stand still.
    #[serde(rename = "frozen_share")]
    pub frozen: Option<Share>,
    /// The part of its quota's periods in which the quota stopped it; `None`
    /// where there is no quota, or it is not counted.
    #[serde(rename = "throttled_share")]
    pub throttled: Option<Share>,
}

/// What became of the job in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JobWork {
    /// Bytes hashed, or how often the command was run to its end.
    pub done: u64,
    /// In which time: the window, or the sum of the times of those runs; if a law
    /// let none end, the time for which one was waited for.
    #[serde(rename = "over_ns", with = "crate::Ns")]
    pub over: Duration,
    /// CPU time within the window; `None` if unknown.
    #[serde(rename = "cpu_ns")]
    pub cpu: Option<CpuTime>,
    /// How far it was held back within the window.
    pub held: JobHeld,
}

/// What a trial of a yield run is made at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YieldSetting {
    /// An open loop at this rate, without a job: calibration.
    Offer {
        #[serde(rename = "rate_rps")]
        rate: Rate,
    },
    /// An open loop at this rate with a job next to it, or one of the two.
    Beside {
        /// The rate; zero where the job is alone.
        #[serde(rename = "rate_rps")]
        rate: Rate,
        /// What runs, and how the job is held.
        arm: Arm,
        /// The part of its CPUs that the job may use at most, or that a law
        /// begins with; `None` where the arm sets no such limit.
        #[serde(rename = "allowed_share")]
        allowed: Option<Share>,
        /// The part of the machine that the arm is to leave unused; `None`
        /// where it leaves none.
        #[serde(rename = "headroom_share")]
        headroom: Option<Share>,
    },
}

impl TrialSetting for YieldSetting {
    fn rate(&self) -> Option<Rate> {
        match self {
            YieldSetting::Offer { rate } => Some(*rate),
            YieldSetting::Beside { rate, arm, .. } => arm.has_service().then_some(*rate),
        }
    }

    fn is_idle(&self) -> bool {
        self.rate().is_none()
    }
}

/// What else a trial of a yield run measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct YieldOutcome {
    /// What the job did; `None` where there was none.
    pub job: Option<JobWork>,
}

/// A trial of a yield run.
pub type YieldTrial = Trial<YieldSetting, YieldOutcome>;

/// The plan of a yield run: load offered to a service, and a job next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct YieldPlan {
    /// The load offered to the service.
    #[serde(flatten)]
    pub load: Plan,
    /// The job, and how it is held.
    pub sideload: SideloadPlan,
    /// How the load steps within each trial of a level; left out for a steady load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StepPlan")]
    pub step: Option<StepPlan>,
}

impl JobWork {
    /// Work per second; `None` where there was no time.
    pub fn rate(&self) -> Option<f64> {
        (!self.over.is_zero()).then(|| self.done as f64 / self.over.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_names_round_trip() {
        for arm in Arm::ALL {
            assert_eq!(arm.to_string().parse(), Ok(arm));
        }
        let wrong = "quota".parse::<Arm>().unwrap_err().to_string();
        assert!(wrong.contains("quota-10ms, quota-100ms, cpuset"), "{wrong}");
        assert!(!wrong.contains("alone"), "{wrong}");
    }

    #[test]
    fn a_budget_is_read_and_written() {
        for text in ["p99+5%", "p50+0.5%", "p99.9+100%"] {
            assert_eq!(text.parse::<Budget>().unwrap().to_string(), text);
        }
        for bad in [
            "", "5%", "p99", "p99+5", "p99-5%", "p99+0%", "p99+-5%", "p99+NaN%", "p99+inf%",
            "p90+5%", "p99<5ms",
        ] {
            let said = bad.parse::<Budget>().unwrap_err().to_string();
            assert!(said.contains("p99+5%"), "{bad}: {said}");
        }
    }
}
