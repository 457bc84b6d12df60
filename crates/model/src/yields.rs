//! What batch work beside a service gains, and what the service pays.

use crate::{Arm, Budget, Estimate, HeadroomCurve, JobHeld, MissingArm, Quantile, RatedRate};
use schemars::JsonSchema;
use serde::Serialize;

/// All that can be concluded from the trials of a yield run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct YieldFindings {
    /// The highest throughput of the service alone; `None` where it was not
    /// looked for.
    pub rated: Option<RatedRate>,
    /// The rate at which it was asked, in requests per second; `None` before any trial.
    pub rate_rps: Option<f64>,
    /// How much latency may be paid.
    pub budget: Budget,
    /// Passes in which all arms are valid. An arm is compared in more: in those in which it and
    /// the service alone are.
    pub passes: u32,
    /// How far apart two equal measurements of the budget's quantile lie, at
    /// most, in percent: smaller differences are noise.
    pub noise_floor_pct: Option<f64>,
    /// The arms that were tried, but for those of a curve.
    pub arms: Vec<ArmFinding>,
    /// The arms that were tried with many headrooms; empty unless the run is
    /// about them.
    pub curve: Vec<HeadroomCurve>,
    /// The arms that this machine cannot do.
    pub missing_arms: Vec<MissingArm>,
    /// Which arm to take, and how sure that is.
    pub recommended: Recommended,
    /// The quantiles that are not compared.
    pub short_trials: Vec<ShortTrials>,
    /// What became of latency after a step of the load: the service alone
    /// first, then each arm. Empty where the load does not step.
    pub step: Vec<StepFinding>,
    /// How far above that of the service alone a slot's latency may lie for it
    /// to be back, in percent; `None` where the load does not step, or not
    /// often enough.
    pub step_band_pct: Option<f64>,
    /// The length of the slots, in milliseconds; `None` where the load does not step.
    pub step_slot_ms: Option<f64>,
    /// Whether the service alone kept up after the steps: where it did not, no
    /// time until latency is back means anything. `None` where the load does
    /// not step, or too few steps are valid.
    pub step_alone: Option<KeptUp>,
}

/// Whether the service alone kept up with the load after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptUp {
    /// It did.
    KeptUp,
    /// It answered clearly fewer requests than were intended.
    FellBehind,
    /// Its latency grew for as long as it was watched.
    KeptGrowing,
}

impl YieldFindings {
    /// All that was tried: arms, and those of the curve with each headroom in
    /// percent.
    pub fn tried(&self) -> impl Iterator<Item = (Option<f64>, &ArmFinding)> {
        let points = self.curve.iter().flat_map(|curve| &curve.points);
        let arms = self.arms.iter().map(|found| (None, found));
        arms.chain(points.map(|point| (Some(point.headroom_pct), &point.found)))
    }

    /// What is known of the arm that is recommended, with the headroom that is.
    pub fn best(&self) -> Option<&ArmFinding> {
        let best = &self.recommended;
        let is_best = |(headroom, found): &(Option<f64>, &ArmFinding)| {
            Some(found.arm) == best.arm && (headroom.is_none() || *headroom == best.headroom_pct)
        };
        self.tried().find(is_best).map(|(_, found)| found)
    }
}

/// What one arm gained and what it cost. Figures of latency are `None` for the
/// job alone, and those of the job for the service alone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmFinding {
    /// Which.
    pub arm: Arm,
    /// Work of the job, as a share of what it does alone on its CPUs.
    pub work_gained_share: Option<Estimate>,
    /// Its CPU time, as a share of what it uses alone, where a run of its command took a tenth less
    /// of it, or more: such runs may end by time and not by work, and the interval of `work_gained_share`
    /// goes down to this.
    pub work_by_cpu_share: Option<Estimate>,
    /// That and the service's work, as a share of its rated rate.
    pub total_work_share: Option<Estimate>,
    /// Quantiles of latency in microseconds, over the requests of all valid trials.
    pub latency_us: Option<LatencyUs>,
    /// Against the service alone in the same pass, in percent.
    pub latency_change_pct: Option<LatencyChange>,
    /// Microseconds of p99 paid for each percent of work gained.
    pub price_us_per_pct: Option<Estimate>,
    /// Time that the service waited for a CPU per request, in microseconds.
    pub run_delay_us_per_request: Option<f64>,
    /// CPU time of the service per request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// How far the job was held back: means over the valid trials.
    pub held: JobHeld,
    /// The cause of the extra latency; `None` where it is within the noise, or the kernel does
    /// not say.
    pub cause: Option<Cause>,
    /// The verdict under the budget; `None` for arms without a job or a service.
    pub verdict: Option<BudgetVerdict>,
    /// About how many passes the verdict needs; `None` where it is known, or that cannot be
    /// estimated.
    pub passes_to_tell: Option<u32>,
    /// Valid trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
}

