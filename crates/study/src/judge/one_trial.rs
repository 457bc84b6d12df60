//! Whether one trial keeps a goal.

use super::doubted;
use crate::course::{self, Course, MeanLatency};
use crate::student;
use plimsoll_model::{Holds, Judgement};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Both tails together: an interval of 95 %.
const TAIL: f64 = 0.025;

/// Requests, and how many of them miss a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    pub of: u64,
    pub missed: u64,
}

impl Missed {
    pub(crate) fn sum(parts: &[Missed]) -> Missed {
        let sum = |of: fn(&Missed) -> u64| parts.iter().map(of).fold(0, u64::saturating_add);
        Missed {
            of: sum(|part| part.of),
            missed: sum(|part| part.missed),
        }
    }

    /// NaN of none.
    pub(crate) fn share(self) -> f64 {
        self.missed as f64 / self.of as f64
    }
}

/// Whether no more than an allowed share of the requests of one trial misses a goal. `parts` are its
/// equal parts in time; without them requests that are slow together count as if each were by itself.
///
/// Both must exclude the opposite: the exact binomial test, which is about independent requests, and
/// an interval of Student's t from how much the parts differ, which a pause widens (the linearised
/// variance of a ratio of means over clusters; Cochran, Sampling Techniques, 1977, section 6.3).
pub fn trial(whole: Missed, parts: &[Missed], allowed: f64) -> Judgement {
    let missed = whole.missed.min(whole.of);
    let pct = 100.0 * missed as f64 / (whole.of as f64).max(1.0);
    let mut why = format!(
        "{missed} of {} requests miss it ({pct:.2} %, {:.2} % allowed)",
        whole.of,
        100.0 * allowed
    );
    let alone = share(missed, whole.of, allowed);
    let holds = unless_together(alone, parts, allowed);
    if holds != alone {
        why += ", but they are slow together: a longer run decides";
    }
    Judgement { holds, why }
}

/// What all parts together show, if they agree.
pub(crate) fn decided(parts: &[Missed], allowed: f64) -> Holds {
    let sum = Missed::sum(parts);
    unless_together(share(sum.missed, sum.of, allowed), parts, allowed)
}

fn unless_together(holds: Holds, parts: &[Missed], allowed: f64) -> Holds {
    match by_parts(parts, allowed) {
        Some(other) if other != holds => Holds::Undecided,
        _ => holds,
    }
}

/// The same of equal parts of one rate, of which the last do not contradict the others.
pub fn steady_trial(whole: Missed, parts: &[Missed], allowed: f64) -> Judgement {
    let judged = trial(whole, parts, allowed);
    match course::of_misses(judged.holds, parts, allowed) {
        None => judged,
        Some(Course::Faster) => doubted(
            judged,
            "fewer towards its end: the service got faster, or something slowed its beginning; \
             --warm-up, or a longer run, decides",
        ),
        Some(Course::Slower) => doubted(
            judged,
            "too many towards its end: the service got slower; a longer run decides",
        ),
    }
}

/// The part that misses a goal most clearly, where it does by itself; the parts may have different rates. The
/// tail is divided among them (Bonferroni).
pub fn part_that_misses(parts: &[Missed], allowed: f64) -> Option<usize> {
    let tail = |part: &Missed| {
        let by_chance = Binomial::new(allowed, part.of).ok()?;
        Some(by_chance.sf(part.missed.checked_sub(1)?))
    };
    let tails = parts.iter().enumerate();
    let tails = tails.filter_map(|(nth, part)| Some((nth, tail(part)?)));
    let (nth, least) = tails.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (least <= TAIL / parts.len() as f64).then_some(nth)
}

/// What is broken only because requests waited for one of the client's connections is undecided:
/// `without` that wait.
pub fn unless_by_waiting(
    judged: Judgement,
    without: Missed,
    allowed: f64,
    because: &str,
) -> Judgement {
    match judged.holds {
        Holds::No if share(without.missed, without.of, allowed) != Holds::No => {
            doubted(judged, because)
        }
        _ => judged,
    }
}

/// What is missed while latency falls towards the end is undecided. `parts` are equal parts of the time.
pub fn unless_latency_falls(judged: Judgement, parts: &[MeanLatency]) -> Judgement {
    match judged.holds == Holds::No && course::falls_at_the_end(parts) {
        false => judged,
        true => doubted(
            judged,
            "latency falls towards its end: the service works off a queue, or gets faster; --warm-up, or a longer \
             run, decides",
        ),
    }
}

/// Whether the mean of a share lies below a limit, both in percent and from equal parts of the time: by an
/// interval of Student's t, on which the last half of the parts has to agree. `None` of fewer than three.
pub fn mean_below(parts: &[f64], limit: f64) -> Option<Judgement> {
    let below = |parts: &[f64]| {
        let mean = student::mean(parts)?;
        let (low, high) = (mean.low?, mean.high?);
        let holds = match (high < limit, low >= limit) {
            (true, _) => Holds::Yes,
            (_, true) => Holds::No,
            _ => Holds::Undecided,
        };
        let low = low.max(0.0);
        let why = format!("{:.1} % (95 % interval {low:.1} to {high:.1})", mean.value);
        Some((holds, why))
    };
    let (holds, why) = below(parts)?;
    let judged = Judgement { holds, why };
    Some(match below(&parts[parts.len() / 2..]) {
        Some((tail, why)) if tail != holds => doubted(judged, &format!("{why} in its last half")),
        _ => judged,
    })
}

