//! The planner: a pure function of the plan and the trials so far.

use super::progress::progress;
use super::shared::FLOOR;
use plimsoll_engine::Next;
use plimsoll_engine::calibration::{self, Step, nothing_carried};
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::graduated;
use plimsoll_engine::{Planner, Progress};
use plimsoll_model::{
    Arm, BesideRate, CpuUse, Job, LoadLevel, Phase, Rate, Share, SideloadPlan, StepPlan, TrialSpec,
    YieldOutcome, YieldPlan, YieldSetting, YieldTrial,
};
use plimsoll_study::rated::rated;
use plimsoll_study::yields::before_jobs;
use std::time::Duration;

/// Plans the trials of a yield run.
#[derive(Debug, Clone, Copy)]
pub struct YieldPlanner<'p>(pub &'p YieldPlan);

impl Planner for YieldPlanner<'_> {
    type Setting = YieldSetting;
    type Outcome = YieldOutcome;

    fn next(&self, trials: &[YieldTrial]) -> Next<YieldSetting> {
        next(self.0, trials)
    }

    fn progress(&self, trials: &[YieldTrial]) -> Progress {
        progress(self.0, trials)
    }

    fn describe(&self, spec: &TrialSpec<YieldSetting>) -> String {
        match spec.setting {
            YieldSetting::Offer { rate } => format!("calibration at {rate}"),
            YieldSetting::Beside { arm, headroom, .. } => describe_arm(arm, headroom),
        }
    }
}

fn describe_arm(arm: Arm, headroom: Option<Share>) -> String {
    match (arm, headroom) {
        (Arm::ServiceAlone | Arm::ServiceAgain, _) => "service alone".to_owned(),
        (Arm::JobAlone, _) => "job alone".to_owned(),
        (arm, None) => format!("service and job, {arm}"),
        (arm, Some(headroom)) => {
            format!("service and job, {arm}, headroom {:.0} %", headroom.pct())
        }
    }
}

/// The next trial of a yield run.
fn next(plan: &YieldPlan, trials: &[YieldTrial]) -> Next<YieldSetting> {
    let side = &plan.sideload;
    let seed = derive(plan.load.run.seed, trials.len() as u64);
    let rate = match rate(plan, side, before_jobs(trials)) {
        Found::Rate(rate) => rate,
        Found::Ask(rate) => {
            let attempt = calibration::attempt(&plan.load, before_jobs(trials), rate);
            let setting = YieldSetting::Offer { rate };
            return Next::Trial(calibration::trial(&plan.load, setting, attempt, seed));
        }
        Found::Nothing(rate) => return Next::Stuck(nothing_carried(rate)),
    };
    let before_step = before_step(plan, rate);
    if let Some((setting, attempt)) = reference(plan, side, before_step, trials) {
        return Next::Trial(calibration::trial(&plan.load, setting, attempt, seed));
    }
    match graduated(&plan.load.run, &settings(side, rate, trials), trials) {
        None => Next::Done,
        Some(visit) => {
            let seed = match plan.step {
                // All arms of a pass get the same requests at the same times, so that
                // their slots differ from those of the service alone by the effect of
                // the job only.
                Some(_) => derive(plan.load.run.seed, u64::from(visit.pass)),
                None => seed,
            };
            Next::Trial(visit.trial(&plan.load.run, seed))
        }
    }
}

/// The rate at which the limit of a job is set: with a stepped load the lower one,
/// because a static limit does not anticipate the step.
fn before_step(plan: &YieldPlan, rate: Rate) -> Rate {
    let low = |step: &StepPlan| step.offered(rate, Duration::ZERO).low;
    plan.step.as_ref().map_or(rate, low)
}

/// The rate of the service, or the trial that finds it.
enum Found {
    Rate(Rate),
    Ask(Rate),
    Nothing(Rate),
}

fn rate(plan: &YieldPlan, side: &SideloadPlan, calibration: &[YieldTrial]) -> Found {
    let level: LoadLevel = match side.service {
        BesideRate::Rate(rate) => return Found::Rate(rate),
        BesideRate::Load(level) => level,
    };
    match calibration::step(&plan.load, calibration) {
        Step::Offer(rate) => return Found::Ask(rate),
        Step::NothingCarried(rate) => return Found::Nothing(rate),
        Step::Done => {}
    }
    let rated = rated(&plan.load, calibration).and_then(|found| Rate::per_second(found.rate_rps));
    rated.map_or(Found::Nothing(plan.load.calibration.first), |rated| {
        Found::Rate(level.of(rated))
    })
}

/// The measurements before the passes: the idle CPU time next to the service alone,
/// and whether a command works as a job.
fn reference(
    plan: &YieldPlan,
    side: &SideloadPlan,
    rate: Rate,
    trials: &[YieldTrial],
) -> Option<(YieldSetting, u32)> {
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
        (!done && attempt <= plan.load.calibration.retries).then_some((setting, attempt))
    })
}

fn setting(arm: Arm, rate: Rate, headroom: Option<Share>, allowed: Option<Share>) -> YieldSetting {
    YieldSetting::Beside {
        rate: if arm.has_service() { rate } else { Rate::ZERO },
        arm,
        allowed,
        headroom,
    }
}

fn settings(side: &SideloadPlan, rate: Rate, trials: &[YieldTrial]) -> Vec<(Phase, YieldSetting)> {
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

/// The share of its CPUs that the job may use, or that a law starts with: what the
/// service alone leaves idle, minus the headroom.
pub(super) fn allowed(idle: Share, headroom: Share) -> Option<Share> {
    Share::new((idle.get() - headroom.get()).max(FLOOR))
}

/// The share that the service alone left idle, as far as measured.
pub(super) fn left_idle(trials: &[YieldTrial]) -> Option<Share> {
    let is_reference = |t: &&YieldTrial| {
        let alone = matches!(
            t.spec.setting,
            YieldSetting::Beside {
                arm: Arm::ServiceAlone,
                ..
            }
        );
        alone && t.spec.phase == Phase::Calibration
    };
    // A disturbed one is better than none.
    let references = || trials.iter().filter(is_reference);
    let seen = references().find(|t| t.verdict.is_valid());
    let seen = seen.or_else(|| references().next())?;
    let cpu = seen.machine.service_cpu.or(seen.machine.cpu)?;
    let busy = CpuUse::busy_share(&cpu)?;
    Share::new(1.0 - busy.get())
}
