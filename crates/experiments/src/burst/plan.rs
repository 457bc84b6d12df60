//! The plan of a run, and the planner. Pure.

use super::outcome::{BurstOutcome, BurstSetting, BurstTrial, Target};
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_engine::{Ended, Next, Planner, Progress, Started};
use plimsoll_model::{PhasedRate, Plan, Rate, RatePhase, TrialSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstPlan {
    /// The load offered to the target; `passes` are the cycles.
    #[serde(flatten)]
    pub load: Plan,
    /// That of the target it is compared with; null for none.
    pub against: Option<Plan>,
    /// The command that serves the target, started by the run; empty if it is not.
    #[serde(default)]
    pub command: Vec<String>,
    /// A cycle of bursts and breaks.
    pub pattern: Vec<RatePhase>,
    /// Requests before each cycle, which open connections; not measured.
    pub warm_up_phase: RatePhase,
    /// The beginning of another burst after the cycle, where it ends with a break: its first
    /// requests are those after the break. Null for none.
    pub head: Option<RatePhase>,
    /// How often CPU time is read.
    #[serde(rename = "step_ns", with = "plimsoll_model::Ns")]
    pub step: Duration,
}

impl BurstPlan {
    /// All phases of a trial, from the beginning of its load.
    pub(super) fn phases(&self) -> PhasedRate {
        let warm_up = std::iter::once(&self.warm_up_phase);
        let all = warm_up.chain(&self.pattern).chain(&self.head);
        PhasedRate(all.copied().collect())
    }

    /// The plan of each target.
    pub(super) fn loads(&self) -> impl Iterator<Item = (Target, &Plan)> {
        let plans = std::iter::once(&self.load).chain(&self.against);
        Target::ALL.into_iter().zip(plans)
    }

    /// The rate of the first burst.
    pub(super) fn first_rate(&self) -> Rate {
        self.warm_up_phase.rate
    }
}

/// The idle machine, then a cycle on each target in each pass: A B, then B A.
pub(super) struct BurstPlanner<'p>(VisitPlanner<'p, BurstSetting, BurstOutcome>);

impl<'p> BurstPlanner<'p> {
    pub(super) fn new(plan: &'p BurstPlan) -> BurstPlanner<'p> {
        let rate = plan.first_rate();
        let cycle = |(target, _)| BurstSetting::Cycle { target, rate };
        let settings = plan.loads().map(cycle).collect();
        let words = |setting: &BurstSetting| {
            match setting {
                BurstSetting::Idle => "no load",
                BurstSetting::Cycle {
                    target: Target::First,
                    ..
                } => "bursts and breaks",
                BurstSetting::Cycle { .. } => "bursts and breaks, --against",
            }
            .to_owned()
        };
        let visits = VisitPlanner::of(&plan.load.run, settings, words, |_| None);
        BurstPlanner(VisitPlanner {
            idle: Some(BurstSetting::Idle),
            ..visits
        })
    }
}

/// The x axis is the cycle.
fn cycle(spec: &TrialSpec<BurstSetting>) -> Option<f64> {
    (spec.setting != BurstSetting::Idle).then(|| f64::from(spec.pass + 1))
}

impl Planner for BurstPlanner<'_> {
    type Setting = BurstSetting;
    type Outcome = BurstOutcome;

    fn next(&self, trials: &[BurstTrial]) -> Next<BurstSetting> {
        self.0.next(trials)
    }

    fn progress(&self, trials: &[BurstTrial]) -> Progress {
        self.0.progress(trials)
    }

    fn describe(&self, spec: &TrialSpec<BurstSetting>) -> String {
        self.0.describe(spec)
    }

    fn announce(&self, spec: &TrialSpec<BurstSetting>) -> Started {
        Started {
            x: cycle(spec),
            ..self.0.announce(spec)
        }
    }

    fn summarize(&self, trial: &BurstTrial) -> Ended {
        Ended {
            x: cycle(&trial.spec),
            ..self.0.summarize(trial)
        }
    }
}