/// `None` where the parts do not differ, or are too few.
fn by_parts(parts: &[Missed], allowed: f64) -> Option<Holds> {
    let whole = Missed::sum(parts);
    let (all, count) = (whole.of as f64, parts.len() as f64);
    let ratio = whole.share();
    let squares: f64 = parts
        .iter()
        .map(|part| (part.missed as f64 - ratio * part.of as f64).powi(2))
        .sum();
    let deviation = (count / (count - 1.0) * squares).sqrt() / all;
    if parts.len() < student::FEWEST || !ratio.is_finite() || deviation == 0.0 {
        return None;
    }
    let wide = student::quantile(TAIL, count - 1.0)? * deviation;
    Some(if ratio + wide < allowed {
        Holds::Yes
    } else if ratio - wide > allowed {
        Holds::No
    } else {
        Holds::Undecided
    })
}

pub(crate) fn share(missed: u64, of: u64, allowed: f64) -> Holds {
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
    use std::time::Duration;

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
    fn requests_that_are_slow_together_decide_less() {
        let part = |missed| Missed { of: 100, missed };
        let judged = |missed: [u64; 20]| {
            let whole = Missed {
                of: 2000,
                missed: missed.iter().sum(),
            };
            trial(whole, &missed.map(part), 0.01)
        };
        // 60 requests of one pause, or three in each part.
        let mut pause = [0; 20];
        pause[7] = 60;
        let judged_pause = judged(pause);
        assert_eq!(judged_pause.holds, Holds::Undecided);
        assert!(
            judged_pause.why.contains("slow together"),
            "{judged_pause:?}"
        );
        let spread = std::array::from_fn(|nth| 2 + nth as u64 % 3);
        assert_eq!(judged(spread).holds, Holds::No);
        assert_eq!(judged([0; 20]).holds, Holds::Yes);
        let whole = Missed {
            of: 2000,
            missed: 60,
        };
        assert_eq!(trial(whole, &[], 0.01).holds, Holds::No);
        assert_eq!(
            trial(whole, &[], 0.01).why,
            "60 of 2000 requests miss it (3.00 %, 1.00 % allowed)"
        );
    }

    #[test]
    fn a_part_that_misses_by_itself_is_found() {
        let parts = |first: u64, second: u64| {
            let first = Missed {
                of: 100,
                missed: first,
            };
            let second = Missed {
                of: 25_000,
                missed: second,
            };
            part_that_misses(&[first, second], 0.01)
        };
        assert_eq!(parts(99, 0), Some(0));
        assert_eq!(parts(0, 500), Some(1));
        assert_eq!(parts(2, 200), None, "by chance");
        assert_eq!(part_that_misses(&[], 0.01), None);
        assert_eq!(part_that_misses(&[Missed { of: 0, missed: 0 }], 0.01), None);
    }

    #[test]
    fn what_only_waiting_for_a_connection_breaks_is_undecided() {
        let broken = trial(
            Missed {
                of: 3000,
                missed: 3000,
            },
            &[],
            0.01,
        );
        let holds = |missed| {
            let without = Missed { of: 3000, missed };
            unless_by_waiting(broken.clone(), without, 0.01, "they waited").holds
        };
        assert_eq!(holds(0), Holds::Undecided);
        assert_eq!(holds(30), Holds::Undecided);
        assert_eq!(holds(2900), Holds::No);
    }

    #[test]
    fn a_queue_that_is_worked_off_leaves_a_broken_goal_undecided() {
        let parts = [Missed { of: 50, missed: 50 }; 20];
        let broken = steady_trial(Missed::sum(&parts), &parts, 0.01);
        let of = |mean: fn(u64) -> u64| {
            let of = |nth| MeanLatency::Of(Duration::from_millis(mean(nth)));
            let means: Vec<MeanLatency> = (0..20).map(of).collect();
            unless_latency_falls(broken.clone(), &means).holds
        };
        assert_eq!(of(|nth| 6000 - 300 * nth), Holds::Undecided);
        assert_eq!(of(|nth| 300 * nth), Holds::No);
        assert_eq!(of(|nth| 40 + nth % 3), Holds::No);
    }

    #[test]
    fn a_share_of_cpu_time_is_decided_where_the_last_half_agrees() {
        let of = |parts: &[f64], limit| mean_below(parts, limit).map(|judged| judged.holds);
        let steady = [30.0, 31.0, 29.0, 30.0, 30.5, 29.5, 30.0, 31.0, 30.0, 29.0];
        assert_eq!(of(&steady, 40.0), Some(Holds::Yes));
        assert_eq!(of(&steady, 20.0), Some(Holds::No));
        assert_eq!(of(&steady, 30.2), Some(Holds::Undecided));
        // 90 % in the last second only, or 80 % in the first three.
        let at_last = [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 90.0, 90.0];
        assert_eq!(of(&at_last, 60.0), Some(Holds::Undecided));
        let at_first = [80.0, 80.0, 80.0, 80.0, 80.0, 8.0, 8.0, 8.0, 8.0, 8.0];
        assert_eq!(of(&at_first, 15.0), Some(Holds::Undecided));
        assert_eq!(of(&[8.0, 8.0], 60.0), None);
    }
}
