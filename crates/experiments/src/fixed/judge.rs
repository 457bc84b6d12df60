//! Whether a condition holds for the requests of the trial.

use super::experiment::{FixedTrial, measured};
use super::plan::{FixedPlan, Rates};
use plimsoll_model::{
    Answers, Condition, Goal, Holds, Judgement, LatencyLimit, Share, counted, human_duration,
};
use plimsoll_study::judge::{
    Missed, doubted, mean_below, part_that_misses, steady_trial, trial, unless_by_waiting,
    unless_latency_falls,
};
use std::time::Duration;

pub(super) fn judge(
    plan: &FixedPlan,
    trials: &[FixedTrial],
    condition: &Condition,
) -> Option<Judgement> {
    let Condition::Kept { goal, at: None } = *condition else {
        return None;
    };
    let (last, rates) = (measured(trials), plan.rates());
    let found = match goal {
        Goal::Latency {
            limit: LatencyLimit::TimesLight(_),
            ..
        } => return None,
        Goal::Cpu { limit } => cpu(last, rates, limit),
        Goal::Latency { quantile, .. } => share((last, plan), goal, 1.0 - quantile.fraction()),
        Goal::Errors { limit } => share((last, plan), goal, limit.get()),
    };
    Some(match last {
        Some(last) if !last.verdict.is_valid() => Judgement {
            holds: Holds::Undecided,
            why: "the trial is invalid".to_owned(),
        },
        _ => found,
    })
}

/// How many times as many connections are worth a try.
pub(super) const MORE: u32 = 8;

/// From the seconds of one rate; of several rates, or fewer than three seconds, there is no interval.
fn cpu(last: Option<&FixedTrial>, rates: Rates, limit: Share) -> Judgement {
    let used = last.and_then(|last| last.machine.service_share(last.service.as_ref()));
    let (Some(last), Some(used)) = (last, used) else {
        return Judgement {
            holds: Holds::Undecided,
            why: "its CPU use is unknown".to_owned(),
        };
    };
    let measured = last.seconds.iter().filter(|second| second.measured);
    let seconds: Option<Vec<f64>> = measured.map(|s| Some(100.0 * s.cpu?.get())).collect();
    let seconds = seconds.filter(|_| rates == Rates::One);
    let by_seconds = seconds.and_then(|seconds| mean_below(&seconds, 100.0 * limit.get()));
    let judged = by_seconds.unwrap_or_else(|| Judgement {
        holds: match used < limit {
            true => Holds::Yes,
            false => Holds::No,
        },
        why: format!("{:.1} %, without an interval", 100.0 * used.get()),
    });
    unless_queue(judged, last, rates)
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

/// Of several rates the last says nothing about the others; but a service that misses less at a higher one has
/// got faster. What holds for all of them together may not hold at one with few requests.
fn in_course(plan: &FixedPlan, (whole, parts): (Missed, &[Missed]), allowed: f64) -> Judgement {
    let judged = trial(whole, parts, allowed);
    let at_one = || {
        let nth = part_that_misses(parts, allowed)?;
        Some((plan.phases.get(nth)?.rate, parts[nth]))
    };
    match (plan.rates(), judged.holds) {
        (Rates::One, _) | (Rates::Rising, Holds::No) => steady_trial(whole, parts, allowed),
        (Rates::Rising | Rates::Other, Holds::Yes) => match at_one() {
            Some((rate, Missed { of, missed })) => doubted(
                judged,
                &format!("{missed} of {of} do at {rate}: a run at that rate decides"),
            ),
            None => judged,
        },
        (Rates::Rising | Rates::Other, _) => judged,
    }
}

/// With the wait for a connection latency is right, but the service may not be to blame.
fn unless_waiting(
    judged: Judgement,
    last: &FixedTrial,
    (whole, limit): (Missed, Duration),
    allowed: f64,
) -> Judgement {
    let Some(used) = last.work.connections else {
        return judged;
    };
    let by_waiting = last.outcome.waited.misses_by_waiting(limit);
    let without = Missed {
        missed: whole.missed.saturating_sub(by_waiting),
        ..whole
    };
    let over = format!(
        "{by_waiting} of them because all of the client's {} connections were in use; a run with more (-c {}) \
         decides",
        used.connections,
        used.connections.saturating_mul(MORE)
    );
    unless_by_waiting(judged, without, allowed, &over)
}

/// Where the rate falls, latency does so, too.
fn unless_queue(judged: Judgement, last: &FixedTrial, rates: Rates) -> Judgement {
    match last.outcome.means().filter(|_| rates != Rates::Other) {
        Some(means) => unless_latency_falls(judged, &means),
        None => judged,
    }
}

/// A request that failed or timed out misses any limit. Of one that had no answer when the run ended,
/// the time that it had waited is its latency: if that is below the limit, it may miss it yet, and within its
/// time-out it may fail yet.
fn share((last, plan): (Option<&FixedTrial>, &FixedPlan), goal: Goal, allowed: f64) -> Judgement {
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
            None => failed,
        },
    };
    let parts = &last.outcome.phases;
    let missed = |part: &Answers| Missed {
        of: part.requests(),
        missed: part.missed(limit),
    };
    let in_course = |whole, parts: Vec<Missed>| {
        let judged = in_course(plan, (whole, &parts), allowed);
        let Some(limit) = limit else { return judged };
        let judged = unless_queue(judged, last, plan.rates());
        unless_waiting(judged, last, (whole, limit), allowed)
    };
    let judged = in_course(whole, parts.iter().map(missed).collect());
    let open = work.unfinished.min(whole.of.saturating_sub(whole.missed));
    if open == 0 || judged.holds != Holds::Yes {
        return with_what_may_be_unseen(judged, last.window);
    }
    let with = |missed: Missed, open: u64| Missed {
        missed: missed.missed.saturating_add(open).min(missed.of),
        ..missed
    };
    let all_open = parts.iter().map(|part| with(missed(part), part.unfinished));
    let if_missed = in_course(with(whole, open), all_open.collect());
    match if_missed.holds {
        Holds::Yes => with_what_may_be_unseen(judged, last.window),
        Holds::No | Holds::Undecided => {
            let open = counted(open as usize, "request had", "requests had");
            let then = match limit {
                Some(_) => "may miss it; look at errors, too",
                None => "may fail; they have until --timeout",
            };
            doubted(
                judged,
                &format!("{open} no answer when the run ended, and {then}"),
            )
        }
    }
}
