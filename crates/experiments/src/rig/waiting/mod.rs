//! How idle workers wait: wake-up latency against CPU time burned while waiting.

pub(super) mod args;
mod recommend;
mod show;
mod study;
#[cfg(test)]
mod tests;

pub(super) use show::{answer, chart, notes, table, undecided};
pub(super) use study::findings;

use super::outcome::{RigOutcome, RigSetting};
use super::plan::RigPlan;
use plimsoll_model::{Estimate, Goal};
use plimsoll_study::seeded::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How the times between wake-ups are spread.
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
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GapPattern {
    /// Equal.
    Fixed,
    /// Exponential.
    Poisson,
    /// Bursts of 10, a tenth of the mean apart, and a break after each that keeps the mean.
    Bursty,
    /// None: after wake-ups 1 ms apart, which teach policies to spin, nothing comes for the mean.
    #[value(skip)]
    Idle,
}

impl GapPattern {
    pub(super) const ALL: [GapPattern; 3] =
        [GapPattern::Fixed, GapPattern::Poisson, GapPattern::Bursty];

    /// The times of wake-ups from 0 on, in nanoseconds; endless.
    pub(super) fn times(self, mean: Duration, seed: u64) -> impl Iterator<Item = u64> {
        let mean_ns = mean.as_nanos() as f64;
        let mut rng = Rng::seeded(seed);
        let mut at_ns = 0.0;
        (0u64..).map(move |number| {
            at_ns += match self {
                GapPattern::Fixed => mean_ns,
                GapPattern::Poisson => mean_ns * rng.exponential(),
                GapPattern::Bursty if number % BURST == 0 => {
                    mean_ns * (BURST as f64 - (BURST - 1) as f64 / BURST as f64)
                }
                GapPattern::Bursty => mean_ns / BURST as f64,
                GapPattern::Idle => BEFORE_IDLE_NS,
            };
            at_ns as u64
        })
    }
}

const BURST: u64 = 10;

/// Between the wake-ups before idleness.
const BEFORE_IDLE_NS: f64 = 1e6;

impl fmt::Display for GapPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GapPattern::Fixed => "fixed",
            GapPattern::Poisson => "poisson",
            GapPattern::Bursty => "bursty",
            GapPattern::Idle => "idle",
        })
    }
}

/// What is measured of waiting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitPlan {
    /// Waiting policies of Plimsoll's own scheduler, `rayon` and `tokio`.
    pub policies: Vec<String>,
    /// How the times between wake-ups are spread.
    pub patterns: Vec<GapPattern>,
    /// From one wake-up to the next on average, ascending.
    #[serde(rename = "mean_gaps_ns", with = "plimsoll_model::NsList")]
    pub mean_gaps: Vec<Duration>,
    /// How long nothing comes, for the burn of idle workers; null if that is not measured.
    #[serde(default, rename = "idle_ns", with = "plimsoll_model::OptionNs")]
    pub idle: Option<Duration>,
    /// What a wake-up by the kernel is taken to be worth in spinning, for the competitive ratio.
    #[serde(rename = "price_ns", with = "plimsoll_model::Ns")]
    pub price: Duration,
    /// A latency that the recommended policy keeps; null for any.
    pub budget: Option<Goal>,
    /// What the recommended policy burns at most, in percent of a core; null for any.
    pub most_burn_pct: Option<f64>,
}

/// How a trial of waiting measures.
impl WaitPlan {
    /// A p99.9 takes 2,995 wake-ups, and a p99 takes 299; Poisson arrivals may be fewer than planned.
    pub(super) fn window(window: Duration, gaps: GapPattern, mean_gap: Duration) -> Duration {
        if gaps == GapPattern::Idle {
            return mean_gap;
        }
        let tail = mean_gap * 3_300;
        let least = match tail <= Duration::from_secs(4) {
            true => tail,
            false => mean_gap * 380,
        };
        window.max(least)
    }

