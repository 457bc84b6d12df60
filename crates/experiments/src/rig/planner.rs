//! Which trial of a rig is next: all settings, then the searches. Pure.

use super::outcome::{Part, RigOutcome, RigSetting, RigTrial};
use super::plan::RigPlan;
use super::search::SearchPlanner;
use super::waiting::{GapPattern, WaitPlan};
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::{graduated, progress};
use plimsoll_engine::{Next, Planner, Progress};
use plimsoll_model::{Phase, TrialSpec, human_duration};

/// The visited settings of these schedulers.
fn settings(
    plan: &RigPlan,
    schedulers: &[&String],
    trials: &[RigTrial],
) -> Vec<(Phase, RigSetting)> {
    let of = |scheduler: &String| {
        let mut settings = Vec::new();
        if plan.has(Part::Peak) {
            settings.extend(plan.peak_grains.iter().map(|grain| RigSetting::Peak {
                scheduler: scheduler.clone(),
                grain: *grain,
            }));
        }
        if plan.has(Part::Grain) {
            let setting = |dependencies: &u32| RigSetting::Grain {
                scheduler: scheduler.clone(),
                dependencies: *dependencies,
            };
            settings.extend(plan.dependencies.iter().map(setting));
        }
        if plan.has(Part::Steady) {
            let (steady, idle) = (scheduler.clone(), scheduler.clone());
            settings.push(RigSetting::Steady { scheduler: steady });
            settings.push(RigSetting::Idle { scheduler: idle });
        }
        settings
    };
    let phase = Phase::Level { level: None };
    let settings = schedulers.iter().flat_map(|name| of(name));
    let waits = plan.wait.iter().flat_map(WaitPlan::settings);
    let settings = settings.chain(waits.filter(|s| !broke(trials, s.scheduler())));
    settings.map(|setting| (phase, setting)).collect()
}

/// A steady load and an idle scheduler are measured for longer than others.
fn lengthened(spec: TrialSpec<RigSetting>) -> TrialSpec<RigSetting> {
    let window = match spec.setting {
        RigSetting::Steady { .. } | RigSetting::Idle { .. } => spec.window * 10,
        RigSetting::Wait { gaps, mean_gap, .. } => WaitPlan::window(spec.window, gaps, mean_gap),
        _ => spec.window,
    };
    TrialSpec { window, ..spec }
}

/// The schedulers that have kept their contract so far.
fn sound<'p>(plan: &'p RigPlan, trials: &[RigTrial]) -> Vec<&'p String> {
    let all = plan.schedulers.iter();
    all.filter(|name| !broke(trials, name)).collect()
}

fn broke(trials: &[RigTrial], name: &str) -> bool {
    let of = |t: &RigTrial| t.spec.setting.scheduler() == name && t.outcome.failure.is_some();
    trials.iter().any(of)
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
        let settings = settings(plan, &sound, trials);
        let visit = graduated(&plan.run, &settings, trials, seed).map(lengthened);
        let next = visit.or_else(|| self.search.next(&sound, trials, seed));
        next.map_or(Next::Done, Next::Trial)
    }

    fn progress(&self, trials: &[RigTrial]) -> Progress {
        let plan = self.plan;
        let settings = settings(plan, &sound(plan, trials), trials);
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
            RigSetting::Wait {
                policy,
                gaps: GapPattern::Idle,
                mean_gap,
            } => format!("{policy}: idle for {}", human_duration(*mean_gap)),
            RigSetting::Wait {
                policy,
                gaps,
                mean_gap,
            } => format!("{policy}: {gaps} gaps of {}", human_duration(*mean_gap)),
        }
    }

    fn times(&self, trial: &RigTrial) -> (Vec<f64>, String) {
        let words = match (&trial.outcome.failure, trial.outcome.runs.len()) {
            (Some(why), _) => format!("failed: {why}"),
            (None, 0) => "wake-ups".to_owned(),
            (None, 1) => "1 run".to_owned(),
            (None, runs) => format!("{runs} runs"),
        };
        (Vec::new(), words)
    }
}