/// Quantiles in microseconds; `None` for one that takes more requests than all valid trials
/// together have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LatencyUs {
    /// The median.
    pub p50: Option<f64>,
    /// 95 %.
    pub p95: Option<f64>,
    /// 99 %.
    pub p99: Option<f64>,
    /// 99.9 %.
    pub p999: Option<f64>,
}

impl LatencyUs {
    /// In the order of [`Budget::QUANTILES`].
    pub fn in_order(&self) -> [Option<f64>; 4] {
        [self.p50, self.p95, self.p99, self.p999]
    }
}

/// Changes of quantiles, in percent; `None` for one that takes more requests than a trial has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LatencyChange {
    /// Of the median.
    pub p50: Option<Estimate>,
    /// Of p95.
    pub p95: Option<Estimate>,
    /// Of p99.
    pub p99: Option<Estimate>,
    /// Of p99.9.
    pub p999: Option<Estimate>,
}

impl LatencyChange {
    /// In the order of [`Budget::QUANTILES`].
    pub fn in_order(&self) -> [Option<Estimate>; 4] {
        [self.p50, self.p95, self.p99, self.p999]
    }

    /// That of the quantile that a budget is about.
    pub fn under(&self, budget: &Budget) -> Option<Estimate> {
        let is_wanted = |q: &f64| (q - budget.quantile.fraction()).abs() < 1e-9;
        let at = Budget::QUANTILES.iter().position(is_wanted)?;
        self.in_order()[at]
    }
}

/// A quantile that is not compared, because trials are too short to show it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ShortTrials {
    /// Which, such as p99.9.
    #[schemars(with = "String")]
    pub quantile: Quantile,
    /// The fewest requests of a valid trial of the service alone.
    pub requests: u64,
    /// How many it takes.
    pub needed: u64,
}

/// The cause of extra latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The service waited for a CPU.
    Waiting,
    /// A request took more CPU time: shared caches, memory, cores, clock.
    Slower,
    /// A good part of either.
    Both,
}

/// Whether an arm keeps to the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetVerdict {
    /// All of the interval is within it.
    Within,
    /// All of the interval is beyond it, or the service never kept up.
    Beyond,
    /// The interval holds the budget, or there is none.
    #[serde(rename = "cannot_tell")]
    Inconclusive,
}

/// What an arm costs when the load steps up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepFinding {
    /// Which.
    pub arm: Arm,
    /// Valid steps; for an arm, those that the service alone made, too.
    pub steps: u32,
    /// When latency is back; `None` for the service alone.
    pub status: Option<StepStatus>,
    /// After which time it is, in milliseconds from the step; 0 for at once.
    /// Without an upper end where that may lie beyond what was watched; `None` where it is not
    /// back, or that is inconclusive.
    pub yield_time_ms: Option<Estimate>,
    /// Latency beyond that of the service alone, summed over all requests of a
    /// step, in seconds; `None` for the service alone.
    pub cost_request_seconds: Option<Estimate>,
    /// How much more the mean latency is in the last third of what was watched,
    /// in percent; `None` for the service alone.
    pub settled_change_pct: Option<Estimate>,
    /// The highest p99 of any slot after a step, in microseconds: the median over the steps.
    pub worst_slot_p99_us: Option<Estimate>,
}

/// When latency is back after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It never left: within the first slot, or always.
    AtOnce,
    /// After some time.
    After,
    /// Not while it was watched.
    NotWithinWindow,
    /// Too few valid steps, or too few requests.
    #[serde(rename = "cannot_tell")]
    Inconclusive,
}

/// Which arm to take: of those within the budget the one that gains the most. Without such an arm,
/// of those that are inconclusive and gain at least half as much as any of them, the one with the
/// lowest worst case; and if all are beyond it, of all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Recommended {
    /// Which; `None` where no arm gained anything, latency was not compared, or the load steps.
    pub arm: Option<Arm>,
    /// The headroom that it was tried with, in percent of the machine; `None` where it leaves
    /// none.
    pub headroom_pct: Option<f64>,
    /// Whether it keeps to the budget.
    pub verdict: BudgetVerdict,
    /// The most by which it may change the budget's quantile, in percent: the upper end of its
    /// interval, which is wider where it was the lowest of several that are alike. `None` without
    /// an interval.
    pub worst_case_pct: Option<f64>,
    /// Others that the run does not tell from it: their intervals overlap with its own, of work
    /// gained if it is within the budget, else of latency.
    pub alike: Vec<TriedArm>,
    /// Other arms whose verdict is inconclusive; if this one is within the budget, those that
    /// gain more.
    pub undecided: Vec<Arm>,
}

/// An arm with the headroom that it was tried with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TriedArm {
    /// Which.
    pub arm: Arm,
    /// In percent of the machine; `None` where it leaves none.
    pub headroom_pct: Option<f64>,
}
