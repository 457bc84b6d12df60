//! Which trial is next: a pure function of the plan and the trials so far.

use super::{search, threads};
use plimsoll_engine::calibration::{CALIBRATION_TRIALS, rated_or_next};
use plimsoll_engine::order::derive;
use plimsoll_engine::pace::paced;
use plimsoll_engine::visits::{AROUND, graduated, idle, idle_again, progress, visited};
use plimsoll_engine::{Next, Planner, Progress, warm_up};
use plimsoll_model::{Phase, Plan, Rate, Setting, Trial, TrialSpec};
use plimsoll_study::connections::adjustable;
use plimsoll_study::{loaded_from, measured};
use std::time::Duration;

/// Plans the trials of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct SweepPlanner<'p>(pub &'p Plan);

impl Planner for SweepPlanner<'_> {
    type Setting = Setting;
    type Outcome = ();

    fn next(&self, trials: &[Trial]) -> Next<Setting> {
        let seed = derive(self.0.run.seed, trials.len() as u64);
        let (all, trials) = (trials, &*measured(trials));
        let plan = &paced(self.0, trials);
        let offer = |rate, connections| Setting::Offer { rate, connections };
        let before = idle(&plan.run, Setting::Idle, trials, seed);
        if let Some(spec) = before.or_else(|| warm_up::next(plan, all, None, offer, seed)) {
            return Next::Trial(spec);
        }
        let rated = match rated_or_next(plan, trials, offer, seed) {
            Ok(rated) => rated,
            Err(next) => return next,
        };
        let connections = adjustable(plan, trials);
        let over = |spec: TrialSpec| TrialSpec {
            setting: spec.setting.over(connections),
            ..spec
        };
        graduated(&plan.run, &settings(plan, rated, connections), trials, seed)
            .or_else(|| threads::step(plan, trials, seed))
            .or_else(|| search::step(plan, trials, seed))
            .or_else(|| idle_again(&plan.run, Setting::Idle, trials, seed))
            .map_or(Next::Done, |spec| Next::Trial(over(spec)))
    }

    fn progress(&self, trials: &[Trial]) -> Progress {
        let warm_up = warm_up::left(self.0, trials);
        let trials = &*measured(trials);
        let plan = &paced(self.0, trials);
        let calibrates = plan.calibration.rated.is_none() && visited(trials) == 0;
        let of_calibration = |t: &&Trial| t.spec.phase == Phase::Calibration;
        let calibrations_left = match calibrates {
            true => CALIBRATION_TRIALS.saturating_sub(trials.iter().filter(of_calibration).count()),
            false => 0,
        };
        let one_calibration = plan.run.warm_up.min + plan.calibration.window + AROUND;
        let window = |spec: Option<TrialSpec>| spec.map_or(Duration::ZERO, |spec| spec.window);
        let idle_left = window(idle(&plan.run, Setting::Idle, trials, 0))
            + match trials.len() > loaded_from(trials) {
                true => window(idle_again(&plan.run, Setting::Idle, trials, 0)),
                false => plan.run.idle,
            };
        let before = one_calibration * calibrations_left as u32 + idle_left + warm_up;
        let visits = progress(&plan.run, plan.levels.len(), trials, before);
        Progress {
            left: visits.left + threads::left(plan, trials) + search::left(plan, trials),
            ..visits
        }
    }

    fn describe(&self, spec: &TrialSpec) -> String {
        describe(spec)
    }
}

/// A trial's setting in words.
pub fn describe(spec: &TrialSpec) -> String {
    let Setting::Offer { rate, connections } = spec.setting else {
        return "no load".to_owned();
    };
    match spec.phase {
        Phase::Idle => "no load".to_owned(),
        Phase::WarmUp => format!("warm-up at {rate}"),
        Phase::Calibration => match connections {
            Some(connections) => format!("calibration at {rate} over {connections} connections"),
            None => format!("calibration at {rate}"),
        },
        Phase::Search => format!("capacity search at {rate}"),
        Phase::Confirmation => format!("confirmation at {rate}"),
        Phase::OneThreadPerCore => format!("full load, one thread per core: {rate}"),
        Phase::TwoThreadsPerCore => format!("full load, both threads per core: {rate}"),
        Phase::Level { level: Some(level) } => format!("load {level}, {rate}"),
        Phase::Level { level: None } => rate.to_string(),
    }
}

fn settings(plan: &Plan, rated: Rate, connections: Option<u32>) -> Vec<(Phase, Setting)> {
    let setting = |level: &plimsoll_model::LoadLevel| {
        let rate = level.of(rated);
        let level = Some(*level);
        (Phase::Level { level }, Setting::Offer { rate, connections })
    };
    plan.levels.iter().map(setting).collect()
}

#[cfg(test)]
mod tests;
