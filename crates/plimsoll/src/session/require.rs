//! Whether a run passes: the conditions of `--require`.

use super::conclusion::{plan, trials};
use crate::failure::Failure;
use crate::note::note;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Condition, Holds, Judged};
use plimsoll_record::Record;

/// Exit codes, apart from those of a failed run, so that a caller can choose what undecided means.
const BROKEN: u8 = 3;
const UNDECIDED: u8 = 4;

/// Refuses conditions that no trials of this plan could answer.
///
/// # Errors
/// The first such condition.
pub(super) fn check<E: Experiment>(
    plan: &E::Plan,
    conditions: &[Condition],
) -> Result<(), Failure> {
    judged::<E>(plan, &[], conditions).map(drop)
}

fn judged<E: Experiment>(
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    conditions: &[Condition],
) -> Result<Vec<Judged>, Failure> {
    let each = conditions.iter().map(|condition| {
        E::judge(plan, trials, *condition).ok_or_else(|| {
            let forms = match E::CONDITIONS {
                "" => "leave it out".to_owned(),
                forms => format!("it answers {forms}"),
            };
            Failure::Mistake(format!(
                "plimsoll {} does not answer --require '{condition}'; {forms}",
                E::NAME
            ))
        })
    });
    each.collect()
}

/// What the trials of a record say about conditions.
pub(crate) fn of_record<E: Experiment>(
    record: &Record,
    conditions: &[Condition],
) -> Result<Vec<Judged>, Failure> {
    let plan = plan::<E>(record, &[])?;
    judged::<E>(&plan, &trials::<E>(record)?, conditions)
}

/// Says of each condition whether it is kept.
///
/// # Errors
/// [`Failure::Command`] with the exit code if one of them is broken or undecided.
pub(crate) fn conclude(all: &[Judged]) -> Result<(), Failure> {
    for Judged {
        condition,
        holds,
        why,
    } in all
    {
        let word = match holds {
            Holds::Yes => "kept",
            Holds::Undecided => "undecided",
            Holds::No => "broken",
        };
        note(&format!("require {condition}: {word}; {why}"));
    }
    match all.iter().map(|one| one.holds).max() {
        Some(Holds::No) => Err(Failure::Command(BROKEN)),
        Some(Holds::Undecided) => Err(Failure::Command(UNDECIDED)),
        Some(Holds::Yes) | None => Ok(()),
    }
}
