//! Which trial is next: a pure function of the plan and the trials so far.

use super::shared::FLOOR;
use crate::conduct::Next;
use crate::order::derive;
use crate::sweep::calibration::{self, Step};
use crate::sweep::plan::{graduated, nothing_carried};
use plimsoll_model::{
    Arm, BesideRate, CpuUse, Job, LoadLevel, Phase, Plan, Rate, Setting, Share, SideloadPlan,
    StepPlan, Trial, TrialSpec,
};
use plimsoll_study::rated::rated;
use plimsoll_study::yields::before_jobs;
use std::time::Duration;

/// The next trial of a yield run.
pub fn next(plan: &Plan, trials: &[Trial]) -> Next {
    let Some(side) = &plan.sideload else {
        return Next::Stuck(
            "this plan has no job beside its service; go on with it by plimsoll sweep --resume"
                .to_owned(),
        );
    };
    let seed = derive(plan.run.seed, trials.len() as u64);
    let rate = match rate(plan, side, before_jobs(trials)) {
        Found::Rate(rate) => rate,
        Found::Ask(rate) => {
            let attempt = calibration::attempt(plan, before_jobs(trials), rate);
            return calibrate(plan, Setting::Offer { rate }, attempt, seed);
        }
        Found::Nothing(rate) => return Next::Stuck(nothing_carried(rate)),
    };
    let before_step = before_step(plan, rate);
    if let Some((setting, attempt)) = reference(plan, side, before_step, trials) {
        return calibrate(plan, setting, attempt, seed);
    }
    match graduated(plan, &settings(side, rate, trials), trials) {
        None => Next::Done,
        Some(visit) => {
            let seed = match plan.step {
                // Every arm of a pass gets the same requests at the same time,
                // so that its slots differ from those of the service alone by
                // what the job does, and not by chance.
                Some(_) => derive(plan.run.seed, u64::from(visit.pass)),
                None => seed,
            };
            Next::Trial(visit.trial(plan, seed))
        }
    }
}

/// The rate that a job finds when it is held: where the load steps, the lower
/// one, for a limit that is set once knows nothing of a step to come.
fn before_step(plan: &Plan, rate: Rate) -> Rate {
    let low = |step: &StepPlan| step.offered(rate, Duration::ZERO).low;
    plan.step.as_ref().map_or(rate, low)
}

/// The rate of the service, or what is to be asked to find it.
enum Found {
    Rate(Rate),
    Ask(Rate),
    Nothing(Rate),
}

fn rate(plan: &Plan, side: &SideloadPlan, calibration: &[Trial]) -> Found {
    let level: LoadLevel = match side.service {
        BesideRate::Rate(rate) => return Found::Rate(rate),
        BesideRate::Load(level) => level,
    };
    match calibration::step(plan, calibration) {
        Step::Offer(rate) => return Found::Ask(rate),
        Step::NothingCarried(rate) => return Found::Nothing(rate),
        Step::Done => {}
    }
    let rated = rated(plan, calibration).and_then(|found| Rate::per_second(found.rate_rps));
    rated.map_or(Found::Nothing(plan.calibration.first), |rated| {
        Found::Rate(level.of(rated))
    })
}

fn calibrate(plan: &Plan, setting: Setting, attempt: u32, seed: u64) -> Next {
    Next::Trial(TrialSpec {
        phase: Phase::Calibration,
        setting,
        pass: 0,
        attempt,
        warm_up: plan.run.warm_up,
        window: plan.calibration.window,
        limit: None,
        seed,
    })
}

/// What is to be seen before the passes: what the service alone leaves idle,
/// and whether a command can be a job at all.
fn reference(
    plan: &Plan,
    side: &SideloadPlan,
    rate: Rate,
    trials: &[Trial],
) -> Option<(Setting, u32)> {
    let wanted: &[Arm] = match side.job {
        Job::Burn => &[Arm::ServiceAlone],
        Job::Command(_) => &[Arm::ServiceAlone, Arm::JobAlone],
    };
    wanted.iter().find_map(|&arm| {
        let setting = setting(arm, rate, None, None);
        let tries = trials
            .iter()
            .filter(|t| t.spec.phase == Phase::Calibration && t.spec.setting == setting);
        let (done, attempt) = tries.fold((false, 0), |(done, n), t| {
            (done || t.verdict.is_valid(), n + 1)
        });
        (!done && attempt <= plan.calibration.retries).then_some((setting, attempt))
    })
}

fn setting(arm: Arm, rate: Rate, headroom: Option<Share>, allowed: Option<Share>) -> Setting {
    Setting::Beside {
        rate: if arm.has_service() { rate } else { Rate::ZERO },
        arm,
        allowed,
        headroom,
    }
}

fn settings(side: &SideloadPlan, rate: Rate, trials: &[Trial]) -> Vec<(Phase, Setting)> {
    let level = match side.service {
        BesideRate::Load(level) => Some(level),
        BesideRate::Rate(_) => None,
    };
    let idle = left_idle(trials);
    let of = |(arm, headroom): (Arm, Option<Share>)| {
        let allowed = headroom.zip(idle).and_then(|(h, idle)| allowed(idle, h));
        (
            Phase::Level { level },
            setting(arm, rate, headroom, allowed),
        )
    };
    side.visits().into_iter().map(of).collect()
}

/// What the job may use of its CPUs, or a law begins with: all that the service alone leaves idle,
/// but for the headroom.
pub(super) fn allowed(idle: Share, headroom: Share) -> Option<Share> {
    Share::new((idle.get() - headroom.get()).max(FLOOR))
}

/// What the service alone left idle, as far as it has been seen.
pub(super) fn left_idle(trials: &[Trial]) -> Option<Share> {
    let is_reference = |t: &&Trial| {
        let alone = matches!(
            t.spec.setting,
            Setting::Beside {
                arm: Arm::ServiceAlone,
                ..
            }
        );
        alone && t.spec.phase == Phase::Calibration
    };
    // One that was disturbed is better than none.
    let references = || trials.iter().filter(is_reference);
    let seen = references().find(|t| t.verdict.is_valid());
    let seen = seen.or_else(|| references().next())?;
    let cpu = seen.machine.service_cpu.or(seen.machine.cpu)?;
    let busy = CpuUse::busy_share(&cpu)?;
    Share::new(1.0 - busy.get())
}
