//! What was concluded: made by `study`, shown by `report`.
//! Names and doc comments go to `docs/schema/output.schema.json`.

use crate::{
    CapacityFinding, Doubt, Errors, Estimate, Invalid, LightLoad, RequestsFinding, SmtFinding,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// All that is concluded from a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Findings {
    /// The rate that all levels are parts of; `None` when no trial gave it.
    pub rated: Option<RatedRate>,
    /// CPU use of the machine with no load, in percent.
    pub idle_cpu_pct: Option<f64>,
    /// Latency below 20 % CPU use, of which relative goals are multiples.
    pub light_load: Option<LightLoad>,
    /// One entry per level, ascending.
    pub levels: Vec<LevelFinding>,
    /// Rows of an imported table whose CPU use is taken for another than it
    /// gives, because CPU use falls there although the rate rises.
    pub cpu_pooled: Vec<PooledCpu>,
    /// What is odd about the figures that all this follows from.
    pub doubts: Vec<Doubt>,
    /// One entry per goal, in the order of the goals.
    pub capacity: Vec<CapacityFinding>,
    /// How proportional work is to CPU use.
    #[serde(flatten)]
    pub headroom: Headroom,
    /// The rate that the thresholds are parts of, in requests per second: the lowest capacity
    /// that was found, or the highest rate where every goal was kept.
    pub thresholds_of_rps: Option<Estimate>,
    /// Which CPU use leaves which part of that rate free, by ascending headroom; empty when not
    /// known.
    pub thresholds: Vec<ThresholdFinding>,
    /// What grows faster than the load, per request, fastest first.
    pub hints: Vec<HintFinding>,
    /// Whether latency depends on the load before; `None` without levels.
    pub direction: Option<DirectionFinding>,
    /// What a second busy thread of a core adds.
    pub smt: SmtFinding,
    /// Of several requests, each by itself at one load; absent for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestsFinding>,
}

/// All that is concluded from a run of copies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CopiesFindings {
    /// CPU use of the machine without a copy, in percent.
    pub idle_cpu_pct: Option<f64>,
    /// One entry per number of copies, ascending.
    pub copies: Vec<CopiesFinding>,
    /// What a second busy thread of a core adds.
    pub smt: SmtFinding,
}

/// A CPU use that was put together with its neighbours', so that the curve of
/// work against CPU use never falls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PooledCpu {
    /// The rate, in requests per second.
    pub rate_rps: f64,
    /// CPU use in percent as it was given.
    pub measured_cpu_pct: f64,
    /// What it is taken for in the findings, in percent.
    pub fitted_cpu_pct: f64,
}

/// The throughput at saturation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatedRate {
    /// The rate, in requests per second.
    pub rate_rps: f64,
    /// Whether a valid trial shows the service saturated. If not, the load generator saturated
    /// first or other load disturbed (`disturbed`), and the service may carry more.
    pub limited_by_service: bool,
    /// Whether only trials in which others used the CPUs show saturation.
    pub disturbed: bool,
    /// What kept throughput from being higher.
    pub limited_by: LimitedBy,
    /// The client's connections at the levels; `None` without a client that has any.
    pub connections: Option<u32>,
    /// Whether it was given and not measured.
    pub given: bool,
    /// Set when no level was carried: then all of them overload the service, and say little
    /// about it; else `None`.
    pub never_carried: Option<NeverCarried>,
}

/// What kept throughput from being higher than the rated rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The service.
    Service,
    /// The client's connections, or a service whose limit lies where theirs does.
    Connections,
    /// The load generator sent late, and had CPU time left: something held it up.
    Generator,
    /// The load generator sent late, because its CPUs were busy.
    ClientCpu,
    /// The service or others that used the CPUs: only disturbed trials show a limit.
    OtherLoad,
    /// Nothing that was seen.
    Unknown,
}

/// Levels of which none was carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NeverCarried {
    /// The lowest rate that was offered, in requests per second.
    pub lowest_offered_rps: f64,
    /// The most that was answered, in requests per second.
    pub most_achieved_rps: f64,
}

/// Latency quantiles in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SlipSummary {
    /// 50 %.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
}

