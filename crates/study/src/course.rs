//! Whether a service got faster or slower in the course of one trial, from equal parts of its time.
//!
//! Intervals over the parts take them for exchangeable. Those of a service that compiles or caches as it
//! runs are not: what its first parts show does not hold for later ones.

use crate::judge::{Missed, decided};
use crate::{judge, student};
use plimsoll_model::Holds;
use std::time::Duration;

/// A record may hold any number of parts, and the order of each pair of them is looked at.
const MOST_PARTS: usize = 100;

/// Mean latency of the requests of a part, or what it is at least because some of them had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeanLatency {
    Of(Duration),
    AtLeast(Duration),
}

impl MeanLatency {
    /// Those without an answer took longer than any that had one.
    fn ranked(self) -> f64 {
        match self {
            MeanLatency::Of(mean) => mean.as_secs_f64(),
            MeanLatency::AtLeast(_) => f64::INFINITY,
        }
    }
}

/// How a service changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    Faster,
    Slower,
}

/// Whether the last half or the last quarter of the parts contradicts what all of them show about a share
/// of requests: it misses less than the whole, by the exact binomial test, and by itself does not show
/// that too many miss; or it shows that too many do where the whole has few enough.
pub fn of_misses(shown: Holds, parts: &[Missed], allowed: f64) -> Option<Course> {
    let whole = Missed::sum(parts);
    let contradicts = |tail: &[Missed]| {
        let (by_itself, sum) = (decided(tail, allowed), Missed::sum(tail));
        match shown {
            Holds::No if by_itself != Holds::No => {
                let misses_less = judge::share(sum.missed, sum.of, whole.share()) == Holds::Yes;
                misses_less.then_some(Course::Faster)
            }
            Holds::Yes if by_itself == Holds::No => Some(Course::Slower),
            _ => None,
        }
    };
    let mut tails = tails(parts).filter(|tail| tail.len() >= student::FEWEST);
    tails.find_map(contradicts)
}

/// Standard errors by which the order of values has to differ from chance (Kendall, A New Measure of Rank
/// Correlation, 1938). Of 5 parts all have to fall, of 10 parts 36 of the 45 pairs: either happens by chance in
/// 0.8 % of trials.
const FALLS: f64 = 2.2;

/// Whether mean latency falls within the last half or the last quarter of the parts that were answered: as
/// where a service works off a queue. What it does without the queue is unknown then. Requests that had no answer
/// at the end waited the less the later they came, so the parts from the first of them on show nothing; and where
/// that one has waited for longer than the part before it took, no queue gets shorter.
pub fn falls_at_the_end(parts: &[MeanLatency]) -> bool {
    if parts.len() > MOST_PARTS {
        return false;
    }
    let is_answered = |part: &MeanLatency| matches!(part, MeanLatency::Of(_));
    let answered = parts
        .iter()
        .rposition(is_answered)
        .map_or(0, |last| last + 1);
    let seconds: Vec<f64> = parts[..answered].iter().map(|part| part.ranked()).collect();
    if let (Some(last), Some(MeanLatency::AtLeast(waited))) = (seconds.last(), parts.get(answered))
        && waited.as_secs_f64() > *last
    {
        return false;
    }
    tails(&seconds).any(falls)
}

fn falls(tail: &[f64]) -> bool {
    let n = tail.len() as f64;
    let order = |(at, earlier): (usize, &f64)| {
        let signs = tail[at + 1..]
            .iter()
            .map(|later| earlier.total_cmp(later) as i32);
        signs.sum::<i32>()
    };
    let sum: i32 = tail.iter().enumerate().map(order).sum();
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    f64::from(sum - 1) >= FALLS * deviation
}

/// The last half and the last quarter.
fn tails<T>(parts: &[T]) -> impl Iterator<Item = &[T]> {
    [2, 4]
        .into_iter()
        .map(|of| &parts[parts.len() - parts.len() / of..])
}

/// How many times as long the slow parts have to take as the others.
const FASTER_BY: f64 = 2.0;
/// Fewer may be one pause. That the three longest of 20 parts are the first three happens by chance once
/// in 1,140 trials.
const FEWEST_SLOW: usize = 3;

/// How many parts passed before latency changed: each of the parts on one side of it, three or more at the
/// beginning or at the end, took twice as long as all but one of the others, which a pause may have met.
pub fn changed_after(parts: &[MeanLatency]) -> Option<(usize, Course)> {
    if parts.len() > MOST_PARTS {
        return None;
    }
    let mut means: Vec<f64> = parts.iter().map(|part| part.ranked()).collect();
    if let Some(slow) = fell_after(&means) {
        return Some((slow, Course::Faster));
    }
    means.reverse();
    fell_after(&means).map(|slow| (means.len() - slow, Course::Slower))
}

