//! The arms and headrooms that a run visits: all arms with one headroom, a curve,
//! or the most different arms where the load steps.

use super::args::YieldArgs;
use crate::args::Effort;
use plimsoll_engine::RunError;
use plimsoll_model::{Arm, CountedJob, Job, Share, sort_by_number};

/// The default arms of a curve over headrooms.
const OF_CURVE: [Arm; 2] = [Arm::Quota10ms, Arm::Quota100ms];

/// The default arms of a run with a stepped load: the most different ones, because
/// there is no time for all.
const OF_STEP: [Arm; 6] = [
    Arm::None,
    Arm::Nice,
    Arm::SchedIdle,
    Arm::Weight,
    Arm::CpuIdle,
    Arm::Quota10ms,
];

/// The arms to try. With a stepped load the work gained is not measured, so the job
/// does not run alone.
pub(super) fn wanted(args: &YieldArgs, job: &Job) -> Result<Vec<Arm>, RunError> {
    let beside = beside(args, job)?;
    let is_wanted = |arm: &Arm| match arm.is_beside() {
        true => beside.contains(arm),
        false => args.step.is_none() || arm.has_service(),
    };
    Ok(Arm::ALL.into_iter().filter(is_wanted).collect())
}

/// Of the default arms of a stepped load that are available here, keeps one of each
/// kind: the cgroup's, or without cgroups the fallback.
pub(super) fn leave_alike(args: &YieldArgs, arms: &mut Vec<Arm>) {
    if args.step.is_none() || args.arms.is_some() {
        return;
    }
    for (by_group, by_process) in [(Arm::Weight, Arm::Nice), (Arm::CpuIdle, Arm::SchedIdle)] {
        if arms.contains(&by_group) {
            arms.retain(|arm| *arm != by_process);
        }
    }
}

/// The default arms beside a job that takes memory or disks: what limits these, and what limits the
/// CPU alone.
fn of_job(job: &Job) -> Option<Vec<Arm>> {
    Some(match job {
        Job::Counted(CountedJob::Memory { .. }) => {
            vec![Arm::None, Arm::Weight, Arm::MemoryHigh, Arm::MemoryMax]
        }
        Job::Counted(CountedJob::Disk { .. }) => vec![Arm::None, Arm::Weight, Arm::IoWeight],
        Job::Counted(CountedJob::Burn) | Job::Command(_) => return None,
    })
}

/// The requested arms.
fn beside(args: &YieldArgs, job: &Job) -> Result<Vec<Arm>, RunError> {
    let usual = match (args.curve, args.step) {
        (true, _) => OF_CURVE.to_vec(),
        (false, Some(_)) => OF_STEP.to_vec(),
        // A law decides once a second, which is too slow for a quick trial.
        (false, None) => {
            let tried = |arm: &Arm| !(args.quick && arm.is_law() || arm.is_of_memory_or_disk());
            of_job(job).unwrap_or_else(|| Arm::ALL.into_iter().filter(tried).collect())
        }
    };
    let arms = args.arms.clone().unwrap_or(usual);
    let flat = arms.iter().find(|arm| !arm.keeps_headroom());
    match flat.filter(|_| args.curve) {
        Some(arm) => Err(RunError::Usage(format!(
            "--curve tries many headrooms, and {arm} leaves none that can be asked for; name \
             others with --arms, such as quota-10ms"
        ))),
        None => Ok(arms),
    }
}

/// The headrooms of a curve, ascending; empty for a run that compares arms.
pub(super) fn headrooms(args: &YieldArgs) -> Result<Vec<Share>, RunError> {
    if !args.curve {
        return Ok(Vec::new());
    }
    // Denser near zero, where latency is expected to rise.
    let usual: &[f64] = match args.effort() {
        Effort::Quick => &[0.0, 5.0, 10.0, 20.0, 40.0],
        Effort::Full => &[0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0],
    };
    let usual = || {
        usual
            .iter()
            .filter_map(|pct| Share::new(pct / 100.0))
            .collect()
    };
    let mut headrooms = args.headrooms.clone().unwrap_or_else(usual);
    sort_by_number(&mut headrooms, |one| one.get());
    headrooms.dedup();
    match headrooms.len() {
        0 | 1 => Err(RunError::Usage(
            "a curve needs two headrooms at least; give several with --headrooms, such as \
             0,10,20,40"
                .to_owned(),
        )),
        _ => Ok(headrooms),
    }
}