/// All valid trials at one level, merged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LevelFinding {
    /// Intended requests per second.
    pub offered_rps: f64,
    /// Good answers per second; `None` without a valid trial.
    pub achieved_rps: Option<f64>,
    /// Offered rate in percent of the rated rate.
    pub load_pct: f64,
    /// CPU use in percent of the service's CPUs (of the machine where these are not known),
    /// without the load generator's own time.
    pub cpu_pct: Option<f64>,
    /// CPU time of the service per good answer, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Time that the service's threads waited for a CPU per good answer, in microseconds.
    pub run_delay_us_per_request: Option<f64>,
    /// From the intended start of a request to the last byte of a good answer, in microseconds.
    pub latency_us: Option<LatencySummary>,
    /// How late the load generator itself was, in microseconds.
    pub slip_us: Option<SlipSummary>,
    /// Failed requests by kind.
    pub errors: Errors,
    /// Requests without an answer when their trial ended.
    pub unfinished: u64,
    /// Failed requests in percent of the intended ones.
    pub error_pct: Option<f64>,
    /// CPU use of the load generator's threads, in percent of their CPUs.
    pub generator_cpu_pct: Option<f64>,
    /// Valid trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
    /// Why they are invalid, each kind of reason once: the last of its kind.
    pub invalid_reasons: Vec<Invalid>,
}

/// The headroom index, or why it is not known. Serialized as keys of the findings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(into = "HeadroomKeys")]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one in all findings of a run"
)]
pub enum Headroom {
    Known(HeadroomIndex),
    Unknown { why: NoHeadroom },
}

/// Work at full load against what CPU use at half load promised.
///
/// H = Xmax / (X50 / 0.5): 1 when work is proportional to CPU use, less when
/// the second half of CPU use carries less work than the first.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
pub struct HeadroomIndex {
    /// Xmax, in requests per second.
    pub max_rate_rps: Estimate,
    /// CPU use in percent of the level nearest to 50 %.
    pub nearest_cpu_pct: f64,
    /// H with X50 / 0.5 taken as X / u of the level nearest to 50 % CPU use,
    /// as published.
    pub nearest_level_ratio: Estimate,
    /// That X / u: what the level promises at 100 % CPU use if work is
    /// proportional to it, in requests per second.
    pub linear_expectation_rps: Estimate,
    /// H interpolated at exactly 50 % CPU use; `None` when the levels do not
    /// reach down to it.
    pub interpolated_ratio: Option<Estimate>,
    /// The rate at exactly 50 % CPU use, in requests per second.
    pub half_rate_rps: Option<Estimate>,
    /// The work beyond 50 % CPU use as a share of the work up to there:
    /// (Xmax - X50) / X50, which is 2 H - 1. 1 when work is proportional.
    pub extra_over_half_ratio: Option<Estimate>,
}

/// Why there is no headroom index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoHeadroom {
    /// No load level was measured, as in a run of copies.
    NoLevel,
    /// No level has a valid trial.
    NoValidTrial,
    /// CPU use could not be read.
    CpuUnreadable,
    /// The service was not saturated, so that the highest rate is not the most it carries.
    NotSaturated,
    /// CPU use never got beyond 50 % although the service was saturated: something else than
    /// these CPUs limits it.
    CpuNeverBeyondHalf,
    /// No level that carried anything was within 15 points of 50 % CPU use.
    NoLevelNearHalf,
}

/// The form of [`Headroom`] in the JSON output.
#[derive(Serialize, JsonSchema)]
struct HeadroomKeys {
    /// The highest rate over what CPU use at half load promised: (rate at 50 % CPU use / 0.5).
    /// 1 when work is proportional to CPU use, less when the second half of CPU use carries less
    /// work than the first. `None` for the reason in headroom_index_missing.
    headroom_index: Option<IndexKeys>,
    /// Why there is no headroom index; `None` when there is one.
    headroom_index_missing: Option<NoHeadroom>,
    /// What the level nearest to 50 % CPU use promises at 100 % if work is proportional to CPU
    /// use, in requests per second; `None` without a headroom index.
    linear_expectation_rps: Option<f64>,
    /// Its 95 % interval.
    linear_expectation_interval_rps: Option<(f64, f64)>,
    /// The work beyond 50 % CPU use over the work up to there: 1 when work is proportional to CPU
    /// use. `None` when the levels do not reach down to 50 %.
    #[schemars(range(min = -1.0))]
    extra_over_half_ratio: Option<f64>,
    /// Its 95 % interval.
    extra_over_half_interval_ratio: Option<(f64, f64)>,
}

#[derive(Serialize, JsonSchema)]
struct IndexKeys {
    /// With rate over CPU use of the level nearest to 50 % CPU use.
    nearest_level: f64,
    /// Its 95 % interval.
    nearest_level_interval: Option<(f64, f64)>,
    /// CPU use at that level, in percent.
    nearest_cpu_pct: f64,
    /// With the rate interpolated at exactly 50 % CPU use; `None` when the levels do not reach
    /// down to it.
    interpolated: Option<Estimate>,
}

