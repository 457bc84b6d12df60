//! Whether a condition holds for the requests of the trial.

use super::experiment::FixedTrial;
use plimsoll_model::{Answers, Condition, Goal, Holds, Judgement, LatencyLimit, Share};
use plimsoll_study::judge::{Missed, trial};

pub(super) fn judge(trials: &[FixedTrial], condition: &Condition) -> Option<Judgement> {
    let Condition::Kept { goal, at: None } = *condition else {
        return None;
    };
    let last = trials.last();
    let found = match goal {
        Goal::Latency {
            limit: LatencyLimit::TimesLight(_),
            ..
        } => return None,
        Goal::Cpu { limit } => cpu(last, limit),
        Goal::Latency { quantile, .. } => share(last, goal, 1.0 - quantile.fraction()),
        Goal::Errors { limit } => share(last, goal, limit.get()),
    };
    Some(match last {
        Some(last) if !last.verdict.is_valid() => Judgement {
            holds: Holds::Undecided,
            why: "the trial is invalid".to_owned(),
        },
        _ => found,
    })
}

/// Of one trial: there is no interval.
fn cpu(last: Option<&FixedTrial>, limit: Share) -> Judgement {
    let used = last.and_then(|last| last.machine.service_share(last.service.as_ref()));
    let Some(used) = used else {
        return Judgement {
            holds: Holds::Undecided,
            why: "its CPU use is unknown".to_owned(),
        };
    };
    Judgement {
        holds: match used < limit {
            true => Holds::Yes,
            false => Holds::No,
        },
        why: format!("{:.1} %, of one trial", 100.0 * used.get()),
    }
}

/// Of a request without an answer, the time that it had waited is its latency; one that failed at once
/// misses any limit.
fn share(last: Option<&FixedTrial>, goal: Goal, allowed: f64) -> Judgement {
    let none = Missed { of: 0, missed: 0 };
    let Some(last) = last else {
        return trial(none, &[], allowed);
    };
    let work = &last.work;
    let limit = match goal {
        Goal::Latency {
            limit: LatencyLimit::Absolute(limit),
            ..
        } => Some(limit),
        _ => None,
    };
    let failed = work.errors.total();
    let whole = Missed {
        of: work.intended,
        missed: match limit {
            Some(limit) => failed - work.errors.timeout + work.latency.above(limit),
            None => failed + work.unfinished,
        },
    };
    let parts = last.outcome.phases.iter();
    let missed = |part: &Answers| Missed {
        of: part.requests(),
        missed: part.missed(limit),
    };
    let parts: Vec<Missed> = parts.map(missed).collect();
    trial(whole, &parts, allowed)
}
