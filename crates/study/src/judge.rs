//! Whether conditions of a run hold.

use plimsoll_model::{
    Carried, Difference, Doubt, Estimate, Findings, Goal, Holds, Judgement, LatencyLimit, Measure,
    Rate, Share,
};
use statrs::distribution::{Binomial, DiscreteCDF};
use std::time::Duration;

/// Both tails together: an interval of 95 %.
const TAIL: f64 = 0.025;

/// Whether all goals of `findings` are kept beyond a rate.
pub fn capacity(findings: &Findings, above: Rate) -> Judgement {
    let each = findings.capacity.iter().map(|found| {
        let judged = carried(Carried::from(found), above);
        about(found.goal, judged)
    });
    unless_doubted(worst(each), &findings.doubts)
}

fn about(goal: Goal, judged: Judgement) -> Judgement {
    Judgement {
        why: format!("{goal}: {}", judged.why),
        ..judged
    }
}

/// Of those that are equally far from holding, the first.
fn worst(each: impl DoubleEndedIterator<Item = Judgement>) -> Judgement {
    let worst = each.rev().max_by_key(|judged| judged.holds);
    worst.unwrap_or_else(|| Judgement {
        holds: Holds::Undecided,
        why: "there is no goal".to_owned(),
    })
}

/// What would hold is undecided where the figures are in doubt.
fn unless_doubted(judged: Judgement, doubts: &[Doubt]) -> Judgement {
    match judged.holds == Holds::Yes && doubts.iter().any(unsettles) {
        false => judged,
        true => Judgement {
            holds: Holds::Undecided,
            why: format!(
                "{}, but the figures are in doubt: see the report",
                judged.why
            ),
        },
    }
}

/// Whether the capacity of a machine under each goal is at least that of another, less a share. `doubts` are those of both.
pub fn no_worse(differences: &[Difference], loss: Share, doubts: &[Doubt]) -> Judgement {
    let capacities = differences
        .iter()
        .filter(|d| d.measure == Measure::Capacity);
    let each = capacities.map(|one| about(one.goal, ratio(one.ratio, 1.0 - loss.get())));
    unless_doubted(worst(each), doubts)
}

fn ratio(ratio: Option<Estimate>, least: f64) -> Judgement {
    let Some(Estimate { value, low, high }) = ratio else {
        return Judgement {
            holds: Holds::Undecided,
            why: "the ratio is unknown".to_owned(),
        };
    };
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!("95 % interval {low:.2} to {high:.2}"),
        _ => "no interval".to_owned(),
    };
    Judgement {
        holds: match (low, high) {
            (Some(low), _) if low >= least => Holds::Yes,
            (_, Some(high)) if high < least => Holds::No,
            _ => Holds::Undecided,
        },
        why: format!("its capacity is {value:.2} times that ({interval})"),
    }
}

/// Whether a capacity may be wrong by more than its interval.
fn unsettles(doubt: &Doubt) -> bool {
    matches!(
        doubt,
        Doubt::BodyLengths { .. }
            | Doubt::UnlikeTrials { .. }
            | Doubt::Shifted { .. }
            | Doubt::FasterBeyond { .. }
            | Doubt::KeptBeyond { .. }
            | Doubt::Disturbed { .. }
    )
}

fn carried(carried: Carried, above: Rate) -> Judgement {
    let rate = |rps: f64| Rate::per_second(rps).unwrap_or(Rate::ZERO).to_string();
    let (holds, why) = match carried {
        Carried::Unknown => (Holds::Undecided, "its capacity is unknown".to_owned()),
        Carried::AtLeast(least) if least > above.get() => {
            (Holds::Yes, format!("carries at least {}", rate(least)))
        }
        Carried::AtLeast(least) => {
            let why = format!("carries at least {}; more was not tried", rate(least));
            (Holds::Undecided, why)
        }
        Carried::Found(Estimate { value, low, high }) => {
            let holds = match (low, high) {
                (Some(low), _) if low > above.get() => Holds::Yes,
                (_, Some(high)) if high < above.get() => Holds::No,
                _ => Holds::Undecided,
            };
            let interval = match (low, high) {
                (Some(low), Some(high)) => format!("95 % interval {} to {}", rate(low), rate(high)),
                _ => "no interval".to_owned(),
            };
            (holds, format!("carries {} ({interval})", rate(value)))
        }
    };
    Judgement { holds, why }
}

/// The requests of one trial, as a goal counts them.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Requests that were due.
    pub of: u64,
    /// Those without a good answer.
    pub failed: u64,
    /// Those of them that have no latency: others count with the time that they had waited.
    pub without_latency: u64,
    /// CPU use of the service's CPUs, in percent.
    pub cpu_pct: Option<f64>,
}

