//! Whether a condition holds for the requests of the trial.

use super::experiment::{FixedTrial, measured};
use plimsoll_model::{
    Answers, Condition, Goal, Holds, Judgement, LatencyLimit, Share, counted, human_duration,
};
use plimsoll_study::judge::{Missed, doubted, mean_below, steady_trial, trial};
use std::time::Duration;

pub(super) fn judge(trials: &[FixedTrial], condition: &Condition) -> Option<Judgement> {
    let Condition::Kept { goal, at: None } = *condition else {
        return None;
    };
    let last = measured(trials);
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

/// From the seconds of one rate; of several rates, or fewer than three seconds, there is no interval.
fn cpu(last: Option<&FixedTrial>, limit: Share) -> Judgement {
    let used = last.and_then(|last| last.machine.service_share(last.service.as_ref()));
    let (Some(last), Some(used)) = (last, used) else {
        return Judgement {
            holds: Holds::Undecided,
            why: "its CPU use is unknown".to_owned(),
        };
    };
    let measured = last.seconds.iter().filter(|second| second.measured);
    let seconds: Option<Vec<f64>> = measured.map(|s| Some(100.0 * s.cpu?.get())).collect();
    let seconds = seconds.filter(|_| last.spec.setting.range.is_none());
    let by_seconds = seconds.and_then(|seconds| mean_below(&seconds, 100.0 * limit.get()));
    by_seconds.unwrap_or_else(|| Judgement {
        holds: match used < limit {
            true => Holds::Yes,
            false => Holds::No,
        },
        why: format!("{:.1} %, without an interval", 100.0 * used.get()),
    })
}

/// Of random events that come three times in a window on average, at least one is in it with a probability
/// of 95 %.
fn with_what_may_be_unseen(judged: Judgement, window: Duration) -> Judgement {
    if judged.holds != Holds::Yes {
        return judged;
    }
    let every = human_duration(window / 3);
    Judgement {
        why: format!(
            "{}; pauses rarer than one in {every} may be unseen",
            judged.why
        ),
        ..judged
    }
}

/// A request that failed or timed out misses any limit. Of one that had no answer when the run ended,
/// the time that it had waited is its latency: if that is below the limit, it may miss it yet.
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
            Some(limit) => {
                let above = failed - work.errors.timeout + work.latency.above(limit);
                above.max(failed)
            }
            None => failed + work.unfinished,
        },
    };
    let parts = &last.outcome.phases;
    let missed = |part: &Answers| Missed {
        of: part.requests(),
        missed: part.missed(limit),
    };
    let means: Option<Vec<Duration>> = parts.iter().map(|part| part.latency.mean()).collect();
    let means = means.unwrap_or_default();
    // The last of several rates says nothing about the others.
    let trial = |whole, parts: &[Missed], allowed| match last.spec.setting.range {
        None => steady_trial(whole, (parts, &means), allowed),
        Some(_) => trial(whole, parts, allowed),
    };
    let judged = trial(
        whole,
        &parts.iter().map(missed).collect::<Vec<_>>(),
        allowed,
    );
    let judged = with_what_may_be_unseen(judged, last.window);
    let open = work.unfinished.min(whole.of.saturating_sub(whole.missed));
    if limit.is_none() || open == 0 || judged.holds != Holds::Yes {
        return judged;
    }
    let with = |missed: Missed, open: u64| Missed {
        missed: missed.missed.saturating_add(open).min(missed.of),
        ..missed
    };
    let all_open = parts.iter().map(|part| with(missed(part), part.unfinished));
    let if_missed = trial(with(whole, open), &all_open.collect::<Vec<_>>(), allowed);
    match if_missed.holds {
        Holds::Yes => judged,
        Holds::No | Holds::Undecided => doubted(
            judged,
            &format!(
                "{} no answer when the run ended, and may miss it; look at errors, too",
                counted(open as usize, "request had", "requests had")
            ),
        ),
    }
}
