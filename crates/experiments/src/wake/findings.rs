//! What a run concludes. Plain data.

use super::program::Program;
use plimsoll_model::{Arrivals, CpuSet, Estimate, IdlePolicy, Placement, Wait};
use schemars::JsonSchema;
use serde::Serialize;

/// What is concluded. An estimate is null where too few valid trials show it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeFindings {
    /// A row for each policy and kind of wake-up.
    pub wakeups: Vec<WakeupFinding>,
    /// A row for each policy: what it burns, and what it does to latency on average.
    pub policies: Vec<PolicyFinding>,
    /// Idle states of the CPUs on which threads were woken, but those that poll.
    pub states: Vec<StateFinding>,
    /// What a program measured, a row for each policy; empty without --workload.
    pub programs: Vec<ProgramFinding>,
    pub noise: NoiseFinding,
    pub recommended: RecommendedPolicy,
    /// The parts of a wake-up: leaving the idle state, activation, run queue.
    pub split: SplitFinding,
    /// What was not measured, and why: a sentence each.
    pub left_out: Vec<String>,
}

/// The latency of one kind of wake-up under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupFinding {
    pub policy: IdlePolicy,
    /// How the thread waits.
    pub wait: Wait,
    /// Where its waker runs.
    pub placement: Placement,
    /// From one wake-up to the next, on average.
    pub gap_us: f64,
    pub arrivals: Arrivals,
    /// The waker's CPU; null for a timer.
    pub waker_cpu: Option<u32>,
    /// The CPU of the thread that was woken.
    pub wakee_cpu: u32,
    /// From the call that woke the thread, or the intended time of a timer, until it ran.
    pub latency_us: WakeLatency,
    /// Why a quantile is null; null if none is.
    pub too_few: Option<String>,
    /// Wake-ups for which the thread was asleep; the others found it still awake.
    pub asleep_pct: Option<f64>,
    /// Wake-ups in valid trials.
    pub wakeups: u64,
    /// Valid trials.
    pub trials: usize,
}

/// Quantiles: the mean of those of the valid trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct WakeLatency {
    pub p50: Option<Estimate>,
    pub p90: Option<Estimate>,
    pub p99: Option<Estimate>,
    pub p999: Option<Estimate>,
    /// The longest seen; it has no interval, for a longer run would have seen a longer one.
    pub max: Option<Estimate>,
}

/// What a policy burns and saves, over the wake-ups that every policy has a p99 of.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PolicyFinding {
    pub policy: IdlePolicy,
    /// How CPUs were kept awake; null for none.
    pub means: Option<String>,
    /// CPU time that the host sees: of waker and woken thread, of threads that keep CPUs awake, and
    /// of idle CPUs that poll; percent of the time of all CPUs.
    pub burn_pct: Option<Estimate>,
    /// How much more that is than as it is.
    pub extra_burn_pct: Option<Estimate>,
    /// Power of all packages.
    pub power_w: Option<Estimate>,
    /// How much more that is than as it is.
    pub extra_power_w: Option<Estimate>,
    /// Why there is no power; null if there is.
    pub power_absent: Option<String>,
    /// The mean of the p99 of the wake-ups.
    pub p99_us: Option<Estimate>,
    /// The highest p99 of the wake-ups.
    pub highest_p99_us: Option<Estimate>,
    /// The p99 of the wake-ups by that as it is: the ratio of geometric means. Null as it is.
    pub p99_ratio: Option<Estimate>,
    /// How much lower the mean p99 is than as it is.
    pub p99_saved_us: Option<Estimate>,
    /// That by what is burned more: microseconds of p99 for each percent. Null unless more is burned
    /// than noise.
    pub p99_us_per_burn_pct: Option<Estimate>,
    /// The same for each watt.
    pub p99_us_per_watt: Option<Estimate>,
    /// How much slower the clock of busy CPUs is than as it is: turbo that is lost.
    pub clock_loss_pct: Option<Estimate>,
    /// Why there is none; null if there is.
    pub clock_absent: Option<String>,
    /// The p99 against that as it is, by its ratio. Null if too few trials show it.
    pub p99_change: Option<Change>,
    /// Valid trials.
    pub trials: usize,
}

