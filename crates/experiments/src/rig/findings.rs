//! What a rig concludes. Plain data.

use super::outcome::Direction;
use super::waiting::{WaitingFinding, WaitingRecommendation};
use plimsoll_model::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// What is concluded. An estimate is null where too few valid trials show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct RigFindings {
    /// Efficiency by the length of the jobs: a row for each scheduler and number of
    /// dependencies.
    pub grain: Vec<GrainFinding>,
    /// Load peaks: a row for each scheduler and length of the jobs.
    pub peak: Vec<PeakFinding>,
    /// Breaking points: a row for each scheduler and direction.
    #[serde(rename = "break")]
    pub breaking: Vec<BreakFinding>,
    /// How far the breaking points from below and from above are apart: a row for each
    /// scheduler of which both are known.
    pub gaps: Vec<GapFinding>,
    /// Steady loads: a row for each scheduler.
    pub steady: Vec<SteadyFinding>,
    /// Schedulers with nothing to do.
    pub idle: Vec<IdleFinding>,
    pub proof: ProofFinding,
    /// Where the workers' time went, for schedulers that keep an account.
    pub accounting: Vec<AccountFinding>,
    /// How much longer the same work takes in company.
    pub kernel: KernelFinding,
    /// The graphs of break and steady.
    pub graphs: Vec<GraphFinding>,
    /// Idle workers that are woken: a row for each policy, pattern and mean gap.
    pub waiting: Vec<WaitingFinding>,
    /// The waiting policy to choose; null unless waiting was measured.
    pub waiting_recommended: Option<WaitingRecommendation>,
    /// Schedulers that broke their contract, and were left out from then on.
    pub failed: Vec<FailedScheduler>,
}

/// Efficiency by the length of the jobs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrainFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// How many jobs each job needs to have ended.
    pub dependencies: u32,
    /// The shortest jobs of which at least half of the workers' time is work: the minimum
    /// effective task granularity METG(50 %) of Task Bench (Slaughter et al., SC 2020). A value
    /// below all lengths that were tried is given as the shortest of these.
    pub metg50_us: Option<Estimate>,
    /// Why there is one or none.
    pub metg50_status: MetgStatus,
    /// The same for 95 %.
    pub metg95_us: Option<Estimate>,
    pub metg95_status: MetgStatus,
    /// What a worker spends on an empty job; null unless empty jobs were tried.
    pub floor_ns_per_job: Option<Estimate>,
    /// The share of the workers' time that is work, by the length of the jobs.
    pub efficiency: Vec<EfficiencyPoint>,
    /// Valid trials.
    pub trials: usize,
}

/// Whether a length reaches an efficiency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetgStatus {
    Found,
    /// The shortest jobs that were tried reach it.
    BelowShortest,
    /// The longest jobs that were tried do not reach it.
    AboveLongest,
    /// The calibration was disturbed: the efficiency exceeds 1 by more than 5 %.
    Disturbed,
    /// No valid trial.
    Inconclusive,
}

/// The efficiency at one length.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EfficiencyPoint {
    /// The length of a job.
    pub grain_us: f64,
    /// May exceed 1 by noise.
    pub efficiency_ratio: Estimate,
}

/// Peaks of independent jobs of one length.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PeakFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// The length of a job.
    pub grain_us: f64,
    /// Workers busy on average from the first start to the last end, in large peaks: of
    /// 100 jobs or more, or the largest that was tried.
    pub average_concurrency: Option<Estimate>,
    /// The added run time of a job, relative to its work with interruptions divided by the
    /// workers. May be just below 1: the line is robust, and passes below rare long interruptions.
    pub gradient_ratio: Option<Estimate>,
    /// The run time of a peak without jobs, from the line: waking the workers after a
    /// pause of 10 ms. Below 0 where the line falls short of the small peaks.
    pub startup_us: Option<Estimate>,
    /// Whether the run times are of two kinds, which a line hides. Null if too few show it.
    pub two_populations: Option<bool>,
    /// Where the gradient changes, if it does significantly and by more than 10 %: the line
    /// is wrong on both sides. Null if no such number of jobs shows.
    pub kink_at_jobs: Option<u32>,
    /// Whether the time until all workers have a job is of two kinds, as with workers that
    /// nap. Null if too few show it.
    pub two_wake_ups: Option<bool>,
    /// The work of large peaks, in the time that plain threads take for it, divided by run
    /// time and workers. May exceed 1 by noise.
    pub efficiency_ratio: Option<Estimate>,
    /// Time with all workers busy, of the time from the first start to the last end.
    pub all_busy_share: Option<f64>,
    /// Time with fewer than two workers busy, divided by the jobs.
    pub impeded_us_per_job: Option<f64>,
    /// The time of a job in large peaks, relative to the same work with all CPUs busy and
    /// no scheduler.
    pub job_inflation_ratio: Option<Estimate>,
    /// The part of the jobs of large peaks that began on a worker while another job ran there.
    /// Above 0 the times of jobs hold those of others, and inflation is too high.
    pub overlapping_share: Option<f64>,
    /// The line through the run times with its 95 % band, at the ends of the sizes.
    pub line: Vec<LinePoint>,
    /// Valid trials.
    pub trials: usize,
}

