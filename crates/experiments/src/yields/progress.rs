//! The progress of a yield run, and its estimated remaining time.

use super::plan::{allowed, left_idle};
use plimsoll_engine::Progress;
use plimsoll_engine::calibration::CALIBRATION_TRIALS;
use plimsoll_engine::visits::{repeats, typical};
use plimsoll_model::{
    Arm, BesideRate, Job, Phase, Share, SideloadPlan, YieldPlan, YieldSetting, YieldTrial,
};
use std::time::Duration;

/// The visits of one pass.
type Visit = (Arm, Option<Share>);

/// The progress of a yield run.
pub(super) fn progress(plan: &YieldPlan, trials: &[YieldTrial]) -> Progress {
    let side = &plan.sideload;
    let first =
        |t: &&YieldTrial| matches!(t.spec.phase, Phase::Level { .. }) && t.spec.attempt == 0;
    let done: Vec<Visit> = trials.iter().filter(first).filter_map(visit).collect();
    let still = |wanted: Visit| {
        let times = done.iter().filter(|visit| **visit == wanted).count() as u32;
        expected(plan, side, trials, wanted) * plan.load.run.passes.saturating_sub(times)
    };
    let visits = side.visits();
    let calibrates =
        matches!(side.service, BesideRate::Load(_)) && plan.load.calibration.rated.is_none();
    let calibrations = match done.len() {
        0 => (usize::from(calibrates) * CALIBRATION_TRIALS + 1).saturating_sub(trials.len()),
        _ => 0,
    };
    let first_tries = visits.iter().copied().map(still).sum::<Duration>()
        + (plan.load.run.warm_up.min + plan.load.calibration.window) * calibrations as u32;
    Progress {
        done: done.len(),
        visits: visits.len() * plan.load.run.passes as usize,
        left: first_tries + repeats(&plan.load.run, trials, first_tries),
    }
}

fn visit(trial: &YieldTrial) -> Option<Visit> {
    match trial.spec.setting {
        YieldSetting::Beside { arm, headroom, .. } => Some((arm, headroom)),
        _ => None,
    }
}

/// The estimated time of a visit. The duration of a command varies: before an arm's
/// first visit it is the command's time alone, divided by the share of the machine
/// that the arm leaves it.
fn expected(
    plan: &YieldPlan,
    side: &SideloadPlan,
    trials: &[YieldTrial],
    wanted: Visit,
) -> Duration {
    if matches!(side.job, Job::Burn) {
        return typical(&plan.load.run, trials);
    }
    let same = |t: &&YieldTrial| {
        matches!(t.spec.phase, Phase::Level { .. }) && visit(t).is_some_and(|v| v == wanted)
    };
    let seen = typical(&plan.load.run, trials.iter().filter(same));
    let is_seen = trials.iter().any(|t| same(&t));
    match (left_to_job(trials, wanted), took_alone(trials)) {
        (Some(part), Some(alone)) if !is_seen => {
            seen.max(alone.div_f64(part.get()).min(side.timeout))
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
