//! Learns how long before an event to set the timer, so as to be awake in time.

/// A larger delay means a busy machine, not wake-up latency.
const MAX_NS: u64 = 100_000;
/// Change of the estimate per wake-up, in nanoseconds.
const STEP_NS: u64 = 500;
/// One wake-up in this many may be later than the estimate.
const ONE_IN: u64 = 5;

/// Estimates this thread's wake-up latency: a few microseconds on an idle
/// desktop, 20 to 50 in a virtual machine, more in deep idle states.
///
/// The estimate is the 80th percentile, by stochastic approximation (Robbins
/// and Monro, 1951): a wake-up later than the estimate raises it by four steps,
/// any other lowers it by one, so an outlier has little effect. The thread
/// polls for the remaining time after a wake-up.
#[derive(Debug)]
pub(super) struct WakeUp {
    lateness_ns: u64,
}

impl Default for WakeUp {
    /// The most: at a low rate many seconds pass until it is learnt, and to poll too long costs little there.
    fn default() -> WakeUp {
        WakeUp {
            lateness_ns: MAX_NS,
        }
    }
}

impl WakeUp {
    /// When to set the timer in order to be awake at `at_ns`.
    pub(super) fn ahead_of(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.lateness_ns)
    }

    /// Records a wake-up at `now` that was planned for `planned_ns`.
    pub(super) fn record(&mut self, planned_ns: u64, now: u64) {
        let late = now.saturating_sub(planned_ns);
        self.lateness_ns = if late > self.lateness_ns {
            (self.lateness_ns + (ONE_IN - 1) * STEP_NS).min(MAX_NS)
        } else {
            self.lateness_ns.saturating_sub(STEP_NS)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimate after many wake-ups with the given delays.
    fn learned(late: impl Fn(u64) -> u64) -> u64 {
        let mut wake_up = WakeUp::default();
        (0..10_000).for_each(|i| wake_up.record(0, late(i)));
        wake_up.lateness_ns
    }

    #[test]
    fn constant_wake_up_latency_is_learned() {
        for late in [3_000, 20_000, 60_000] {
            assert!(learned(|_| late).abs_diff(late) <= 4 * STEP_NS, "{late}");
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
        assert_eq!(learned(|_| 5_000_000), MAX_NS);
        let rare = learned(|i| if i % 20 == 0 { 5_000_000 } else { 4_000 });
        assert!(rare <= 12_000, "{rare}");
    }

    #[test]
    fn timer_is_set_earlier_by_the_estimate() {
        let mut wake_up = WakeUp::default();
        assert_eq!(wake_up.ahead_of(1_000_000), 900_000);
        wake_up.record(0, 10_000);
        assert_eq!(wake_up.ahead_of(1_000_000), 900_500);
        assert_eq!(wake_up.ahead_of(100), 0);
    }
}
