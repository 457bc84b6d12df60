//! The plan of a comparison, and the order of its trials.

use super::experiment::VersusTrial;
use super::study::cpu_us;
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_engine::{Ended, Next, Planner, Progress, Started, warm_up};
use plimsoll_model::{
    CheckedPlan, CpuTime, ImplausiblePlan, Phase, Plan, Rate, ServiceWarmUp, TrialSetting,
    TrialSpec, few_passes,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The plan of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersusPlan {
    /// Requests per second to either service.
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
    /// The load of the service that the new one is compared with.
    pub against: Plan,
    /// The load of the new service.
    #[serde(flatten)]
    pub load: Plan,
}

impl VersusPlan {
    pub(super) fn load_of(&self, side: Side) -> &Plan {
        match side {
            Side::Base => &self.against,
            Side::New => &self.load,
        }
    }
}

impl CheckedPlan for VersusPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        few_passes(&self.load.run)?;
        self.against.check()?;
        self.load.check()
    }
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Base,
    New,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::Base, Side::New];

    pub(super) fn other(self) -> Side {
        match self {
            Side::Base => Side::New,
            Side::New => Side::Base,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Base => "base",
            Side::New => "new",
        })
    }
}

/// What a trial is made at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VersusSetting {
    pub(super) side: Side,
    #[serde(rename = "rate_rps")]
    pub(super) rate: Rate,
}

impl TrialSetting for VersusSetting {
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

/// What is seen of both services from the start of a trial to its end, with the warm-up; `None` where it is not
/// seen, or they are one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct VersusOutcome {
    /// CPU time of the service that is loaded.
    #[serde(rename = "own_cpu_ns")]
    pub(super) own_cpu: Option<CpuTime>,
    /// CPU time of the other one.
    #[serde(rename = "other_cpu_ns")]
    pub(super) other_cpu: Option<CpuTime>,
    /// When the oldest process of the service that is loaded started, in clock ticks after the boot.
    pub(super) started_ticks: Option<u64>,
}

/// Warms both services up, if the plan asks for it, and visits them in turn.
pub(super) struct VersusPlanner<'p> {
    plan: &'p VersusPlan,
    /// With the warm-up of both services.
    warm_up: Plan,
    visits: VisitPlanner<'p, VersusSetting, VersusOutcome>,
}

impl<'p> VersusPlanner<'p> {
    pub(super) fn new(plan: &'p VersusPlan) -> VersusPlanner<'p> {
        let at = |side| VersusSetting {
            side,
            rate: plan.rate,
        };
        let words = |setting: &VersusSetting| format!("{} at {}", setting.side, setting.rate);
        let settings = Side::BOTH.map(at).to_vec();
        let mut warm_up = plan.load.clone();
        warm_up.service_warm_up = plan.load.service_warm_up.map(of_both);
        VersusPlanner {
            plan,
            warm_up,
            visits: VisitPlanner::of(&plan.load.run, settings, words, |_| None),
        }
    }
}

fn of_both(of_one: ServiceWarmUp) -> ServiceWarmUp {
    match of_one {
        ServiceWarmUp::Time(time) => ServiceWarmUp::Time(time.saturating_mul(2)),
        ServiceWarmUp::Requests(requests) => ServiceWarmUp::Requests(requests.saturating_mul(2)),
    }
}

/// The x axis of the live view is the pass.
fn pass(spec: &TrialSpec<VersusSetting>) -> Option<f64> {
    spec.phase.is_level().then(|| f64::from(spec.pass + 1))
}

impl Planner for VersusPlanner<'_> {
    type Setting = VersusSetting;
    type Outcome = VersusOutcome;

    fn next(&self, trials: &[VersusTrial]) -> Next<VersusSetting> {
        let seed = derive(self.plan.load.run.seed, trials.len() as u64);
        let at = |rate, _| VersusSetting {
            side: Side::Base,
            rate,
        };
        if let Some(mut spec) = warm_up::next(&self.warm_up, trials, Some(self.plan.rate), at, seed)
        {
            let made = trials.iter().filter(|t| t.spec.phase == Phase::WarmUp);
            spec.setting.side = Side::BOTH[made.count() % 2];
            return Next::Trial(spec);
        }
        match self.visits.next(trials) {
            // Both get the same arrivals.
            Next::Trial(spec) => Next::Trial(TrialSpec {
                seed: derive(self.plan.load.run.seed, u64::from(spec.pass)),
                ..spec
            }),
            done => done,
        }
    }

    fn progress(&self, trials: &[VersusTrial]) -> Progress {
        let visits = self.visits.progress(trials);
        Progress {
            left: visits.left + warm_up::left(&self.warm_up, trials),
            ..visits
        }
    }

    fn announce(&self, spec: &TrialSpec<VersusSetting>) -> Started {
        Started {
            x: pass(spec),
            ..self.visits.announce(spec)
        }
    }

    fn summarize(&self, trial: &VersusTrial) -> Ended {
        Ended {
            what: self.describe(&trial.spec),
            x: pass(&trial.spec),
            times_us: match (trial.spec.setting.side, cpu_us(trial)) {
                (_, None) => Vec::new(),
                (Side::Base, Some(us)) => vec![us],
                (Side::New, Some(us)) => vec![f64::NAN, us],
            },
            ..self.visits.summarize(trial)
        }
    }

    fn describe(&self, spec: &TrialSpec<VersusSetting>) -> String {
        let words = self.visits.describe(spec);
        match spec.phase {
            Phase::WarmUp => format!("warm-up of {words}"),
            _ => words,
        }
    }
}
