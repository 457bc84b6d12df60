//! Whether a service got faster or slower in the course of one trial, from equal parts of its time.
//!
//! Intervals over the parts take them for exchangeable. Those of a service that compiles or caches as it
//! runs are not: what its first parts show does not hold for later ones.

use crate::judge::{Missed, decided};
use crate::{judge, student};
use plimsoll_model::Holds;
use std::time::Duration;

/// Which way a service went.
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
    let tails = [2, 4].map(|of| &parts[parts.len() - parts.len() / of..]);
    let mut tails = tails.into_iter().filter(|t| t.len() >= student::FEWEST);
    tails.find_map(contradicts)
}

/// How many times as long the first parts have to take as those after them.
const FASTER_BY: f64 = 2.0;
/// Fewer may be one pause. That the three longest of 20 parts are the first three happens by chance once
/// in 1,140 trials.
const FEWEST_SLOW: usize = 3;

/// How many parts passed before latency fell: each of the first so many took twice as long as all but one
/// of the rest, which a pause may have met. `mean` is the mean latency of a part.
pub fn became_faster_after<T>(parts: &[T], mean: impl Fn(&T) -> Option<Duration>) -> Option<usize> {
    let means: Option<Vec<Duration>> = parts.iter().map(mean).collect();
    let means = means?;
    let last = means.len().checked_sub(FEWEST_SLOW)?;
    (FEWEST_SLOW..=last).rev().find(|first| {
        let (slow, rest) = means.split_at(*first);
        let mut rest = rest.to_vec();
        rest.sort_unstable();
        let shortest = slow.iter().min().copied().unwrap_or_default();
        let longest = rest.get(rest.len() - 2).copied().unwrap_or_default();
        shortest > longest.mul_f64(FASTER_BY)
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

    fn fell(means_ms: &[u64]) -> Option<usize> {
        became_faster_after(means_ms, |ms| Some(Duration::from_millis(*ms)))
    }

    #[test]
    fn latency_fell_where_the_first_parts_are_the_longest() {
        let with = |slow: &[u64]| [slow, &[10; 17]].concat();
        assert_eq!(fell(&with(&[25, 30, 21])), Some(3));
        assert_eq!(fell(&with(&[25, 30, 19])), None, "not twice as long");
        assert_eq!(fell(&with(&[25, 30])), None, "may be one pause");
        let mut paused = with(&[25, 30, 21]);
        paused[9] = 500;
        assert_eq!(fell(&paused), Some(3), "one pause later");
        paused[12] = 500;
        assert_eq!(fell(&paused), None);
        assert_eq!(fell(&[400, 350, 300, 200, 100, 60, 10, 10, 10]), Some(6));
        assert_eq!(fell(&[10; 20]), None);
        assert_eq!(fell(&[]), None);
        assert_eq!(became_faster_after(&[30, 30, 30, 1, 1, 1], |_| None), None);
    }
}
