//! The plan of a run, and the planner. Pure.

use super::outcome::{WakeLoad, WakeOutcome, WakeSetting, WakeTrial, Wakes};
use super::program::ProgramPlan;
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_engine::{Next, Planner, Progress};
use plimsoll_model::{Arrivals, CpuId, IdlePolicy, Placement, RunPlan, TrialSpec, Wait};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakePlan {
    /// Which CPUs are kept awake; each wake-up is measured under each.
    pub policies: Vec<IdlePolicy>,
    /// How the thread waits.
    pub waits: Vec<Wait>,
    /// Where the waker runs.
    pub placements: Vec<Placed>,
    /// From one wake-up to the next, on average; ascending.
    #[serde(rename = "gaps_ns", with = "plimsoll_model::NsList")]
    pub gaps: Vec<Duration>,
    /// How the gaps are spread.
    pub arrivals: Vec<Arrivals>,
    /// How long CPUs that are kept awake may take to leave an idle state; null if they poll.
    #[serde(rename = "limit_ns", with = "plimsoll_model::OptionNs")]
    pub limit: Option<Duration>,
    /// What may be burned more than as it is.
    pub budget: Option<BurnBudget>,
    /// What the p99 of every wake-up is to be at most.
    #[serde(rename = "latency_ns", with = "plimsoll_model::OptionNs")]
    pub latency: Option<Duration>,
    /// A program that is measured instead of a thread of Plimsoll.
    #[serde(default)]
    pub program: Option<ProgramPlan>,
    /// What was not measured, and why: a sentence each.
    pub left_out: Vec<String>,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunPlan,
}

/// Two CPUs, and how they stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placed {
    pub placement: Placement,
    /// The waker's CPU; null for a timer.
    pub waker_cpu: Option<CpuId>,
    /// The CPU of the thread that is woken.
    pub wakee_cpu: CpuId,
}

/// What a policy may burn more than as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BurnBudget {
    /// Percent of the time of all CPUs.
    CpuPct(f64),
    /// Power of the CPU packages.
    Watts(f64),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no budget; give percent of the time of all CPUs such as 5%, or power such as 10W"
)]
pub struct BudgetError(String);

impl FromStr for BurnBudget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<BurnBudget, BudgetError> {
        let number = |text: &str, most: f64| {
            let number: Option<f64> = text.trim().parse().ok();
            number.filter(|n| *n > 0.0 && *n <= most)
        };
        let pct = text.strip_suffix('%').and_then(|n| number(n, 100.0));
        let watts = text.strip_suffix('W').and_then(|n| number(n, 1e6));
        let found = pct.map(BurnBudget::CpuPct);
        let found = found.or(watts.map(BurnBudget::Watts));
        found.ok_or_else(|| BudgetError(text.to_owned()))
    }
}

impl fmt::Display for BurnBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BurnBudget::CpuPct(pct) => write!(f, "{pct}%"),
            BurnBudget::Watts(watts) => write!(f, "{watts}W"),
        }
    }
}

impl WakePlan {
    /// All wake-ups, in the order of tables. A timer has no waker, and so no placement but its own.
    pub(super) fn wakes(&self) -> Vec<Wakes> {
        let mut all = Vec::new();
        if self.program.is_some() {
            return all;
        }
        for wait in &self.waits {
            let fits = |p: &&Placed| (*wait == Wait::Timer) == (p.placement == Placement::SameCpu);
            for placed in self.placements.iter().filter(fits) {
                for arrivals in &self.arrivals {
                    all.extend(self.gaps.iter().map(|gap| Wakes {
                        wait: *wait,
                        placement: placed.placement,
                        gap: *gap,
                        poisson: *arrivals == Arrivals::Poisson,
                    }));
                }
            }
        }
        all
    }

    pub(super) fn settings(&self) -> Vec<WakeSetting> {
        let loads: Vec<WakeLoad> = match &self.program {
            Some(plan) => vec![WakeLoad::Program(plan.program)],
            None => self.wakes().into_iter().map(WakeLoad::Wakes).collect(),
        };
        let of = |load: WakeLoad| {
            let policies = self.policies.iter().copied();
            policies.map(move |policy| WakeSetting { policy, load })
        };
        loads.into_iter().flat_map(of).collect()
    }

    /// The CPUs of a placement.
    pub(super) fn placed(&self, placement: Placement) -> Option<Placed> {
        let of = self.placements.iter();
        of.copied().find(|p| p.placement == placement)
    }
}

/// A trial has so many wake-ups at least: p99 takes 299, and Poisson arrivals may be fewer than
/// planned.
const WAKE_UPS: u32 = 360;

/// How long a trial measures.
pub(super) fn window(run: &RunPlan, setting: &WakeSetting) -> Duration {
    let least = setting.wakes().map(|wakes| wakes.gap * WAKE_UPS);
    run.window.max(least.unwrap_or_default())
}

/// Visits of all settings, pass after pass.
#[derive(Debug)]
pub(super) struct WakePlanner<'p>(VisitPlanner<'p, WakeSetting, WakeOutcome>);

impl WakePlanner<'_> {
    pub(super) fn new(plan: &WakePlan) -> WakePlanner<'_> {
        let words = |setting: &WakeSetting| setting.to_string();
        let place = |setting: &WakeSetting| Some(setting.wakes()?.gap_us());
        WakePlanner(VisitPlanner::of(&plan.run, plan.settings(), words, place))
    }
}

impl Planner for WakePlanner<'_> {
    type Setting = WakeSetting;
    type Outcome = WakeOutcome;

    fn next(&self, trials: &[WakeTrial]) -> Next<WakeSetting> {
        match self.0.next(trials) {
            Next::Trial(spec) => Next::Trial(TrialSpec {
                window: window(self.0.run, &spec.setting),
                ..spec
            }),
            other => other,
        }
    }

    fn progress(&self, trials: &[WakeTrial]) -> Progress {
        self.0.progress(trials)
    }

    fn describe(&self, spec: &TrialSpec<WakeSetting>) -> String {
        self.0.describe(spec)
    }

    fn x(&self, setting: &WakeSetting) -> Option<f64> {
        self.0.x(setting)
    }
}