impl From<Headroom> for HeadroomKeys {
    fn from(headroom: Headroom) -> Self {
        let (index, missing) = match headroom {
            Headroom::Known(index) => (Some(index), None),
            Headroom::Unknown { why } => (None, Some(why)),
        };
        let linear = index.map(|i| i.linear_expectation_rps);
        let extra = index.and_then(|i| i.extra_over_half_ratio);
        HeadroomKeys {
            headroom_index: index.map(|i| IndexKeys {
                nearest_level: i.nearest_level_ratio.value,
                nearest_level_interval: i.nearest_level_ratio.interval(),
                nearest_cpu_pct: i.nearest_cpu_pct,
                interpolated: i.interpolated_ratio,
            }),
            headroom_index_missing: missing,
            linear_expectation_rps: linear.map(|e| e.value),
            linear_expectation_interval_rps: linear.and_then(|e| e.interval()),
            extra_over_half_ratio: extra.map(|e| e.value),
            extra_over_half_interval_ratio: extra.and_then(|e| e.interval()),
        }
    }
}

/// A true headroom, and what the linear rule takes for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ThresholdFinding {
    /// Part of the capacity that is to stay free, in percent.
    pub headroom_pct: f64,
    /// The rate that leaves it, in requests per second.
    pub rate_rps: f64,
    /// CPU use in percent at that rate. To keep at least this headroom, act
    /// at the lower end. `None` when the rate is outside the measured range.
    pub cpu_pct: Option<Estimate>,
    /// The service's own CPU time at that rate, in thousandths of a CPU: what the cgroup of a
    /// container counts and a HorizontalPodAutoscaler sees. `None` when it is not known.
    pub own_millicores: Option<Estimate>,
    /// The CPU use in percent that the linear rule predicts: 100 less the headroom.
    pub linear_cpu_pct: f64,
    /// The true headroom in percent that the linear rule's CPU use leaves.
    /// Below zero where the promise is broken before that CPU use is seen.
    /// `None` when that CPU use was not measured.
    pub linear_headroom_pct: Option<Estimate>,
    /// The linear rule's error in points: the headroom it leaves less the one
    /// that was wanted. Below zero it is unsafe, above it wastes machines.
    pub linear_error_points: Option<Estimate>,
}

/// A quantity per request that grows faster than the load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HintFinding {
    /// What grows, in words.
    pub counter: String,
    /// The unit of the two values.
    pub unit: &'static str,
    /// By how much its logarithm grows per e-fold of rate; 0 for what is
    /// proportional to the work.
    pub slope: Estimate,
    /// Per request at the lowest load, in `unit`.
    pub at_lowest: f64,
    /// Per request at the highest load, in `unit`.
    pub at_highest: f64,
    /// The lowest load, in requests per second.
    pub from_rps: f64,
    /// The highest load, in requests per second.
    pub to_rps: f64,
}

/// Whether latency at a load depends on the load before it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DirectionFinding {
    /// p99 after a higher load over p99 after a lower one, over all levels.
    pub down_over_up_ratio: Option<Estimate>,
    /// Levels that were met from both sides.
    pub levels: u32,
    /// The conclusion.
    pub verdict: DirectionVerdict,
    /// How much comes from restarting the service; `None` without three starts.
    pub restarts: Option<RestartsFinding>,
}

/// The scatter of p99 between starts of the service and within one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RestartsFinding {
    /// How many starts.
    pub restarts: u32,
    /// How many trials, at levels that every start was tried at.
    pub trials: u32,
    /// Standard deviation of p99 between starts, in percent of p99.
    pub between_pct: f64,
    /// Standard deviation of p99 between trials of one start, in percent.
    pub within_pct: f64,
    /// The part of the variance that comes from restarts, 0 to 1.
    pub between_share: Estimate,
}

/// Whether up and down differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionVerdict {
    /// The interval of the ratio does not hold 1.
    Different,
    /// It does, and it is narrow.
    NoDifferenceSeen,
    /// Too few levels were met from both sides.
    #[serde(rename = "cannot_tell")]
    Inconclusive,
}

/// A number of copies at once.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CopiesFinding {
    /// How many.
    pub copies: u32,
    /// Mean time of a copy, in seconds.
    pub seconds: f64,
    /// The longest time of a copy, in seconds.
    pub slowest_seconds: f64,
    /// CPU use of the machine meanwhile, in percent.
    pub cpu_pct: Option<f64>,
    /// Time of one copy alone / time of a copy among these; without an interval unless there are
    /// two valid trials of either.
    pub efficiency_ratio: Option<Estimate>,
    /// Valid trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
}

impl CopiesFinding {
    /// Twenty ticks of the kernel's tables (USER_HZ): in less, CPU use is known to no better than 5 %.
    pub const SHORTEST: Duration = Duration::from_millis(200);
}
