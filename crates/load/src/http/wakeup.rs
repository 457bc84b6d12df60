//! Learns how long before an event to set the timer, so as to be awake in time.

/// A larger delay means a busy machine, not wake-up latency.
const MAX_NS: u64 = 100_000;
/// How long before the end of the second of two sleeps the first one ends. 40, 70 and 100 us are alike.
const SECOND_SLEEP_NS: u64 = 70_000;
/// A longer sleep ends later, since the CPU enters a deeper state and its caches are used by others: on a virtual
/// machine one sleep of 300 us in 20 ends 30 to 45 us late, and one of 50 us 10 to 15 us.
const LONG_NS: u64 = 2 * SECOND_SLEEP_NS;
/// About the CPU time of a sleep and wake-up in a virtual machine, if its timer is set while an earlier one runs.
const SLEEP_COSTS_NS: u64 = 9_000;

/// Estimates this thread's wake-up latency: a few microseconds on an idle
/// desktop, 20 to 50 in a virtual machine, more in deep idle states.
///
/// The thread sets its timers by the 80th percentile and polls for the remaining time after a wake-up. In place of a
/// long sleep there are two, the second a short one, as long as that pays: while the 95th percentile of long sleeps
/// is above that of short ones by more than a sleep costs.
#[derive(Debug)]
pub(super) struct WakeUp {
    short: Lateness,
    long: Lateness,
}

/// When the sleeps before an event are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SleepEnds {
    /// That of the first of two.
    pub(super) first: Option<u64>,
    pub(super) last: u64,
}

impl Default for WakeUp {
    /// Sleeps twice and polls for the most: at a low rate many seconds pass until less is learnt, and either costs
    /// little there.
    fn default() -> WakeUp {
        WakeUp {
            short: Lateness::new(0),
            long: Lateness::new(MAX_NS),
        }
    }
}

impl WakeUp {
    /// When to set timers in order to be awake at `at_ns`, by a thread that could sleep from `from_ns` on.
    pub(super) fn ahead_of(&self, from_ns: u64, at_ns: u64) -> SleepEnds {
        let last = self.short.ahead_of(at_ns);
        if last.saturating_sub(from_ns) <= LONG_NS {
            return SleepEnds { first: None, last };
        }
        match self.long.p95.ns > self.short.p95.ns + SLEEP_COSTS_NS {
            true => SleepEnds {
                first: Some(last - SECOND_SLEEP_NS),
                last,
            },
            false => SleepEnds {
                first: None,
                last: self.long.ahead_of(at_ns),
            },
        }
    }

    /// The 80th percentile of how late short sleeps end.
    pub(super) fn short_lateness_ns(&self) -> u64 {
        self.short.p80.ns
    }

    /// Records a wake-up at `now` that was planned for `planned_ns`, from a sleep since `from_ns`.
    pub(super) fn record(&mut self, from_ns: u64, planned_ns: u64, now: u64) {
        let is_long = planned_ns.saturating_sub(from_ns) > LONG_NS;
        let lateness = if is_long {
            &mut self.long
        } else {
            &mut self.short
        };
        lateness.record(now.saturating_sub(planned_ns));
    }
}

/// How late sleeps of one kind end.
#[derive(Debug)]
struct Lateness {
    p80: Percentile<80>,
    p95: Percentile<95>,
}

impl Lateness {
    /// One whose 95th percentile is taken for `p95_ns` until it is learnt.
    fn new(p95_ns: u64) -> Lateness {
        Lateness {
            p80: Percentile { ns: MAX_NS },
            p95: Percentile { ns: p95_ns },
        }
    }

    fn ahead_of(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.p80.ns)
    }

    fn record(&mut self, late_ns: u64) {
        self.p80.record(late_ns);
        self.p95.record(late_ns);
    }
}

/// The percentile P, by stochastic approximation (Robbins and Monro, 1951): a value above the estimate raises it by P
/// parts, any other lowers it by 100 - P, so an outlier has little effect.
#[derive(Debug)]
struct Percentile<const P: u64> {
    ns: u64,
}

impl<const P: u64> Percentile<P> {
    const PART_NS: u64 = 25;

    fn record(&mut self, ns: u64) {
        self.ns = match ns > self.ns {
            true => (self.ns + P * Self::PART_NS).min(MAX_NS),
            false => self.ns.saturating_sub((100 - P) * Self::PART_NS),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// The largest change of a timer by one wake-up.
    const STEP_NS: u64 = 2_000;

    /// What is known after many sleeps of `slept` nanoseconds with the given delays.
    fn sleep(wake_up: &mut WakeUp, slept: u64, late: impl Fn(u64) -> u64) {
        (0..10_000).for_each(|i| wake_up.record(0, slept, slept + late(i)));
    }

    /// The estimate after many short sleeps with the given delays.
    fn learned(late: impl Fn(u64) -> u64) -> u64 {
        let mut wake_up = WakeUp::default();
        sleep(&mut wake_up, 50_000, late);
        wake_up.short_lateness_ns()
    }

    #[test]
    fn constant_wake_up_latency_is_learned() {
        for late in [3_000, 20_000, 60_000] {
            assert!(learned(|_| late).abs_diff(late) <= STEP_NS, "{late}");
        }
    }

    #[test]
    fn estimate_is_the_80th_percentile() {
        // 0 to 49 us, uniform: the 80th percentile is 40 us.
        let spread = learned(|i| (i * 7 % 50) * 1_000);
        assert!(spread.abs_diff(40_000) <= 6_000, "{spread}");
    }

    #[test]
    fn estimate_is_capped() {
        assert_eq!(learned(|_| 5 * MS), MAX_NS);
        let rare = learned(|i| if i % 20 == 0 { 5 * MS } else { 4_000 });
        assert!(rare <= 12_000, "{rare}");
    }

    #[test]
    fn timer_is_set_earlier_by_the_estimate() {
        let mut wake_up = WakeUp::default();
        let ends = |wake_up: &WakeUp, at| wake_up.ahead_of(at - LONG_NS, at).last;
        assert_eq!(ends(&wake_up, MS), 900_000);
        wake_up.record(0, 10_000, 20_000);
        assert_eq!(ends(&wake_up, MS), 900_500);
        assert_eq!(wake_up.ahead_of(0, 100).last, 0);
    }

    #[test]
    fn a_long_sleep_is_two_while_it_ends_later_than_short_ones() {
        let mut wake_up = WakeUp::default();
        let two = |wake_up: &WakeUp| {
            let ends = wake_up.ahead_of(MS, 2 * MS);
            assert!(
                ends.first
                    .is_none_or(|first| first + SECOND_SLEEP_NS == ends.last)
            );
            assert!(
                wake_up
                    .ahead_of(2 * MS - 200_000, 2 * MS - 50_000)
                    .first
                    .is_none()
            );
            ends.first.is_some()
        };
        assert!(two(&wake_up), "until it is learnt");
        sleep(&mut wake_up, 50_000, |_| 10_000);
        sleep(
            &mut wake_up,
            MS,
            |i| if i % 10 == 0 { 40_000 } else { 10_000 },
        );
        assert!(two(&wake_up), "one in ten is late");
        sleep(
            &mut wake_up,
            MS,
            |i| if i % 50 == 0 { 90_000 } else { 15_000 },
        );
        assert!(!two(&wake_up), "one in 50 is late");
        let last = wake_up.ahead_of(MS, 2 * MS).last;
        assert!(last.abs_diff(2 * MS - 15_000) <= STEP_NS, "{last}");
        sleep(&mut wake_up, MS, |_| 25_000);
        assert!(two(&wake_up), "they became late");
    }
}