/// Whether a goal is kept by the requests of one trial; `above` says how many latencies are
/// longer than a time. `None` for a goal that one trial cannot show.
///
/// The exact binomial test of the share of requests that miss it: requests that are slow together, as
/// in a pause, count as if each were by itself.
pub fn trial(goal: Goal, counted: Counted, above: impl Fn(Duration) -> u64) -> Option<Judgement> {
    let of = counted.of;
    let (missed, allowed) = match goal {
        Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(limit),
        } => (
            counted.without_latency + above(limit),
            1.0 - quantile.fraction(),
        ),
        Goal::Errors { limit } => (counted.failed, limit.get()),
        Goal::Cpu { limit } => {
            let used = counted.cpu_pct?;
            let holds = match used < 100.0 * limit.get() {
                true => Holds::Yes,
                false => Holds::No,
            };
            let why = format!("{used:.1} %, of one trial");
            return Some(Judgement { holds, why });
        }
        Goal::Latency { .. } => return None,
    };
    let missed = missed.min(of);
    let pct = 100.0 * missed as f64 / (of as f64).max(1.0);
    let why = format!(
        "{missed} of {of} requests miss it ({pct:.2} %, {:.2} % allowed)",
        100.0 * allowed
    );
    Some(Judgement {
        holds: share(missed, of, allowed),
        why,
    })
}

fn share(missed: u64, of: u64, allowed: f64) -> Holds {
    let Ok(by_chance) = Binomial::new(allowed, of) else {
        return Holds::Undecided;
    };
    // So few, or so many, where the share is just the allowed one.
    if of > 0 && by_chance.cdf(missed) <= TAIL {
        Holds::Yes
    } else if missed > 0 && by_chance.sf(missed - 1) <= TAIL {
        Holds::No
    } else {
        Holds::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_decided_where_chance_is_excluded() {
        // 368 requests without a miss show less than 1 % with 97.5 % confidence: 0.99^368 = 0.0248.
        assert_eq!(share(0, 368, 0.01), Holds::Yes);
        assert_eq!(share(0, 366, 0.01), Holds::Undecided);
        assert_eq!(share(1, 1, 0.01), Holds::No);
        assert_eq!(share(1, 100, 0.01), Holds::Undecided);
        assert_eq!(share(30, 1000, 0.01), Holds::No);
        assert_eq!(share(2, 1000, 0.01), Holds::Yes);
        assert_eq!(share(0, 0, 0.01), Holds::Undecided);
    }

    #[test]
    fn a_rate_is_decided_by_the_interval() {
        let above = Rate::per_second(1000.0).unwrap();
        let of = |value: Carried| carried(value, above).holds;
        assert_eq!(
            of(Carried::Found(Estimate::within(1200.0, 1001.0, 1400.0))),
            Holds::Yes
        );
        assert_eq!(
            of(Carried::Found(Estimate::within(1200.0, 999.0, 1400.0))),
            Holds::Undecided
        );
        assert_eq!(
            of(Carried::Found(Estimate::within(800.0, 700.0, 999.0))),
            Holds::No
        );
        let bare = Estimate {
            value: 5000.0,
            low: None,
            high: None,
        };
        assert_eq!(of(Carried::Found(bare)), Holds::Undecided);
        assert_eq!(of(Carried::AtLeast(1500.0)), Holds::Yes);
        assert_eq!(of(Carried::AtLeast(900.0)), Holds::Undecided);
        assert_eq!(of(Carried::Unknown), Holds::Undecided);
    }

    #[test]
    fn failed_requests_miss_a_goal_on_latency() {
        let counted = Counted {
            of: 1000,
            failed: 31,
            without_latency: 30,
            cpu_pct: None,
        };
        let goal = |text: &str| text.parse::<Goal>().unwrap();
        let judged = trial(goal("p99<10ms"), counted, |_| 0).unwrap();
        assert_eq!(judged.holds, Holds::No);
        assert_eq!(
            judged.why,
            "30 of 1000 requests miss it (3.00 %, 1.00 % allowed)"
        );
        assert!(trial(goal("p99<2x"), counted, |_| 0).is_none());
        assert_eq!(
            trial(goal("errors<5%"), counted, |_| 0).unwrap().holds,
            Holds::Yes
        );
    }

    #[test]
    fn a_ratio_is_decided_by_its_interval_and_what_is_doubted_does_not_hold() {
        let of = |low, high| ratio(Some(Estimate::within((low + high) / 2.0, low, high)), 0.95);
        assert_eq!(of(0.96, 1.1).holds, Holds::Yes);
        assert_eq!(of(0.9, 1.1).holds, Holds::Undecided);
        assert_eq!(of(0.8, 0.94).holds, Holds::No);
        let doubt = Doubt::BodyLengths {
            rate_rps: 1.0,
            bytes: 1.0,
            light_bytes: 2.0,
        };
        let doubted = |judged| unless_doubted(judged, &[doubt]).holds;
        assert_eq!(doubted(of(0.96, 1.1)), Holds::Undecided);
        assert_eq!(doubted(of(0.8, 0.94)), Holds::No);
    }
}
