//! The arms and headrooms that a run visits: all arms with one headroom, a curve,
//! or the most different arms where the load steps.

use super::Effort;
use super::args::YieldArgs;
use plimsoll_engine::RunError;
use plimsoll_model::{Arm, Share};

pub(super) fn effort(args: &YieldArgs) -> Effort {
    match args.quick {
        true => Effort::Quick,
        false => Effort::Full,
    }
}

/// The arms to try. With a stepped load the work gained is not measured, so the job
/// does not run alone.
pub(super) fn wanted(args: &YieldArgs) -> Result<Vec<Arm>, RunError> {
    let beside = beside(args)?;
    let is_wanted = |arm: &Arm| match arm.is_beside() {
        true => beside.contains(arm),
        false => args.step.is_none() || arm.has_service(),
    };
    Ok(Arm::ALL.into_iter().filter(is_wanted).collect())
}

/// The arms available here that fit the time of the run.
pub(super) fn leave_alike(args: &YieldArgs, arms: &mut Vec<Arm>) {
    if args.step.is_some() && args.arms.is_none() {
        Effort::leave_one_of_a_kind(arms);
    }
}

/// The requested arms.
fn beside(args: &YieldArgs) -> Result<Vec<Arm>, RunError> {
    let usual = match (args.curve, args.step) {
        (true, _) => Effort::ARMS_OF_CURVE.to_vec(),
        (false, Some(_)) => Effort::ARMS_OF_STEP.to_vec(),
        (false, None) => {
            let tried = |arm: &Arm| effort(args).tries(*arm);
            Arm::ALL.into_iter().filter(tried).collect()
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
    let usual = || effort(args).headrooms();
    let mut headrooms = args.headrooms.clone().unwrap_or_else(usual);
    headrooms.sort_by(|a, b| a.get().total_cmp(&b.get()));
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
