//! Whether a condition holds for the requests of the trial.

use super::experiment::FixedTrial;
use plimsoll_model::{Condition, Holds, Judgement};
use plimsoll_study::judge::{Counted, trial};

pub(super) fn judge(trials: &[FixedTrial], condition: Condition) -> Option<Judgement> {
    let Condition::Kept { goal, at: None } = condition else {
        return None;
    };
    let last = trials.last();
    let work = last.map(|last| &last.work);
    let counted = Counted {
        of: work.map_or(0, |work| work.intended),
        failed: work.map_or(0, |work| work.errors.total() + work.unfinished),
        without_latency: work.map_or(0, |work| work.errors.total() - work.errors.timeout),
        cpu_pct: last.map_or(Some(0.0), |last| {
            let share = last.machine.service_share(last.service.as_ref())?;
            Some(100.0 * share.get())
        }),
    };
    let found = trial(goal, counted, |limit| {
        work.map_or(0, |work| work.latency.above(limit))
    });
    match last {
        Some(last) if !last.verdict.is_valid() => found.map(|_| Judgement {
            holds: Holds::Undecided,
            why: "the trial is invalid".to_owned(),
        }),
        _ => found,
    }
}