fn fell_after(means: &[f64]) -> Option<usize> {
    let last = means.len().checked_sub(FEWEST_SLOW)?;
    (FEWEST_SLOW..=last).rev().find(|first| {
        let (slow, rest) = means.split_at(*first);
        let mut rest = rest.to_vec();
        rest.sort_unstable_by(f64::total_cmp);
        let shortest = slow.iter().copied().fold(f64::INFINITY, f64::min);
        shortest > FASTER_BY * rest[rest.len() - 2]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(missed: &[u64]) -> Vec<Missed> {
        let part = |missed: &u64| Missed {
            of: 100,
            missed: *missed,
        };
        missed.iter().map(part).collect()
    }

    /// Of 20 parts with 100 requests each, 1 % of which may miss.
    fn course(shown: Holds, at_first: (usize, u64), then: u64) -> Option<Course> {
        let mut missed = [then; 20];
        missed[..at_first.0].fill(at_first.1);
        of_misses(shown, &parts(&missed), 0.01)
    }

    #[test]
    fn a_service_that_is_slow_at_first_is_not_broken() {
        for slow in [3, 8, 12, 15] {
            let found = course(Holds::No, (slow, 100), 0);
            assert_eq!(found, Some(Course::Faster), "{slow}");
        }
        assert_eq!(course(Holds::No, (19, 100), 0), None, "too late to show it");
        assert_eq!(course(Holds::No, (0, 0), 5), None);
        assert_eq!(course(Holds::No, (8, 40), 20), None, "broken all the time");
        // Every second part meets a pause: so does the end.
        let every_second: Vec<u64> = (0..20).map(|nth| 40 * (nth % 2)).collect();
        assert_eq!(of_misses(Holds::No, &parts(&every_second), 0.01), None);
    }

    #[test]
    fn a_service_that_is_slow_at_last_does_not_keep_a_goal() {
        assert_eq!(course(Holds::Yes, (15, 0), 3), Some(Course::Slower));
        assert_eq!(course(Holds::Yes, (15, 0), 0), None);
        assert_eq!(course(Holds::Undecided, (15, 0), 100), None);
        assert_eq!(of_misses(Holds::Yes, &[], 0.01), None);
    }

    fn ms(means: &[u64]) -> Vec<MeanLatency> {
        let of = |ms: &u64| MeanLatency::Of(Duration::from_millis(*ms));
        means.iter().map(of).collect()
    }

    fn open(waited_ms: impl Iterator<Item = u64>) -> Vec<MeanLatency> {
        let of = |ms| MeanLatency::AtLeast(Duration::from_millis(ms));
        waited_ms.map(of).collect()
    }

    #[test]
    fn latency_changed_where_the_first_or_the_last_parts_are_the_longest() {
        let after = |means: &[u64]| changed_after(&ms(means)).map(|(after, _)| after);
        let with = |slow: &[u64]| [slow, &[10; 17]].concat();
        assert_eq!(after(&with(&[25, 30, 21])), Some(3));
        assert_eq!(after(&with(&[25, 30, 19])), None, "not twice as long");
        assert_eq!(after(&with(&[25, 30])), None, "may be one pause");
        let mut paused = with(&[25, 30, 21]);
        paused[9] = 500;
        assert_eq!(after(&paused), Some(3), "one pause later");
        paused[12] = 500;
        assert_eq!(after(&paused), None);
        assert_eq!(after(&[400, 350, 300, 200, 100, 60, 10, 10, 10]), Some(6));
        assert_eq!(
            after(&[&[10; 16][..], &[21, 30, 25, 40]].concat()),
            Some(16)
        );
        assert_eq!(after(&[10; 20]), None);
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn a_queue_that_is_worked_off_makes_latency_fall_at_the_end() {
        let falls = |means: &[u64]| falls_at_the_end(&ms(means));
        let rises_and_falls: Vec<u64> = (0..12)
            .map(|n| 500 * n)
            .chain((0..8).map(|n| 5500 - 600 * n))
            .collect();
        assert!(falls(&rises_and_falls));
        let late: Vec<u64> = (0..15)
            .map(|n| 400 * n)
            .chain([5600, 5500, 5300, 4000, 3900])
            .collect();
        assert!(falls(&late), "the last quarter alone");
        assert!(!falls(&(0..20).collect::<Vec<_>>()));
        let steady = [
            20, 22, 19, 21, 23, 20, 18, 22, 21, 20, 19, 22, 20, 21, 18, 22, 20, 19, 21, 20,
        ];
        assert!(!falls(&steady));
        assert!(!falls(&[]) && !falls(&[9, 5, 1, 1]));
    }

    /// Of requests that are never answered, those that came later have waited less.
    #[test]
    fn requests_without_an_answer_are_no_queue_that_is_worked_off() {
        let hangs = open((0..20).map(|n| 4000 - 150 * n));
        assert!(!falls_at_the_end(&hangs));
        assert_eq!(changed_after(&hangs), None);
        let overload = [
            ms(&[200, 700, 1200, 1700, 2200, 2700]),
            open((0..14).map(|n| 2800 - 150 * n)),
        ];
        assert!(!falls_at_the_end(&overload.concat()));
        let stops = [ms(&[1; 6]), open((0..14).map(|n| 3000 - 150 * n))].concat();
        assert!(!falls_at_the_end(&stops));
        assert_eq!(changed_after(&stops), Some((6, Course::Slower)));
        let falling: Vec<u64> = (0..14).map(|n| 6000 - 200 * n).collect();
        let stops = [ms(&falling), open((0..6).map(|n| 4000 - 150 * n))].concat();
        assert!(!falls_at_the_end(&stops), "it has waited for longer");
        let goes_on = [ms(&falling), open((0..6).map(|n| 2500 - 150 * n))].concat();
        assert!(falls_at_the_end(&goes_on));
        // Those that timed out at the beginning.
        let timed_out = [open([9000; 4].into_iter()), ms(&[1; 16])].concat();
        assert_eq!(changed_after(&timed_out), Some((4, Course::Faster)));
    }
}
