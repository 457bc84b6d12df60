//! What was concluded: made by `study`, shown by `report`.
//!
//! The serialized names are a contract with those who read the JSON output;
//! `docs/schema/output.schema.json` states it.

use crate::{Errors, Goal};
use serde::Serialize;

/// All that is concluded from a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// The rate that all levels are parts of.
    pub rated: Option<RatedRate>,
    /// CPU use of the machine with no load.
    pub idle_cpu_pct: Option<f64>,
    /// Latency below 20 % CPU use: what relative goals are held against.
    pub light_load: Option<LightLoad>,
    /// One row per level, ascending.
    pub levels: Vec<LevelFinding>,
    /// One row per goal.
    pub capacity: Vec<CapacityFinding>,
    /// How far CPU use tells the truth about work.
    #[serde(flatten)]
    pub headroom: Headroom,
    /// One row per number of copies, ascending.
    pub copies: Vec<CopiesFinding>,
}

/// The throughput at saturation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatedRate {
    /// The rate.
    pub rate_rps: f64,
    /// Whether the service was what ended it. If not, the generator was, and
    /// the service may carry more.
    pub limited_by_service: bool,
}

/// Latency at light load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LightLoad {
    /// The highest level that counts as light.
    pub up_to_load_pct: f64,
    /// p99 over all valid trials at light load.
    pub p99_us: f64,
}

/// Latency quantiles in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencySummary {
    /// 50 %.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

/// Slip quantiles in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlipSummary {
    /// 50 %.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
}

/// All valid trials at one level, merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelFinding {
    /// Intended requests per second.
    pub offered_rps: f64,
    /// Good answers per second; `None` without a valid trial.
    pub achieved_rps: Option<f64>,
    /// Offered rate in percent of the rated rate.
    pub load_pct: f64,
    /// CPU use of the service's CPUs (of the machine where the service's are
    /// not known), the generator's own time taken out.
    pub cpu_pct: Option<f64>,
    /// CPU time of the service per good answer.
    pub cpu_us_per_request: Option<f64>,
    /// Time that the service's threads waited for a CPU, per good answer.
    pub run_delay_us_per_request: Option<f64>,
    /// From the intended start.
    pub latency_us: Option<LatencySummary>,
    /// What the generator itself was late by.
    pub slip_us: Option<SlipSummary>,
    /// Failed requests by kind.
    pub errors: Errors,
    /// Requests without an answer when their trial ended.
    pub unfinished: u64,
    /// Failed requests as a share of the intended ones.
    pub error_pct: Option<f64>,
    /// CPU use of the generator's threads.
    pub generator_cpu_pct: Option<f64>,
    /// Valid trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
    /// Why they are invalid, each kind of reason once.
    pub invalid_reasons: Vec<String>,
}

/// How the search for a capacity ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityStatus {
    /// Between two measured levels, by interpolation.
    Found,
    /// The goal still held at the highest level.
    NotReached,
    /// The goal was missed already at the lowest level.
    BelowLowest,
    /// The trials do not tell, for the reason in `note`.
    Undecided,
}

/// The highest rate that keeps a goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacityFinding {
    /// The goal.
    pub goal: Goal,
    /// How the search ended.
    pub status: CapacityStatus,
    /// The highest rate that keeps the goal (`found`), or that was seen to
    /// keep it (`not_reached`).
    pub rate_rps: Option<f64>,
    /// CPU use at that rate.
    pub cpu_pct: Option<f64>,
    /// The limit that a relative goal came to, in microseconds.
    pub limit_us: Option<f64>,
    /// What a reader should know about it.
    pub note: Option<String>,
}

/// How far CPU use tells the truth about work, or why that is not known.
///
/// Serialized as two keys, of which one is null: `headroom_index` and
/// `headroom_index_missing`. The rates are not serialized: the level table
/// holds those that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "HeadroomKeys")]
pub enum Headroom {
    /// The trials tell.
    Known {
        /// H = Xmax / (X50 / 0.5): 1 when work is proportional to CPU use, less
        /// when the second half of CPU use carries less work than the first.
        /// Finite and above 0.
        index: f64,
        /// X50 / 0.5: what would be carried at 100 % CPU use if CPU use told
        /// the truth; twice what is carried at 50 %.
        promised_rps: f64,
        /// Xmax: the highest rate carried at any level whose CPU use is known.
        most_rps: f64,
    },
    /// The trials do not tell.
    Unknown {
        /// Why.
        why: NoHeadroom,
    },
}

/// Why there is no headroom index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoHeadroom {
    /// No load level was measured, as in a run of copies.
    NoLevel,
    /// No level has a valid trial.
    NoValidTrial,
    /// CPU use could not be read.
    CpuUnreadable,
    /// The service was not seen driven to its end, so that the highest rate is
    /// not the most it carries.
    NotSaturated,
    /// CPU use never got beyond 50 % although the service was at its end:
    /// something else than these CPUs ended it.
    CpuNeverBeyondHalf,
    /// No level that carried anything was within 15 points of 50 % CPU use.
    NoLevelNearHalf,
}

/// The form of [`Headroom`] in the JSON output.
#[derive(Serialize)]
struct HeadroomKeys {
    headroom_index: Option<f64>,
    headroom_index_missing: Option<NoHeadroom>,
}

impl From<Headroom> for HeadroomKeys {
    fn from(headroom: Headroom) -> Self {
        let (headroom_index, headroom_index_missing) = match headroom {
            Headroom::Known { index, .. } => (Some(index), None),
            Headroom::Unknown { why } => (None, Some(why)),
        };
        HeadroomKeys {
            headroom_index,
            headroom_index_missing,
        }
    }
}

/// A number of copies at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopiesFinding {
    /// How many.
    pub copies: u32,
    /// Mean time of a copy.
    pub seconds: f64,
    /// The longest time of a copy.
    pub slowest_seconds: f64,
    /// CPU use of the machine meanwhile.
    pub cpu_pct: Option<f64>,
    /// Time of one copy alone / time of a copy among these.
    pub efficiency_ratio: Option<f64>,
    /// Trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
}
