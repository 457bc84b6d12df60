//! The planner: a pure function of the plan and the trials so far.

use super::FLOOR;
use plimsoll_engine::Next;
use plimsoll_engine::calibration::{self, CALIBRATION_TRIALS};
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::{graduated, repeats, typical};
use plimsoll_engine::{Planner, Progress, warm_up};
use plimsoll_model::{
    Arm, BesideRate, CpuUse, Job, Phase, Rate, Share, SideloadPlan, StepPlan, TrialSpec,
    YieldOutcome, YieldPlan, YieldSetting, YieldTrial,
};
use plimsoll_study::measured;
use plimsoll_study::yields::before_jobs;
use std::time::Duration;

/// Plans the trials of a yield run.
#[derive(Debug, Clone, Copy)]
pub(super) struct YieldPlanner<'p>(pub(super) &'p YieldPlan);

impl Planner for YieldPlanner<'_> {
    type Setting = YieldSetting;
    type Outcome = YieldOutcome;

    fn next(&self, trials: &[YieldTrial]) -> Next<YieldSetting> {
        let plan = self.0;
        let side = &plan.sideload;
        let seed = derive(plan.load.run.seed, trials.len() as u64);
        let offer = |rate, _| YieldSetting::Offer { rate };
        let known = match side.service {
            BesideRate::Rate(rate) => Some(rate),
            BesideRate::Load(_) => None,
        };
        if let Some(spec) = warm_up::next(&plan.load, trials, known, offer, seed) {
            return Next::Trial(spec);
        }
        let rate = match side.service {
            BesideRate::Rate(rate) => rate,
            BesideRate::Load(level) => {
                let before = measured(before_jobs(trials));
                match calibration::rated_or_next(&plan.load, &before, offer, seed) {
                    Ok(rated) => level.of(rated),
                    Err(next) => return next,
                }
            }
        };
        if let Some((setting, attempt)) = reference(plan, before_step(plan, rate), trials) {
            return Next::Trial(calibration::trial(&plan.load, setting, attempt, seed));
        }
        let visit = graduated(&plan.load.run, &settings(side, rate, trials), trials, seed);
        visit.map_or(Next::Done, |mut spec| {
            if plan.step.is_some() {
                // All arms of a pass get the same requests at the same times, so that
                // their slots differ from those of the service alone by the effect of
                // the job only.
                spec.seed = derive(plan.load.run.seed, u64::from(spec.pass));
            }
            Next::Trial(spec)
        })
    }

    fn progress(&self, trials: &[YieldTrial]) -> Progress {
        let plan = self.0;
        let side = &plan.sideload;
        let first = |t: &&YieldTrial| t.spec.phase.is_level() && t.spec.attempt == 0;
        let done: Vec<Visit> = trials.iter().filter(first).filter_map(visit).collect();
        let still = |wanted: Visit| {
            let times = done.iter().filter(|visit| **visit == wanted).count() as u32;
            expected(plan, trials, wanted) * plan.load.run.passes.saturating_sub(times)
        };
        let visits = side.visits();
        let calibrates =
            matches!(side.service, BesideRate::Load(_)) && plan.load.calibration.rated.is_none();
        let calibrations = match done.len() {
            0 => (usize::from(calibrates) * CALIBRATION_TRIALS + 1).saturating_sub(trials.len()),
            _ => 0,
        };
        let first_tries = visits.iter().copied().map(still).sum::<Duration>()
            + warm_up::left(&plan.load, trials)
            + (plan.load.run.warm_up.min + plan.load.calibration.window) * calibrations as u32;
        Progress {
            done: done.len(),
            visits: visits.len() * plan.load.run.passes as usize,
            left: first_tries + repeats(&plan.load.run, trials, first_tries),
        }
    }

    fn describe(&self, spec: &TrialSpec<YieldSetting>) -> String {
        match spec.setting {
            YieldSetting::Offer { rate } if spec.phase == Phase::WarmUp => {
                format!("warm-up at {rate}")
            }
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

/// The rate at which the limit of a job is set: with a stepped load the lower one,
/// because a static limit does not anticipate the step.
fn before_step(plan: &YieldPlan, rate: Rate) -> Rate {
    let low = |step: &StepPlan| step.offered(rate, Duration::ZERO).low;
    plan.step.as_ref().map_or(rate, low)
}

/// The measurements before the passes: the idle CPU time next to the service alone,
/// and whether a command works as a job.
fn reference(plan: &YieldPlan, rate: Rate, trials: &[YieldTrial]) -> Option<(YieldSetting, u32)> {
    let wanted: &[Arm] = match plan.sideload.job {
        Job::Counted(_) => &[Arm::ServiceAlone],
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
fn allowed(idle: Share, headroom: Share) -> Option<Share> {
    Share::new((idle.get() - headroom.get()).max(FLOOR))
}

/// The share that the service alone left idle, as far as measured.
fn left_idle(trials: &[YieldTrial]) -> Option<Share> {
    let is_reference = |t: &&YieldTrial| {
        let alone = visit(t).is_some_and(|(arm, _)| arm == Arm::ServiceAlone);
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

/// The visits of one pass.
type Visit = (Arm, Option<Share>);

fn visit(trial: &YieldTrial) -> Option<Visit> {
    match trial.spec.setting {
        YieldSetting::Beside { arm, headroom, .. } => Some((arm, headroom)),
        _ => None,
    }
}

/// The estimated time of a visit. The duration of a command varies: before an arm's
/// first visit it is the command's time alone, divided by the share of the machine
/// that the arm leaves it.
fn expected(plan: &YieldPlan, trials: &[YieldTrial], wanted: Visit) -> Duration {
    if matches!(plan.sideload.job, Job::Counted(_)) {
        return typical(&plan.load.run, trials);
    }
    let same = |t: &&YieldTrial| t.spec.phase.is_level() && visit(t) == Some(wanted);
    let seen = typical(&plan.load.run, trials.iter().filter(same));
    let is_seen = trials.iter().any(|t| same(&t));
    match (left_to_job(trials, wanted), took_alone(trials)) {
        (Some(part), Some(alone)) if !is_seen => {
            seen.max(alone.div_f64(part.get()).min(plan.sideload.timeout))
        }
        _ => seen,
    }
}

/// The share of the machine that a job gets, never zero; `None` without a job.
fn left_to_job(trials: &[YieldTrial], (arm, headroom): Visit) -> Option<Share> {
    let idle = left_idle(trials).unwrap_or(Share::ONE);
    match (arm.has_job(), arm.has_service()) {
        (false, _) => None,
        (true, false) => Some(Share::ONE),
        (true, true) => allowed(idle, headroom.unwrap_or(Share::ZERO)),
    }
}

fn took_alone(trials: &[YieldTrial]) -> Option<Duration> {
    let alone = |t: &&YieldTrial| visit(t).is_some_and(|(arm, _)| arm == Arm::JobAlone);
    trials.iter().rfind(alone).map(|t| t.took)
}
