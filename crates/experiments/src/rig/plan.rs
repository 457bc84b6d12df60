//! The plan of a rig, and the planner.

use super::outcome::{Part, RigOutcome, RigSetting, RigTrial};
use super::search::SearchPlanner;
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::{graduated, progress};
use plimsoll_engine::{Next, Planner, Progress};
use plimsoll_model::{Phase, RunPlan, TrialSpec, human_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RigPlan {
    /// What is measured.
    pub parts: Vec<Part>,
    /// The schedulers under test: names, or paths of plug-ins.
    pub schedulers: Vec<String>,
    /// The SHA-1 of each plug-in, by its path as above.
    #[serde(default)]
    pub library_sha1: BTreeMap<String, String>,
    /// What a job does.
    pub kernel: String,
    /// The lengths of the jobs of peaks.
    #[serde(rename = "peak_grains_ns", with = "plimsoll_model::NsList")]
    pub peak_grains: Vec<Duration>,
    /// The lengths of the jobs of which the efficiency is measured.
    #[serde(rename = "grains_ns", with = "plimsoll_model::NsList")]
    pub grains: Vec<Duration>,
    /// How many jobs each of those needs to have ended.
    pub dependencies: Vec<u32>,
    /// The length of a job of weight 1 of the graph.
    #[serde(rename = "graph_grain_ns", with = "plimsoll_model::Ns")]
    pub graph_grain: Duration,
    /// The graph whose schedule is broken.
    pub graph: GraphPlan,
    /// The graph of a steady load.
    pub steady_graph: GraphPlan,
    /// The trials of a search for a breaking point may take this long in sum.
    #[serde(rename = "search_budget_ns", with = "plimsoll_model::Ns")]
    pub search_budget: Duration,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunPlan,
}

/// A graph by its name or rules, or as DOT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphPlan {
    /// The name of a shape, rules, or the name of a file.
    pub name: String,
    /// The text of the file.
    pub dot: Option<String>,
}

impl RigPlan {
    pub(super) fn workers(&self) -> u32 {
        self.run.cpus.service.len() as u32
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// The visited settings of these schedulers.
    fn settings(&self, schedulers: &[&String]) -> Vec<(Phase, RigSetting)> {
        let of = |scheduler: &String| {
            let mut settings = Vec::new();
            if self.has(Part::Peak) {
                settings.extend(self.peak_grains.iter().map(|grain| RigSetting::Peak {
                    scheduler: scheduler.clone(),
                    grain: *grain,
                }));
            }
            if self.has(Part::Grain) {
                let setting = |dependencies: &u32| RigSetting::Grain {
                    scheduler: scheduler.clone(),
                    dependencies: *dependencies,
                };
                settings.extend(self.dependencies.iter().map(setting));
            }
            if self.has(Part::Steady) {
                let (steady, idle) = (scheduler.clone(), scheduler.clone());
                settings.push(RigSetting::Steady { scheduler: steady });
                settings.push(RigSetting::Idle { scheduler: idle });
            }
            settings
        };
        let phase = Phase::Level { level: None };
        let settings = schedulers.iter().flat_map(|name| of(name));
        settings.map(|setting| (phase, setting)).collect()
    }
}

/// A steady load and an idle scheduler are measured for longer than others.
fn lengthened(spec: TrialSpec<RigSetting>) -> TrialSpec<RigSetting> {
    let times = match spec.setting {
        RigSetting::Steady { .. } | RigSetting::Idle { .. } => 10,
        _ => 1,
    };
    TrialSpec {
        window: spec.window * times,
        ..spec
    }
}

/// The number of jobs of peaks: about even steps of the logarithm, as far as a peak of
/// them takes no more than half a second; multiples of the workers, so that all of them
/// have as many.
pub(super) fn peak_sizes(grain: Duration, workers: u32) -> Vec<u32> {
    const SIZES: [u32; 11] = [10, 20, 40, 70, 100, 150, 200, 300, 500, 700, 1000];
    let takes = |jobs: &u32| grain * *jobs / workers.max(1) <= Duration::from_millis(500);
    let sizes = SIZES.map(|jobs: u32| jobs.next_multiple_of(workers.max(1)));
    sizes.into_iter().filter(takes).collect()
}

/// The schedulers that have kept their contract so far.
pub(super) fn sound<'p>(plan: &'p RigPlan, trials: &[RigTrial]) -> Vec<&'p String> {
    let broke = |name: &str| {
        let of = |t: &RigTrial| t.spec.setting.scheduler() == name && t.outcome.failure.is_some();
        trials.iter().any(of)
    };
    let all = plan.schedulers.iter();
    all.filter(|name| !broke(name)).collect()
}

/// Visits of all settings, pass after pass; then the searches for breaking points, in
/// turns, so that all schedulers are measured under the same conditions.
#[derive(Debug)]
pub(super) struct RigPlanner<'p> {
    plan: &'p RigPlan,
    search: SearchPlanner<'p>,
}

impl<'p> RigPlanner<'p> {
    pub(super) fn new(plan: &'p RigPlan) -> RigPlanner<'p> {
        RigPlanner {
            plan,
            search: SearchPlanner::new(plan),
        }
    }
}

impl Planner for RigPlanner<'_> {
    type Setting = RigSetting;
    type Outcome = RigOutcome;

    fn next(&self, trials: &[RigTrial]) -> Next<RigSetting> {
        let plan = self.plan;
        let seed = derive(plan.run.seed, trials.len() as u64);
        let sound = sound(plan, trials);
        let last_failure = trials.iter().rev().find(|t| t.outcome.failure.is_some());
        if let (true, Some(last)) = (sound.is_empty(), last_failure) {
            let (name, why) = (last.spec.setting.scheduler(), &last.outcome.failure);
            let why = why.as_deref().unwrap_or_default();
            return Next::Stuck(format!("{name} failed, and no scheduler is left: {why}"));
        }
        let settings = plan.settings(&sound);
        let visit = graduated(&plan.run, &settings, trials, seed).map(lengthened);
        let next = visit.or_else(|| self.search.next(&sound, trials, seed));
        next.map_or(Next::Done, Next::Trial)
    }

    fn progress(&self, trials: &[RigTrial]) -> Progress {
        let plan = self.plan;
        let settings = plan.settings(&sound(plan, trials));
        progress(&plan.run, settings.len(), trials, self.search.left(trials))
    }

    fn describe(&self, spec: &TrialSpec<RigSetting>) -> String {
        match &spec.setting {
            RigSetting::Peak { scheduler, grain } => {
                format!("{scheduler}: peaks of {}", human_duration(*grain))
            }
            RigSetting::Grain {
                scheduler,
                dependencies: 0,
            } => format!("{scheduler}: independent jobs"),
            RigSetting::Grain {
                scheduler,
                dependencies,
            } => format!("{scheduler}: jobs with {dependencies} dependencies"),
            RigSetting::Break {
                scheduler,
                direction,
                stress_ppm,
            } => {
                let stress = f64::from(*stress_ppm) / 1e6;
                format!("{scheduler}: stress {stress:.3} {direction}")
            }
            RigSetting::Steady { scheduler } => format!("{scheduler}: steady load"),
            RigSetting::Idle { scheduler } => format!("{scheduler}: idle"),
        }
    }

    fn times(&self, trial: &RigTrial) -> (Vec<f64>, String) {
        let words = match (&trial.outcome.failure, trial.outcome.runs.len()) {
            (Some(why), _) => format!("failed: {why}"),
            (None, 1) => "1 run".to_owned(),
            (None, runs) => format!("{runs} runs"),
        };
        (Vec::new(), words)
    }
}