    pub(super) fn settings(&self) -> Vec<RigSetting> {
        let mut all = Vec::new();
        for policy in &self.policies {
            let setting = |gaps, mean_gap| RigSetting::Wait {
                policy: policy.clone(),
                gaps,
                mean_gap,
            };
            for gaps in &self.patterns {
                all.extend(self.mean_gaps.iter().map(|mean| setting(*gaps, *mean)));
            }
            all.extend(self.idle.map(|idle| setting(GapPattern::Idle, idle)));
        }
        all
    }
}

/// What a trial of waiting measured, besides latency and slip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WaitFigures {
    /// CPU time of the workers' threads.
    #[serde(rename = "workers_cpu_ns", with = "plimsoll_model::Ns")]
    pub workers_cpu: Duration,
    /// The length of the window.
    #[serde(rename = "window_ns", with = "plimsoll_model::Ns")]
    pub window: Duration,
    /// The sum of the gaps in which the workers had nothing to do.
    #[serde(rename = "gaps_ns", with = "plimsoll_model::Ns")]
    pub gaps: Duration,
    /// The sum of the lesser of each gap and the price.
    #[serde(rename = "hindsight_ns", with = "plimsoll_model::Ns")]
    pub hindsight: Duration,
    /// How often the workers' threads went to sleep; null if the kernel does not say.
    pub parked: Option<u64>,
    pub wakeups: u64,
}

/// What is concluded of one policy at one kind of gaps.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WaitingFinding {
    /// A waiting policy of Plimsoll's own scheduler, `rayon` or `tokio`.
    pub policy: String,
    /// How the times between wake-ups are spread.
    pub gaps: GapPattern,
    /// From one wake-up to the next, on average; for `idle`, how long nothing came.
    pub mean_gap_us: f64,
    /// From the call that wakes to the first instruction of the job.
    pub latency_us: WaitingLatency,
    /// CPU time of the workers, in percent of a core; wake-ups and the empty jobs included.
    pub burn_pct: Option<Estimate>,
    /// Wake-ups that found the workers asleep; above 100 if they slept more than once for one.
    pub parked_pct: Option<Estimate>,
    /// CPU time and the price of each sleep, relative to what an oracle that knows each gap before pays
    /// (the lesser of gap and price, `plan.wait.price_ns`). Null if the kernel does not count sleeps.
    pub competitive_ratio: Option<Estimate>,
    /// Whether no other policy has both a lower p99 and a lower burn at these gaps, by values.
    pub on_front: bool,
    /// Policies with a lower p99 and a lower burn, by intervals that do not overlap.
    pub dominated_by: Vec<String>,
    /// Undecided: policies with a lower p99 and a lower burn by values, of which intervals overlap.
    pub lower_within_noise: Vec<String>,
    /// In valid trials.
    pub wakeups: u64,
    /// Valid trials.
    pub trials: usize,
}

/// Quantiles: the mean of those of the trials. Null if no trial has enough wake-ups (p99 takes
/// 299, p99.9 takes 2995).
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaitingLatency {
    pub p50: Option<Estimate>,
    pub p99: Option<Estimate>,
    pub p999: Option<Estimate>,
}

/// Which policy to choose, over all gaps that were measured. Peers are not chosen from.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WaitingRecommendation {
    /// Null if none is recommended.
    pub policy: Option<String>,
    pub because: WaitingBecause,
    /// A sentence.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingBecause {
    /// It burns least of those that keep the latency budget, or is fastest within the burn.
    WithinLimits,
    /// No limit was given: it burns least of those whose p99 is as low as the lowest.
    Knee,
    NoneWithinLimits,
    Inconclusive,
}

/// The policy, pattern and mean gap of a setting of waiting.
pub(super) fn of_setting(setting: &RigSetting) -> Option<(&str, GapPattern, Duration)> {
    match setting {
        RigSetting::Wait {
            policy,
            gaps,
            mean_gap,
        } => Some((policy, *gaps, *mean_gap)),
        _ => None,
    }
}

/// The wait plan of a plan that has one.
pub(super) fn planned(plan: &RigPlan) -> Option<&WaitPlan> {
    plan.wait.as_ref()
}

/// Whether an outcome is of waiting.
pub(super) fn figures(outcome: &RigOutcome) -> Option<WaitFigures> {
    outcome.waiting
}
