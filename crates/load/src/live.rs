//! A rate that changes while it is offered.

use crate::arrivals::Gaps;
use plimsoll_model::{Arrivals, Rate};
use plimsoll_pool::Starts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long after it is made a change takes effect: twice the time in which workers look again, so
/// that a worker that wakes 50 ms late sees it before it counts.
const NOTICE: Duration = Duration::from_millis(100);

/// Changes closer than this are one.
const GRAIN_NS: u64 = 1_000_000;

/// The rate of a load, which any thread may change while the load runs.
///
/// The starts of a changing rate follow by inversion of its cumulative rate, as those of a
/// [`Schedule`](crate::arrivals::Schedule): a change loses and adds no request. Requests that were
/// due before a change takes effect keep their times.
#[derive(Debug)]
pub struct LiveRate {
    /// Ascending; the first begins at 0.
    pieces: Mutex<Vec<Piece>>,
}

/// A constant rate from a time on.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from_ns: u64,
    /// Requests expected before.
    before: f64,
    rate: Rate,
}

impl Piece {
    fn expected_by(&self, ns: u64) -> f64 {
        self.before + self.rate.get() * 1e-9 * ns.saturating_sub(self.from_ns) as f64
    }
}

impl LiveRate {
    pub fn new(rate: Rate) -> LiveRate {
        LiveRate {
            pieces: Mutex::new(vec![Piece {
                from_ns: 0,
                before: 0.0,
                rate,
            }]),
        }
    }

    /// Changes the rate 100 ms after `now_ns`, which is in nanoseconds since the load began.
    /// Returns when the change takes effect.
    pub fn set(&self, rate: Rate, now_ns: u64) -> u64 {
        let mut pieces = self.lock();
        let Some(last) = pieces.last_mut() else {
            return now_ns;
        };
        let from_ns = now_ns.saturating_add(crate::ns(NOTICE)).max(last.from_ns);
        if last.from_ns > 0 && from_ns - last.from_ns < GRAIN_NS {
            last.rate = rate;
            return last.from_ns;
        }
        let before = last.expected_by(from_ns);
        pieces.push(Piece {
            from_ns,
            before,
            rate,
        });
        from_ns
    }

    /// The rate at a time in nanoseconds since the load began.
    pub fn at(&self, ns: u64) -> Rate {
        let pieces = self.lock();
        let piece = last_where(&pieces, |piece| piece.from_ns <= ns);
        piece.map_or(Rate::ZERO, |piece| piece.rate)
    }

    /// Requests that are expected by a time in nanoseconds since the load began.
    pub fn expected_by(&self, ns: u64) -> f64 {
        let pieces = self.lock();
        let piece = last_where(&pieces, |piece| piece.from_ns <= ns);
        piece.map_or(0.0, |piece| piece.expected_by(ns))
    }

    /// When `count` requests are expected; `u64::MAX` if the last rate is zero and they are not.
    fn when_expected(&self, count: f64) -> u64 {
        let pieces = self.lock();
        let Some(piece) = last_where(&pieces, |piece| piece.before <= count) else {
            return u64::MAX;
        };
        let after = (count - piece.before) * 1e9 / piece.rate.get();
        match after.is_finite() {
            // `as` saturates.
            true => piece.from_ns.saturating_add(after as u64),
            false => u64::MAX,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Piece>> {
        // Each change is one push or one store.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn last_where(pieces: &[Piece], holds: impl Fn(&Piece) -> bool) -> Option<Piece> {
    let after = pieces.partition_point(holds);
    pieces.get(after.checked_sub(1)?).copied()
}

/// The starts of a [`LiveRate`].
#[derive(Debug, Clone)]
pub(crate) struct LiveStarts {
    rate: Arc<LiveRate>,
    gaps: Gaps,
}

impl LiveStarts {
    pub(crate) fn new(rate: &Arc<LiveRate>, arrivals: Arrivals, seed: u64) -> LiveStarts {
        LiveStarts {
            rate: Arc::clone(rate),
            gaps: Gaps::new(arrivals, seed),
        }
    }
}

impl Starts for LiveStarts {
    /// In mean gaps from the beginning.
    type Start = f64;

    fn following(&mut self) -> Option<f64> {
        Some(self.gaps.step())
    }

    fn at_ns(&self, start: f64) -> u64 {
        self.rate.when_expected(start)
    }

    fn notice(&self) -> Option<Duration> {
        Some(NOTICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(n: f64) -> Rate {
        Rate::per_second(n).unwrap()
    }

    fn starts(of: &Arc<LiveRate>, arrivals: Arrivals, until_ns: u64) -> Vec<u64> {
        let mut starts = LiveStarts::new(of, arrivals, 3);
        let next = || starts.following().map(|start| of.when_expected(start));
        std::iter::from_fn(next)
            .take_while(|at| *at < until_ns)
            .collect()
    }

    #[test]
    fn rate_changes_at_its_time_and_loses_no_request() {
        let live = Arc::new(LiveRate::new(rate(1000.0)));
        assert_eq!(live.set(rate(5000.0), 900_000_000), SECOND);
        live.set(Rate::ZERO, 1_900_000_000);
        live.set(rate(100.0), 2_900_000_000);
        let found = starts(&live, Arrivals::Constant, 4 * SECOND);
        let in_second = |s: u64| found.iter().filter(|at| **at / SECOND == s).count();
        let counts: Vec<usize> = (0..4).map(in_second).collect();
        let wanted = [1000, 5000, 0, 100];
        for (count, wanted) in counts.iter().zip(wanted) {
            assert!(count.abs_diff(wanted) <= 1, "{counts:?}");
        }
        assert_eq!(live.at(1_500_000_000).get(), 5000.0);
        assert_eq!(live.at(2_500_000_000), Rate::ZERO);
    }

    #[test]
    fn at_rate_zero_nothing_starts_until_it_changes() {
        let live = Arc::new(LiveRate::new(Rate::ZERO));
        let mut starts = LiveStarts::new(&live, Arrivals::Poisson, 1);
        let first = starts.following().unwrap();
        assert_eq!(starts.at_ns(first), u64::MAX);
        let from_ns = live.set(rate(1e6), 5 * SECOND);
        let at = starts.at_ns(first);
        assert!(at >= from_ns && at < from_ns + 1_000_000, "{at}");
    }

    #[test]
    fn changes_within_a_millisecond_are_one() {
        let live = LiveRate::new(rate(1.0));
        (0..1000).for_each(|i| {
            live.set(rate(i as f64), 7 * SECOND + i * 1000);
        });
        assert!(live.lock().len() <= 3, "{}", live.lock().len());
        assert_eq!(live.at(8 * SECOND).get(), 999.0);
    }

    proptest! {
        /// A change moves no start that is due before it takes effect, and keeps the order.
        #[test]
        fn changes_leave_the_past_as_it_was(
            changes in proptest::collection::vec((0u64..500_000_000, 0f64..5000.0), 1..12),
        ) {
            let live = Arc::new(LiveRate::new(rate(700.0)));
            let mut now = 0;
            let mut before = starts(&live, Arrivals::Poisson, 10 * SECOND);
            for (gap, changed) in changes {
                now += gap;
                let from_ns = live.set(rate(changed), now);
                let after = starts(&live, Arrivals::Poisson, 10 * SECOND);
                prop_assert!(after.is_sorted());
                let due = |all: &[u64]| all.iter().copied().filter(|at| *at < from_ns).collect::<Vec<_>>();
                prop_assert_eq!(due(&before), due(&after));
                before = after;
            }
        }
    }
}
