//! What batch work beside a service gains, and what the service pays.

use crate::{Arm, Budget, Estimate, HeadroomCurve, JobHeld, MissingArm, RatedRate};
use serde::Serialize;

/// All that can be concluded from the trials of a yield run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct YieldFindings {
    /// The highest throughput of the service alone; `None` where it was not
    /// looked for.
    pub rated: Option<RatedRate>,
    /// The rate at which it was asked; `None` before any trial.
    pub rate_rps: Option<f64>,
    /// How much latency may be paid.
    pub budget: Budget,
    /// Passes of which every arm was compared: the fewest of any arm.
    pub passes: u32,
    /// How far apart two equal measurements of the budget's quantile lie, at
    /// most, in percent: what is smaller cannot be told from nothing.
    pub noise_floor_pct: Option<f64>,
    /// The arms that were tried, but for those of a curve.
    pub arms: Vec<ArmFinding>,
    /// The arms that were tried with many headrooms; empty unless the run is
    /// about them.
    pub curve: Vec<HeadroomCurve>,
    /// The arms that this machine cannot do.
    pub missing_arms: Vec<MissingArm>,
    /// Which arm gains the most within the budget.
    pub recommended: Recommended,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmFinding {
    /// Which.
    pub arm: Arm,
    /// Work of the job, as a share of what it does alone on its CPUs.
    pub work_gained_share: Option<Estimate>,
    /// That and the service's work, as a share of its rated rate.
    pub total_work_share: Option<Estimate>,
    /// Over all trials that count, merged.
    pub latency_us: Option<LatencyUs>,
    /// Against the service alone in the same pass.
    pub latency_change_pct: Option<LatencyChange>,
    /// Microseconds of p99 paid for each percent of work gained.
    pub price_us_per_pct: Option<Estimate>,
    /// Time that the service waited for a CPU, per request.
    pub run_delay_us_per_request: Option<f64>,
    /// CPU time of the service per request.
    pub cpu_us_per_request: Option<f64>,
    /// How far the job was held back: means over the trials that count.
    pub held: JobHeld,
    /// What the extra latency comes from; `None` where there is none that can
    /// be told from noise, or the kernel does not say.
    pub cause: Option<Cause>,
    /// Held against the budget; `None` for arms without a job or a service.
    pub verdict: Option<BudgetVerdict>,
    /// About how many passes it would take to tell; `None` where it is told,
    /// or cannot be estimated.
    pub passes_to_tell: Option<u32>,
    /// Trials that count.
    pub trials: u32,
    /// Trials that do not.
    pub invalid_trials: u32,
}

/// Quantiles in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyUs {
    /// The median.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
}

/// Changes of quantiles, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyChange {
    /// Of the median.
    pub p50: Estimate,
    /// Of p95.
    pub p95: Estimate,
    /// Of p99.
    pub p99: Estimate,
    /// Of p99.9.
    pub p999: Estimate,
}

impl LatencyChange {
    /// In the order of [`Budget::QUANTILES`].
    pub fn in_order(&self) -> [Estimate; 4] {
        [self.p50, self.p95, self.p99, self.p999]
    }

    /// That of the quantile that a budget is about.
    pub fn under(&self, budget: &Budget) -> Estimate {
        let wanted = budget.quantile.fraction();
        let of = Budget::QUANTILES.iter().zip(self.in_order());
        let mut near: Vec<(f64, Estimate)> = of.map(|(q, e)| ((q - wanted).abs(), e)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.first().map_or(self.p99, |(_, estimate)| *estimate)
    }
}

/// What extra latency comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The service waited for a CPU.
    Waiting,
    /// A request took more CPU time: shared caches, memory, cores, clock.
    Slower,
    /// A good part of either.
    Both,
}

/// An arm held against the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetVerdict {
    /// All of the interval is within it.
    Within,
    /// All of the interval is beyond it.
    Beyond,
    /// The interval holds the budget, or there is none.
    CannotTell,
}

/// Which arm gains the most within the budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommended {
    /// Which; `None` where none can be said to be within it.
    pub arm: Option<Arm>,
    /// The headroom that it was tried with; `None` where it leaves none.
    pub headroom_pct: Option<f64>,
    /// Whether there is an arm within the budget: `None` where that cannot be
    /// told.
    pub within_budget: Option<bool>,
    /// Arms that gain more and of which it cannot be told.
    pub undecided: Vec<Arm>,
}