/// What leaving an idle state takes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateFinding {
    /// As the driver calls it.
    pub name: String,
    /// What the driver says.
    pub advertised_exit_us: f64,
    /// How much later the median wake-up is than with all CPUs kept awake, where the CPU was in this
    /// state for at least 80 % of its sleeps.
    pub measured_exit_us: Option<Estimate>,
    /// Why there is none; null if there is.
    pub absent: Option<String>,
    /// How often the CPUs of woken threads entered it, in trials as it is.
    pub entered: u64,
}

/// How far two equal trials are apart (A/A).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct NoiseFinding {
    /// The p99 of the second visit as it is by that of the first.
    pub p99_ratio: Option<Estimate>,
    /// By how much the mean p99 of the second visit as it is exceeds that of the first.
    pub p99_us: Option<Estimate>,
    /// The same of the CPU time burned.
    pub burn_pct: Option<Estimate>,
}

/// The policy to choose.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecommendedPolicy {
    /// Null where none can be recommended.
    pub policy: Option<IdlePolicy>,
    pub because: Because,
    /// In a sentence.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// By the whole interval, and by more than two equal visits differ.
    Lower,
    Higher,
    NotSignificant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It burns least of those that keep the budget and the latency that were asked for.
    WithinLimits,
    /// It burns least of those whose p99, by its interval, may be at most 1.1 times the lowest.
    Knee,
    /// No policy has a lower p99 than as it is, beyond noise.
    NoneDiffers,
    /// None keeps the budget and the latency that were asked for.
    NoneWithinLimits,
    /// Too few valid trials.
    Inconclusive,
    /// A program was measured, whose figures the table compares.
    ProgramMeasured,
}

/// What a program measured under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProgramFinding {
    pub policy: IdlePolicy,
    pub program: Program,
    /// The CPUs that it is restricted to: those of the gate.
    pub cpus: CpuSet,
    /// The mean over valid trials of each figure that it printed.
    pub figures: Vec<ProgramFigureFinding>,
    /// CPU time of all tasks, and idle time spent polling; percent of the time of all CPUs.
    pub burn_pct: Option<Estimate>,
    /// Power of all packages; null without an energy counter.
    pub power_w: Option<Estimate>,
    /// Valid trials.
    pub trials: usize,
}

/// A figure that a program printed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProgramFigureFinding {
    /// p50, p90, p99 and max of schbench; average and stddev of pgbench.
    pub name: String,
    /// us or ms.
    pub unit: String,
    pub value: Option<Estimate>,
    /// The ratio to as-is, of geometric means over the passes. For as-is again it is the noise floor
    /// (A/A). Null for as-is.
    pub ratio: Option<Estimate>,
    /// Whether the ratio is significant. Null for as-is and as-is again, and without an interval.
    pub change: Option<Change>,
}

/// The parts of a wake-up, from the kernel's tracepoints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SplitFinding {
    /// Policies of which none was recorded, and why; null if there is no such policy.
    pub absent: Option<String>,
    /// A row for each policy and kind of wake-up of which some were recorded.
    pub rows: Vec<SplitRow>,
}

/// The parts of one kind of wake-up under one policy: the mean over the passes of that over the
/// middle half of a pass, by their total. The parts add up to the total.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SplitRow {
    pub policy: IdlePolicy,
    /// How the thread waits.
    pub wait: Wait,
    /// Where its waker runs.
    pub placement: Placement,
    /// From one wake-up to the next, on average.
    pub gap_us: f64,
    pub arrivals: Arrivals,
    /// From sched_waking until the CPU has left its idle state (cpu_idle); 0 for a CPU in none.
    pub idle_exit_us: Option<Estimate>,
    /// Until the thread is in the run queue (sched_wakeup).
    pub activation_us: Option<Estimate>,
    /// Until it runs (sched_switch).
    pub run_queue_us: Option<Estimate>,
    /// The sum. It has neither the system calls of waker and thread, nor their way into and out of
    /// the kernel, but has what recording costs.
    pub total_us: Option<Estimate>,
    /// Wake-ups of a CPU in an idle state.
    pub idle_pct: f64,
    /// Wake-ups that were recorded.
    pub wakeups: usize,
}
