//! Machines side by side: made by `study`, shown by `report`.
//! Names and doc comments go to `docs/schema/compare.schema.json`.

mod caution;

pub use caution::{ComparisonCaution, LimitOf, MachineCpus};

use crate::{CapacityFinding, CapacityStatus, Estimate, Goal};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of a capacity, or of a figure that is a capacity divided by
/// something. Its owner states the unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(into = "CarriedKeys")]
pub enum Carried {
    /// It was found.
    Found(Estimate),
    /// The goal still held at this rate, the highest that was tried.
    AtLeast(f64),
    /// Inconclusive.
    Unknown,
}

/// The form of [`Carried`] in the JSON output.
#[derive(Serialize, JsonSchema)]
struct CarriedKeys {
    /// Whether it was found.
    status: CarriedStatus,
    /// The amount, in `unit`; `None` when unknown.
    amount: Option<Estimate>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CarriedStatus {
    /// It was found.
    Found,
    /// The goal was still met at the highest rate that was tried.
    AtLeast,
    /// Inconclusive.
    Unknown,
}

impl From<Carried> for CarriedKeys {
    fn from(carried: Carried) -> CarriedKeys {
        CarriedKeys {
            status: match carried {
                Carried::Found(_) => CarriedStatus::Found,
                Carried::AtLeast(_) => CarriedStatus::AtLeast,
                Carried::Unknown => CarriedStatus::Unknown,
            },
            amount: carried.estimate(),
        }
    }
}

impl From<&CapacityFinding> for Carried {
    /// In requests per second. The two loads of a cliff are an interval too.
    fn from(finding: &CapacityFinding) -> Carried {
        match (finding.status, finding.rate_rps) {
            (CapacityStatus::Found | CapacityStatus::Cliff, Some(rate)) => Carried::Found(rate),
            (CapacityStatus::NotReached, Some(rate)) => {
                Carried::AtLeast(rate.low.unwrap_or(rate.value))
            }
            (CapacityStatus::Undecided, _) | (_, None) => Carried::Unknown,
        }
    }
}

impl Carried {
    /// As an interval that may be open.
    pub fn estimate(self) -> Option<Estimate> {
        match self {
            Carried::Found(estimate) => Some(estimate),
            Carried::AtLeast(value) => Some(Estimate {
                value,
                low: Some(value),
                high: None,
            }),
            Carried::Unknown => None,
        }
    }

    /// In a unit of which there are `factor` in one of this one's.
    #[must_use]
    pub fn times(self, factor: f64) -> Carried {
        match self {
            Carried::Found(estimate) => Carried::Found(estimate.map_rising(|x| x * factor)),
            Carried::AtLeast(value) => Carried::AtLeast(value * factor),
            Carried::Unknown => Carried::Unknown,
        }
    }
}

/// Machines, or versions of a service, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What work is counted in.
    pub work_unit: WorkUnit,
    /// The machines; the others are compared with the first.
    pub machines: Vec<ComparedMachine>,
    /// Each machine but the first against the first.
    pub differences: Vec<Difference>,
    /// The threshold tables, for headrooms that the first one's has.
    pub threshold_differences: Vec<ThresholdDifference>,
    /// What a reader should know.
    pub cautions: Vec<ComparisonCaution>,
}

/// What work is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkUnit {
    /// Requests.
    Requests,
    /// Bytes hashed: the hash service's requests are as large as the machine
    /// is fast, so their number tells nothing across machines.
    HashedBytes,
}

/// One machine's figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedMachine {
    /// What it is called; no two have the same name.
    pub name: String,
    /// What its runs are called.
    #[schemars(length(min = 1))]
    pub runs: Vec<String>,
    /// The CPUs that its service may use.
    #[schemars(range(min = 1))]
    pub cpus: Option<u32>,
    /// What it costs per hour, in the same currency as the others.
    pub price_per_hour: Option<f64>,
    /// What it carries within each goal.
    pub capacity: Vec<ComparedCapacity>,
    /// The goal whose capacity the threshold table is of: that which allows
    /// the least. `None` where no goal's end was found, and the table is of the
    /// highest rate.
    pub thresholds_goal: Option<Goal>,
    /// Its threshold table.
    pub thresholds: Vec<CpuThreshold>,
}

/// What a machine carries within a goal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedCapacity {
    /// The goal.
    pub goal: Goal,
    /// The limit that the goal came to on this machine, in microseconds.
    pub limit_us: Option<f64>,
    /// CPU use in percent at the capacity.
    pub cpu_pct: Option<Estimate>,
    /// Power at the capacity.
    pub power_watts: Option<f64>,
    /// What each of its runs carries, in the unit of the figure `capacity`.
    #[schemars(length(min = 1))]
    pub runs: Vec<Carried>,
    /// The capacity by each measure that is known.
    pub figures: Vec<Figure>,
}

/// A capacity by one measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// What it is divided by.
    pub measure: Measure,
    /// The unit of the amount.
    pub unit: FigureUnit,
    /// How much, and whether that is known.
    #[serde(flatten)]
    pub carried: Carried,
}

/// What a capacity is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Nothing.
    Capacity,
    /// The number of CPUs.
    PerCpu,
    /// The price of a second: work per unit of money.
    PerPrice,
    /// The power: work per joule.
    PerWatt,
}

