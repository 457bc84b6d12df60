//! What is concluded.

use plimsoll_model::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// The findings of a run. CPU use is in percent of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BurstFindings {
    #[serde(flatten)]
    pub of: TargetFinding,
    /// Those of the target it is compared with; null for none.
    pub against: Option<TargetFinding>,
    /// How the two differ; null for one target.
    pub difference: Option<Difference>,
    /// CPU time was read so often: times are not known better.
    pub step_ms: f64,
    /// The counter that was read; null before the first trial.
    pub counter: Option<String>,
}

/// The findings of one target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetFinding {
    /// The target.
    pub target: String,
    /// The phases of a cycle, in order.
    pub phases: Vec<PhaseFinding>,
    /// CPU use before any load, of one trial without; Plimsoll has sent a request before it, to see
    /// whether the service answers. Null where it is not known.
    pub before_load_pct: Option<f64>,
    /// CPU use in breaks, from when the service is quiet; where it never is, in the last half of
    /// breaks.
    pub idle_burn_pct: Option<Estimate>,
    /// CPU time of bursts for each request answered, with what is burned while it waits. A burst ends
    /// with its last answer, also if that comes in the break.
    pub burn_us_per_request: Option<Estimate>,
    /// Latency of the first request after a break: the median over breaks, in which one that failed is
    /// slower than any. Null if half of them failed.
    pub first_after_break_us: Option<Estimate>,
    /// First requests after a break that failed.
    pub failed_first: usize,
    /// Median latency in bursts, without the first quarter of each: the median over cycles.
    pub steady_us: Option<Estimate>,
    /// How long after its last answer the service is quiet; null if it is not in most breaks.
    pub quiet_after_ms: Option<Estimate>,
    /// Breaks in which it was not quiet by their end.
    pub never_quiet: usize,
    /// Requests after a break that are slower than in the steady state, before it is fast again:
    /// the median over breaks.
    pub fast_after_requests: Option<Estimate>,
    /// Breaks after which it was not fast within the requests that were followed.
    pub not_fast: usize,
    /// Breaks that were measured; each has one first request after it.
    pub breaks: usize,
    /// Bursts after whose end it answered for long: it could not keep up, or a few requests were slow.
    pub late_bursts: usize,
    /// How long after the end of these its last answer came: the median; null for none.
    pub late_ms: Option<f64>,
    /// CPU use of processes that are neither the service nor Plimsoll, in bursts less that in breaks.
    pub others_more_in_bursts_pct: Option<Estimate>,
    /// Whether that is more than noise and than counters differ by: a part of the service may not be
    /// counted.
    pub part_outside: bool,
    /// Requests that failed in valid cycles.
    pub failed: u64,
    /// Valid cycles.
    pub cycles: usize,
}

/// A phase of the cycle, over all valid cycles.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseFinding {
    pub phase: PhaseKind,
    /// Its length.
    pub seconds: f64,
    /// Requests offered per second.
    pub rate_rps: f64,
    pub cpu_pct: Option<Estimate>,
    pub latency_us: PhaseLatency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    Burst,
    Break,
}

/// Latency of a phase; null in a break, and where too few requests show it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PhaseLatency {
    pub p50: Option<Estimate>,
    pub p99: Option<Estimate>,
}

/// The first target less the other, cycle by cycle.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// In percent of one CPU.
    pub idle_burn_pct: Option<Estimate>,
    pub burn_us_per_request: Option<Estimate>,
    pub first_after_break_us: Option<Estimate>,
}

/// The mean time line of a cycle: data of the chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeanLine {
    pub(super) target: String,
    /// Time in seconds from the beginning of the cycle, and CPU use in percent of one CPU.
    pub(super) points: Vec<(f64, f64)>,
}