/// A point of the line through the run times of peaks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinePoint {
    /// Jobs of the peak.
    pub jobs: f64,
    pub run_time_us: Estimate,
}

/// A breaking point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BreakFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// The name of the graph.
    pub graph: String,
    pub direction: Direction,
    /// The stress at which half of all runs miss a deadline. At 1 the schedule is a
    /// list schedule for jobs without any cost between them.
    pub stress: Option<Estimate>,
    pub status: BreakStatus,
    /// The same as a share of the stress beyond which no scheduler could keep the schedule,
    /// because its length is then `graphs[].shortest_possible`.
    pub share_of_feasible_bound: Option<Estimate>,
    /// Valid trials.
    pub trials: usize,
    /// The runs in these trials.
    pub runs: u32,
    /// How long the trials took.
    pub took_s: f64,
}

/// Why there is a breaking point or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakStatus {
    Found,
    /// The trials ended before the interval was at most 5 % wide.
    Wide,
    /// It holds at the highest stress that is feasible.
    HoldsAtHighest,
    /// It breaks at the lowest stress that is tried.
    BreaksAtLowest,
    /// No valid trial.
    Inconclusive,
}

/// The breaking point from above less that from below, in stress. Not 0: what the
/// scheduler did before matters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GapFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    pub stress_difference: Estimate,
    /// Whether its interval leaves out 0, and both breaking points are known to 5 %.
    pub is_significant: bool,
}

/// A stationary load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SteadyFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// Workers busy on average, over all runs.
    pub average_concurrency: Option<Estimate>,
    /// The median run time in the second half of a trial relative to that in its first.
    pub drift_ratio: Option<Estimate>,
    /// How much the memory of this process grew in a trial, at most; 0 if it did not.
    pub memory_growth_bytes: Option<u64>,
    /// Valid trials.
    pub trials: usize,
}

/// A scheduler with nothing to do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IdleFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// CPU time of this process relative to the time that passed; 1 is one CPU.
    pub cpu_ratio: Option<Estimate>,
    /// Valid trials.
    pub trials: usize,
}

/// What the proof of all runs came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProofFinding {
    /// Jobs of all runs, each checked to have run once and after its predecessors.
    pub nodes_checked: u64,
    /// Jobs that were lost, ran twice, ran early or had a wrong value.
    pub violations: u64,
}

/// Where the time of a scheduler's workers went, over all valid trials with work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccountFinding {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// Of what.
    pub part: super::outcome::Part,
    /// In the jobs, of the wall time of all workers.
    pub work_share: f64,
    /// Between jobs that a worker had itself.
    pub dispatch_share: f64,
    /// Looking for the jobs of others.
    pub steal_share: f64,
    /// Waiting without sleeping.
    pub spin_share: f64,
    /// Asleep.
    pub parked_share: f64,
    /// The rest.
    pub unexplained_share: f64,
}

/// The kernel by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct KernelFinding {
    /// As it was given.
    pub name: String,
    /// The time of the same work with all CPUs busy, relative to one CPU alone.
    pub all_busy_ratio: Option<Estimate>,
    /// The mean time of the same work in plain threads with all CPUs busy, relative to the
    /// median: what interruptions add. It is part of the time that schedulers are compared
    /// with. Null for a record without it, where interruptions count as losses of schedulers.
    pub interruption_ratio: Option<Estimate>,
    /// How much it differed between the beginning and the end of a trial: the median of
    /// the larger by the smaller.
    pub drift_ratio: Option<f64>,
}

/// A graph and what no schedule of it can beat, in jobs of weight 1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GraphFinding {
    /// As it was given.
    pub name: String,
    /// Its jobs.
    pub nodes: u64,
    /// Its dependencies.
    pub edges: u64,
    /// T1: the work of all jobs.
    pub total_work: u64,
    /// Tinf: the work on the longest path.
    pub critical_path: u64,
    /// What no schedule can beat on the workers of the run: max(T1/P, Tinf), added up over the
    /// parts of the graph between jobs that all others wait for.
    pub shortest_possible: u64,
    /// The length of the list schedule by critical path, which stress 1 is.
    pub list_schedule: u64,
    /// How often each rule was to apply and did; empty for a graph without rules.
    pub rules: Vec<RuleFinding>,
}

/// A rule of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuleFinding {
    /// The name of the rule.
    pub rule: String,
    /// The part of the draws that the rule is to apply to.
    pub configured_share: f64,
    /// The part that it did apply to.
    pub realised_share: f64,
    /// At how many nodes it was drawn.
    pub draws: u64,
}

/// A scheduler that was left out after it broke its contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedScheduler {
    /// Its name, or the path of its library.
    pub scheduler: String,
    /// In what.
    pub part: super::outcome::Part,
    /// What it did, in words.
    pub why: String,
}
