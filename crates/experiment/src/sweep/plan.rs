//! Which trial is next: a pure function of the plan and the trials so far.

use super::AROUND;
use super::calibration::{self, Step};
use super::{search, threads};
use crate::conduct::Next;
use crate::order::{derive, visits};
use crate::watch::Progress;
use plimsoll_model::{Phase, Plan, Rate, Setting, Trial, TrialSpec, WarmUp};
use plimsoll_study::rated::rated;
use std::time::Duration;

/// About how many trials a calibration makes.
pub(crate) const CALIBRATION_TRIALS: usize = 6;

/// The next trial of a sweep.
pub fn next(plan: &Plan, trials: &[Trial]) -> Next {
    let seed = derive(plan.run.seed, trials.len() as u64);
    if let Some(spec) = idle(plan, trials, seed) {
        return Next::Trial(spec);
    }
    let settings = if plan.copies.is_empty() {
        match calibration::step(plan, trials) {
            Step::Offer(rate) => return Next::Trial(calibrate(plan, trials, rate, seed)),
            Step::NothingCarried(rate) => return Next::Stuck(nothing_carried(rate)),
            Step::Done => {}
        }
        let Some(rated) = rated(plan, trials).and_then(|r| Rate::per_second(r.rate_rps)) else {
            return Next::Stuck(nothing_carried(plan.calibration.first));
        };
        load_settings(plan, rated)
    } else {
        copies_settings(plan)
    };
    match graduated(plan, &settings, trials) {
        Some(visit) => Next::Trial(visit.trial(plan, seed)),
        None => match threads::step(plan, trials, seed) {
            Some(spec) => Next::Trial(spec),
            None => searched(plan, trials, seed),
        },
    }
}

fn searched(plan: &Plan, trials: &[Trial], seed: u64) -> Next {
    let Some(ask) = search::step(plan, trials) else {
        return Next::Done;
    };
    Next::Trial(TrialSpec {
        phase: ask.phase,
        setting: Setting::Offer { rate: ask.rate },
        pass: 0,
        attempt: 0,
        warm_up: plan.run.warm_up,
        window: ask.window,
        limit: ask.limit,
        seed,
    })
}

pub(crate) fn nothing_carried(rate: Rate) -> String {
    format!(
        "no request was answered within a trial, down to {rate}: see that the service answers, or give trials more time with --duration"
    )
}

fn idle(plan: &Plan, trials: &[Trial], seed: u64) -> Option<TrialSpec> {
    let tried: Vec<&Trial> = trials
        .iter()
        .filter(|t| t.spec.phase == Phase::Idle)
        .collect();
    let wanted = match tried.last() {
        None => !plan.run.idle.is_zero(),
        Some(last) => !last.verdict.is_valid() && tried.len() <= plan.run.bounds.retries as usize,
    };
    wanted.then_some(TrialSpec {
        phase: Phase::Idle,
        setting: Setting::Idle,
        pass: 0,
        attempt: tried.len() as u32,
        warm_up: WarmUp {
            min: Duration::ZERO,
            max: Duration::ZERO,
        },
        window: plan.run.idle,
        limit: None,
        seed,
    })
}

fn calibrate(plan: &Plan, trials: &[Trial], rate: Rate, seed: u64) -> TrialSpec {
    TrialSpec {
        phase: Phase::Calibration,
        setting: Setting::Offer { rate },
        pass: 0,
        attempt: calibration::attempt(plan, trials, rate),
        warm_up: plan.run.warm_up,
        window: plan.calibration.window,
        limit: None,
        seed,
    }
}

fn load_settings(plan: &Plan, rated: Rate) -> Vec<(Phase, Setting)> {
    let setting = |level: &plimsoll_model::LoadLevel| {
        let phase = Phase::Level {
            level: Some(*level),
        };
        (
            phase,
            Setting::Offer {
                rate: level.of(rated),
            },
        )
    };
    plan.levels.iter().map(setting).collect()
}

fn copies_settings(plan: &Plan) -> Vec<(Phase, Setting)> {
    let phase = Phase::Level { level: None };
    let settings = plan.copies.iter();
    settings
        .map(|copies| (phase, Setting::Copies { copies: *copies }))
        .collect()
}

/// A visit of a graduated level, or of an arm.
pub(crate) struct Visit {
    pub(crate) phase: Phase,
    pub(crate) setting: Setting,
    pub(crate) pass: u32,
    pub(crate) attempt: u32,
}

impl Visit {
    /// As a trial of the length that the plan gives to each.
    pub(crate) fn trial(&self, plan: &Plan, seed: u64) -> TrialSpec {
        TrialSpec {
            phase: self.phase,
            setting: self.setting,
            pass: self.pass,
            attempt: self.attempt,
            warm_up: plan.run.warm_up,
            window: plan.run.window,
            limit: None,
            seed,
        }
    }
}