/// The unit of a [`Figure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Requests per second, or that per CPU.
    Rps,
    /// Requests per unit of money.
    RequestsPerPrice,
    /// Requests per joule.
    RequestsPerJoule,
    /// Bytes per second, or that per CPU.
    BytesPerSecond,
    /// Bytes per unit of money.
    BytesPerPrice,
    /// Bytes per joule.
    BytesPerJoule,
}

impl FigureUnit {
    /// The unit of work by a measure.
    pub fn of(work: WorkUnit, measure: Measure) -> FigureUnit {
        match (work, measure) {
            (WorkUnit::Requests, Measure::Capacity | Measure::PerCpu) => FigureUnit::Rps,
            (WorkUnit::Requests, Measure::PerPrice) => FigureUnit::RequestsPerPrice,
            (WorkUnit::Requests, Measure::PerWatt) => FigureUnit::RequestsPerJoule,
            (WorkUnit::HashedBytes, Measure::Capacity | Measure::PerCpu) => {
                FigureUnit::BytesPerSecond
            }
            (WorkUnit::HashedBytes, Measure::PerPrice) => FigureUnit::BytesPerPrice,
            (WorkUnit::HashedBytes, Measure::PerWatt) => FigureUnit::BytesPerJoule,
        }
    }
}

/// A row of a threshold table, as far as machines are compared by it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CpuThreshold {
    /// Part of the capacity that is left, in percent.
    pub headroom_pct: f64,
    /// The CPU use in percent at which so much is left.
    pub cpu_pct: Estimate,
}

/// Whether a machine is better than the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceVerdict {
    /// More, beyond chance.
    Better,
    /// Less, beyond chance.
    Worse,
    /// The intervals decide neither.
    #[serde(rename = "cannot_tell")]
    Inconclusive,
}

/// A machine against the first, by one measure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The machine.
    pub name: String,
    /// The first one.
    pub against: String,
    /// The goal that both keep.
    pub goal: Goal,
    /// By what.
    pub measure: Measure,
    /// Its figure over the first one's; `None` if unknown.
    pub ratio: Option<Estimate>,
    /// By how much runs of one machine differ; `None` where there is no ratio.
    pub run_to_run: Option<RunToRun>,
    /// What follows.
    pub verdict: DifferenceVerdict,
    /// Why there is no interval; `None` where there is one.
    pub why: Option<NoInterval>,
}

/// By how much runs of one machine differ, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RunToRun {
    /// How it is known.
    pub from: RunToRunFrom,
    /// The standard deviation, in percent.
    pub deviation_pct: f64,
    /// The degrees of freedom of Student's t; `None` where the deviation is
    /// taken as known.
    pub degrees_of_freedom: Option<f64>,
}

/// How the variation from run to run is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunToRunFrom {
    /// From how the runs differ. What varies within a run is part of it.
    Measured,
    /// The user stated it.
    Stated,
    /// Too few runs to measure it.
    Assumed,
}

/// Why a difference has no interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoInterval {
    /// The reason.
    pub code: NoIntervalCode,
    /// The machines, or the runs of machines with several, that it holds for.
    pub machines: Vec<String>,
}

/// The reason why a difference has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoIntervalCode {
    /// The capacity is inconclusive.
    UnknownCapacity,
    /// The goal was met at the highest load tried: the capacity is a lower bound.
    LowerBound,
    /// The capacity has no interval.
    TooFewTrials,
    /// The interval of a capacity reaches down to 0.
    ReachesZero,
}

/// CPU use at a headroom against the first machine's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ThresholdDifference {
    /// The machine.
    pub name: String,
    /// The first one.
    pub against: String,
    /// The headroom, in percent of the capacity.
    pub headroom_pct: f64,
    /// By how many percentage points its CPU use may be higher.
    pub cpu_points: Estimate,
    /// Better: its CPU use may be higher with the same headroom left. That is
    /// no more work, but a larger part of it may be used.
    pub verdict: DifferenceVerdict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_becomes_a_value_a_bound_or_unknown() {
        let of = |status, rate_rps| {
            Carried::from(&CapacityFinding {
                goal: Goal::default(),
                status,
                rate_rps,
                other_times_rps: None,
                cpu_pct: None,
                confirmed: None,
                limit_us: None,
                missed_by: None,
                all_requests: None,
                note: None,
            })
        };
        let rate = Estimate::within(100.0, 95.0, 105.0);
        assert_eq!(of(CapacityStatus::Found, Some(rate)), Carried::Found(rate));
        assert_eq!(of(CapacityStatus::Cliff, Some(rate)), Carried::Found(rate));
        assert_eq!(
            of(CapacityStatus::NotReached, Some(rate)),
            Carried::AtLeast(95.0)
        );
        assert_eq!(of(CapacityStatus::Undecided, Some(rate)), Carried::Unknown);
        assert_eq!(of(CapacityStatus::Found, None), Carried::Unknown);
    }

    #[test]
    fn a_lower_bound_has_no_upper_end() {
        let doubled = Carried::AtLeast(100.0).times(2.0).estimate().unwrap();
        assert_eq!((doubled.low, doubled.high), (Some(200.0), None));
    }
}
