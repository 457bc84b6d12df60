//! What a trial of the rig is made at, and what it measures.

use super::waiting::{GapPattern, WaitFigures};
use plimsoll_model::{Trial, TrialSetting};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A question of the rig.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    clap::ValueEnum,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A peak of independent jobs after a pause: run time by their number.
    Peak,
    /// Efficiency by the length of the jobs.
    Grain,
    /// The stress at which the deadlines of a schedule break.
    Break,
    /// A long stationary load: concurrency, drift, memory, and CPU use when idle.
    Steady,
    /// Wake-up latency of idle workers against the CPU time that they burn while they wait.
    Wait,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Peak => "peak",
            Part::Grain => "grain",
            Part::Break => "break",
            Part::Steady => "steady",
            Part::Wait => "wait",
        }
    }
}

/// From where a breaking point is approached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Stress rises from light load.
    Below,
    /// Stress falls from overload.
    Above,
}

impl Direction {
    pub(super) const BOTH: [Direction; 2] = [Direction::Below, Direction::Above];
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Below => "from below",
            Direction::Above => "from above",
        })
    }
}

/// What a trial is made at. Each measures a scheduler over and over for the length of
/// its window, so that the sensors can judge it: a single peak is too short for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum RigSetting {
    /// Peaks of all sizes.
    Peak {
        scheduler: String,
        #[serde(rename = "grain_ns", with = "plimsoll_model::Ns")]
        grain: Duration,
    },
    /// Graphs of all grains, each job of which needs so many others.
    Grain {
        scheduler: String,
        dependencies: u32,
    },
    /// The graph on a schedule that is so much tighter than a feasible one.
    Break {
        scheduler: String,
        direction: Direction,
        /// In millionths, so that it is read back as it was written.
        stress_ppm: u32,
    },
    /// The same graph again and again.
    Steady { scheduler: String },
    /// The scheduler alone, with nothing to do.
    Idle { scheduler: String },
    /// Idle workers that are woken at such times.
    Wait {
        policy: String,
        gaps: GapPattern,
        #[serde(rename = "mean_gap_ns", with = "plimsoll_model::Ns")]
        mean_gap: Duration,
    },
}

impl TrialSetting for RigSetting {}

impl RigSetting {
    pub(super) fn part(&self) -> Part {
        match self {
            RigSetting::Peak { .. } => Part::Peak,
            RigSetting::Grain { .. } => Part::Grain,
            RigSetting::Break { .. } => Part::Break,
            RigSetting::Steady { .. } | RigSetting::Idle { .. } => Part::Steady,
            RigSetting::Wait { .. } => Part::Wait,
        }
    }

    pub(super) fn scheduler(&self) -> &str {
        match self {
            RigSetting::Peak { scheduler, .. }
            | RigSetting::Grain { scheduler, .. }
            | RigSetting::Break { scheduler, .. }
            | RigSetting::Steady { scheduler }
            | RigSetting::Idle { scheduler } => scheduler,
            RigSetting::Wait { policy, .. } => policy,
        }
    }
}

/// What a trial measured; conclusions are in the findings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RigOutcome {
    /// The time of a job of the trial's longest grain outside of the scheduler, before
    /// the runs and after them.
    pub calibrations: Vec<Calibrated>,
    pub runs: Vec<RunFigures>,
    pub proof: ProofFigures,
    /// Where the workers' time went during the runs; `None` where the scheduler keeps
    /// no account.
    pub account: Option<AccountFigures>,
    /// How the scheduler broke its contract; it is left out from then on.
    pub failure: Option<String>,
    /// Of the last timed run.
    pub concurrency: Option<ConcurrencyCurve>,
    /// CPU time of its process while the scheduler was idle.
    #[serde(default)]
    pub idle_cpu_ns: Option<u64>,
    /// Resident memory of its process before and after the runs.
    #[serde(default)]
    pub memory_bytes: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitFigures>,
    /// Latency and slip of wake-ups on their way to the trial: values and how often each came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_ns: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slip_ns: Vec<(u64, u64)>,
}

/// How many workers were busy over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyCurve {
    /// From the start of the run to the end of its last job.
    pub ends_ns: u64,
    /// Their average number in each of some equal parts of that time.
    pub parts: Vec<f64>,
}

/// How long a job of one grain takes on the pinned CPUs without a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub grain_ns: u64,
    /// With the other CPUs idle.
    pub alone_ns: f64,
    /// With all CPUs at it: the median, which leaves out interruptions.
    pub all_busy_ns: f64,
    /// The mean of the same samples, which has them; absent from older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_busy_mean_ns: Option<f64>,
}

/// One run of a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    pub jobs: u32,
    /// The work of all jobs, in grains.
    pub weight: u64,
    pub grain_ns: u64,
    /// From the call of the scheduler to its return.
    pub elapsed_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed: Option<TimedFigures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<DeadlineFigures>,
}

/// What the start and end of each job of a run say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimedFigures {
    /// From the start of the run to the start of its first job.
    pub first_start_ns: u64,
    /// From the start of the run until each worker had started a job, if each did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_started_ns: Option<u64>,
    /// Jobs that began on a worker while another job ran there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlapping: u32,
    /// From the start of the first job to the end of the last.
    pub covered_ns: u64,
    /// Time with a job, over all workers.
    pub busy_ns: u64,
    /// Time with as many jobs running as there are workers.
    pub all_busy_ns: u64,
    /// Time with fewer than two jobs running.
    pub impeded_ns: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How a run kept its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeadlineFigures {
    /// The length of the schedule.
    pub schedule_ns: u64,
    /// Jobs that ended after their deadline.
    pub missed: u32,
    /// How long after its deadline the latest one ended; negative if all were early.
    pub worst_ns: i64,
}

/// What the runs proved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofFigures {
    pub nodes_checked: u64,
    pub violated: u64,
}

/// Where the time of all workers went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountFigures {
    pub wall_ns: u64,
    pub work_ns: u64,
    pub dispatch_ns: u64,
    pub steal_ns: u64,
    pub spin_ns: u64,
    pub parked_ns: u64,
}

impl std::ops::AddAssign for AccountFigures {
    fn add_assign(&mut self, more: AccountFigures) {
        self.wall_ns += more.wall_ns;
        self.work_ns += more.work_ns;
        self.dispatch_ns += more.dispatch_ns;
        self.steal_ns += more.steal_ns;
        self.spin_ns += more.spin_ns;
        self.parked_ns += more.parked_ns;
    }
}

impl AccountFigures {
    /// What was added after `earlier`.
    pub(super) fn since(&self, earlier: &AccountFigures) -> AccountFigures {
        AccountFigures {
            wall_ns: self.wall_ns.saturating_sub(earlier.wall_ns),
            work_ns: self.work_ns.saturating_sub(earlier.work_ns),
            dispatch_ns: self.dispatch_ns.saturating_sub(earlier.dispatch_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            spin_ns: self.spin_ns.saturating_sub(earlier.spin_ns),
            parked_ns: self.parked_ns.saturating_sub(earlier.parked_ns),
        }
    }
}

pub(super) type RigTrial = Trial<RigSetting, RigOutcome>;

/// Whether conclusions rest on it: it is valid, and its scheduler kept its contract.
pub(super) fn counts(trial: &RigTrial) -> bool {
    trial.verdict.is_valid() && trial.outcome.failure.is_none()
}