/// The next visit: pass after pass, each followed by another try of its
/// invalid trials as long as the budget lasts.
pub(crate) fn graduated(
    plan: &Plan,
    settings: &[(Phase, Setting)],
    trials: &[Trial],
) -> Option<Visit> {
    for pass in 0..plan.run.passes {
        let order = visits(settings, plan.run.seed, pass);
        let tries = |phase: Phase, setting: Setting| {
            trials.iter().filter(move |t| {
                t.spec.phase == phase && t.spec.setting == setting && t.spec.pass == pass
            })
        };
        let first = order
            .iter()
            .find(|(phase, setting)| tries(*phase, *setting).next().is_none());
        if let Some(&(phase, setting)) = first {
            return Some(Visit {
                phase,
                setting,
                pass,
                attempt: 0,
            });
        }
        for &(phase, setting) in &order {
            let attempt = tries(phase, setting).count() as u32;
            let open = !tries(phase, setting).any(|t| t.verdict.is_valid());
            if open && attempt <= plan.run.bounds.retries && retry_fits(plan, settings, trials, pass) {
                return Some(Visit {
                    phase,
                    setting,
                    pass,
                    attempt,
                });
            }
        }
    }
    None
}

/// Whether the budget has room for one more try besides the passes to come.
fn retry_fits(plan: &Plan, settings: &[(Phase, Setting)], trials: &[Trial], pass: u32) -> bool {
    let spent: Duration = trials.iter().map(|t| t.took).sum();
    let to_come = settings.len() as u32 * (plan.run.passes - pass - 1) + 1;
    spent + to_come * typical(plan, trials) <= plan.run.budget
}

/// What a trial takes at a graduated level: as long as those so far did on
/// average, or as long as the plan says.
pub(crate) fn typical<'a>(plan: &Plan, trials: impl IntoIterator<Item = &'a Trial>) -> Duration {
    let levels: Vec<Duration> = trials
        .into_iter()
        .filter(|t| matches!(t.spec.phase, Phase::Level { .. }))
        .map(|t| t.took)
        .collect();
    match levels.len() as u32 {
        0 => plan.run.warm_up.min + plan.run.window + AROUND,
        n => levels.iter().sum::<Duration>() / n,
    }
}

/// How far a sweep is.
pub fn progress(plan: &Plan, trials: &[Trial]) -> Progress {
    let levels = plan.levels.len().max(plan.copies.len());
    let is_first = |t: &&Trial| matches!(t.spec.phase, Phase::Level { .. }) && t.spec.attempt == 0;
    let visited = trials.iter().filter(is_first).count();
    let calibrates = plan.copies.is_empty() && plan.calibration.rated.is_none();
    let calibrated = trials
        .iter()
        .filter(|t| t.spec.phase == Phase::Calibration)
        .count();
    let calibrations_left = if calibrates && visited == 0 {
        CALIBRATION_TRIALS.saturating_sub(calibrated)
    } else {
        0
    };
    let visits = levels * plan.run.passes as usize;
    let one_calibration = plan.run.warm_up.min + plan.calibration.window + AROUND;
    let idle_left = if idle(plan, trials, 0).is_some() {
        plan.run.idle
    } else {
        Duration::ZERO
    };
    let first_tries = typical(plan, trials) * visits.saturating_sub(visited) as u32
        + one_calibration * calibrations_left as u32
        + idle_left;
    Progress {
        done: visited,
        visits,
        left: first_tries
            + second_tries(plan, trials, first_tries)
            + threads::left(plan, trials)
            + search::left(plan, trials),
    }
}

/// How long the second tries take that are owed: one for each visit that has
/// no valid trial yet, as far as the budget has room for them beside the first
/// tries to come. How many of them will fail again nobody knows.
pub(crate) fn second_tries(plan: &Plan, trials: &[Trial], first_tries: Duration) -> Duration {
    let visit = |t: &Trial| (t.spec.phase, t.spec.setting, t.spec.pass);
    let is_last_try = |(at, t): &(usize, &Trial)| {
        matches!(t.spec.phase, Phase::Level { .. })
            && !trials[at + 1..]
                .iter()
                .any(|later| visit(later) == visit(t))
    };
    let is_owed = |t: &Trial| !t.verdict.is_valid() && t.spec.attempt < plan.run.bounds.retries;
    let last_tries = trials.iter().enumerate().filter(is_last_try);
    let owed = last_tries.filter(|(_, t)| is_owed(t)).count();
    let spent: Duration = trials.iter().map(|t| t.took).sum();
    let room = plan.run.budget.saturating_sub(spent + first_tries);
    (typical(plan, trials) * owed as u32).min(room)
}
