//! Counting as in the load generator: which requests belong to the window, how
//! they ended, and the counts of each second.

use crate::compact_histogram::CompactHistogram;
use plimsoll_model::{Second, Work};
use std::time::Duration;

/// How long to wait for the last answers of a window, in seconds.
const DRAIN: f64 = 1.0;

/// A remainder of a window shorter than this belongs to the second before.
const STUB: f64 = 0.5;

/// Slips of a generator that keeps up, in equal parts. They are recorded but
/// not added to latencies.
const SLIPS: [Duration; 4] = [
    Duration::from_micros(2),
    Duration::from_micros(3),
    Duration::from_micros(4),
    Duration::from_micros(5),
];

/// The timeline of a trial, in seconds from its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline {
    pub(crate) opens: f64,
    pub(crate) closes: f64,
    pub(crate) ends: f64,
    pub(crate) seconds: usize,
}

impl Timeline {
    pub(crate) fn new(warm_up: Duration, window: Duration) -> Timeline {
        let (opens, length) = (warm_up.as_secs_f64(), window.as_secs_f64());
        let rest = length - length.floor();
        let whole = length as usize + usize::from(rest >= STUB);
        Timeline {
            opens,
            closes: opens + length,
            ends: opens + length + DRAIN,
            seconds: whole.max(1),
        }
    }

    /// Index of the second that contains a time before the window's close; 0 is
    /// the warm-up.
    fn second(&self, at: f64) -> usize {
        if at < self.opens {
            return 0;
        }
        1 + ((at - self.opens) as usize).min(self.seconds - 1)
    }

    /// Beginning and end of second `index`.
    fn edges(&self, index: usize) -> (f64, f64) {
        match index {
            0 => (0.0, self.opens),
            _ => {
                let from = self.opens + (index - 1) as f64;
                let last = index == self.seconds;
                (from, if last { self.closes } else { from + 1.0 })
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
struct SecondCounts {
    sent: u64,
    failed: u64,
    answered: CompactHistogram,
}

#[derive(Debug)]
pub(crate) struct Tally {
    timeline: Timeline,
    work: Work,
    seen: Vec<SecondCounts>,
    /// Requests of the window that were sent on time.
    on_time: u64,
    last_answer: f64,
}

impl Tally {
    pub(crate) fn new(timeline: Timeline) -> Tally {
        Tally {
            timeline,
            work: Work::default(),
            seen: (0..=timeline.seconds)
                .map(|_| SecondCounts::default())
                .collect(),
            on_time: 0,
            last_answer: timeline.closes,
        }
    }

    /// A request intended at `intended` was sent at `sent`.
    fn sent(&mut self, intended: f64, sent: f64) {
        if sent < self.timeline.closes {
            self.seen[self.timeline.second(sent)].sent += 1;
        }
        if intended >= self.timeline.opens {
            self.work.intended += 1;
            self.work.sent += u64::from(sent <= self.timeline.ends);
            if sent > intended {
                self.work.slip.record_ns(ns(sent - intended));
            } else {
                self.on_time += 1;
            }
        }
    }

    /// The request was refused at once.
    pub(crate) fn refused(&mut self, intended: f64, sent: f64) {
        self.sent(intended, sent);
        if sent < self.timeline.closes {
            self.seen[self.timeline.second(sent)].failed += 1;
        }
        if intended >= self.timeline.opens {
            if sent <= self.timeline.ends {
                self.work.errors.status += 1;
            } else {
                self.unfinished(intended);
            }
        }
    }

    /// The answer arrived at `answered`, if the trial lasts that long.
    pub(crate) fn served(&mut self, intended: f64, sent: f64, answered: f64) {
        self.sent(intended, sent);
        let latency = answered - intended;
        if answered < self.timeline.closes {
            let second = self.timeline.second(answered);
            self.seen[second].answered.record(latency);
            self.work.completed += u64::from(answered >= self.timeline.opens);
        }
        if intended >= self.timeline.opens {
            if answered <= self.timeline.ends {
                self.work.latency.record_ns(ns(latency));
                self.last_answer = self.last_answer.max(answered);
            } else {
                self.unfinished(intended);
            }
        }
    }

    fn unfinished(&mut self, intended: f64) {
        self.work.unfinished += 1;
        self.work
            .latency
            .record_ns(ns(self.timeline.ends - intended));
        self.last_answer = self.timeline.ends;
    }

    /// The end of the trial: the last answer of its window, or the end of the
    /// drain.
    pub(crate) fn ended(&self) -> f64 {
        self.last_answer
    }

    /// The totals, and each second without its CPU use.
    pub(crate) fn finish(mut self) -> (Work, Vec<Second>) {
        let parts = SLIPS.len() as u64;
        for (index, slip) in (0..parts).zip(SLIPS) {
            // Rounding such that the parts add up to the total.
            let count = (self.on_time + index) / parts;
            self.work.slip.record_many(slip, count);
        }
        let mut in_flight = 0;
        let mut seconds = Vec::with_capacity(self.seen.len());
        for (index, seen) in self.seen.iter().enumerate() {
            let (from, to) = self.timeline.edges(index);
            in_flight += seen.sent;
            in_flight -= seen.answered.count() + seen.failed;
            seconds.push(Second {
                at: Duration::from_secs_f64(to),
                length: Duration::from_secs_f64(to - from),
                measured: index > 0,
                sent: seen.sent,
                completed: seen.answered.count(),
                errors: seen.failed,
                in_flight,
                p50: seen.answered.quantile(0.5),
                p99: seen.answered.quantile(0.99),
                cpu: None,
                steal: None,
            });
        }
        (self.work, seconds)
    }
}

/// Whole nanoseconds, saturating.
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_remainder_belongs_to_the_second_before() {
        let seconds = |millis| Timeline::new(Duration::ZERO, Duration::from_millis(millis)).seconds;
        let counted: Vec<usize> = [300, 1000, 1499, 1500, 5000, 5600].map(seconds).to_vec();
        assert_eq!(counted, [1, 1, 1, 2, 5, 6]);
    }

    #[test]
    fn unanswered_requests_count_their_wait() {
        let timeline = Timeline::new(Duration::from_secs(1), Duration::from_secs(2));
        let mut tally = Tally::new(timeline);
        tally.served(0.5, 0.5, 1.5);
        tally.served(2.0, 2.0, 2.5);
        tally.served(2.1, 2.1, 3.5);
        tally.served(2.2, 2.2, f64::INFINITY);
        tally.refused(2.9, 2.9);
        assert_eq!(tally.ended(), 4.0);
        let (work, seconds) = tally.finish();
        assert_eq!((work.intended, work.sent), (4, 4));
        assert_eq!(work.completed, 2, "one of them of the warm-up");
        assert_eq!((work.unfinished, work.errors.status), (1, 1));
        assert_eq!(work.latency.count(), 3);
        let longest = work.latency.max().unwrap().as_secs_f64();
        assert!((longest / 1.8 - 1.0).abs() < 1e-3, "{longest}");
        let in_flight: Vec<u64> = seconds.iter().map(|s| s.in_flight).collect();
        assert_eq!(in_flight, [1, 0, 2]);
    }
}
