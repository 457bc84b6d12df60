//! Latency histograms that can be merged.

use hdrhistogram::Histogram as Hdr;
use std::fmt;
use std::time::Duration;

/// Values below are counted as this: far below what a clock read costs twice.
const LOWEST_NS: u64 = 64;
/// Values above are counted as this: no request is waited for that long.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Durations from 64 ns to one hour at 3 significant digits (HdrHistogram).
///
/// It has a fixed size of about 230 KB however many values are recorded.
#[derive(Clone, PartialEq)]
pub struct Histogram(Hdr<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    #[allow(
        clippy::expect_used,
        reason = "the three bounds are constants and within HdrHistogram's"
    )]
    pub fn new() -> Self {
        Histogram(
            Hdr::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
                .expect("constant bounds are valid"),
        )
    }

    /// Wraps a histogram of nanoseconds that was read from a file.
    ///
    /// Values outside this type's range are moved to its ends.
    pub fn from_hdr(hdr: &Hdr<u64>) -> Self {
        let mut own = Histogram::new();
        for step in hdr.iter_recorded() {
            own.0
                .saturating_record_n(step.value_iterated_to(), step.count_at_value());
        }
        own
    }

    /// The wrapped histogram of nanoseconds.
    pub fn as_hdr(&self) -> &Hdr<u64> {
        &self.0
    }

    pub fn record(&mut self, value: Duration) {
        self.record_ns(crate::ns::to_ns(value));
    }

    /// Adds one value given in nanoseconds.
    pub fn record_ns(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(LOWEST_NS));
    }

    /// Adds one value so many times.
    pub fn record_many(&mut self, value: Duration, count: u64) {
        let ns = crate::ns::to_ns(value).max(LOWEST_NS);
        self.0.saturating_record_n(ns, count);
    }

    /// Adds all values of another histogram.
    #[allow(clippy::expect_used, reason = "both have the same constant bounds")]
    pub fn merge(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("equal bounds always add");
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that a share `q` (0..=1) of all values do not exceed;
    /// `None` when nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.0.value_at_quantile(q)))
    }

    /// The mean of all values; `None` when nothing was recorded.
    pub fn mean(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.0.mean().round() as u64))
    }

    /// The largest value; `None` when nothing was recorded.
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.0.max()))
    }

    /// The value that a histogram states for this one: the highest of those
    /// that have the same bucket.
    pub fn stated(&self, value: Duration) -> Duration {
        Duration::from_nanos(self.0.highest_equivalent(crate::ns::to_ns(value)))
    }

    /// The mean, with each value up to `limit` taken as zero; `None` when nothing was recorded.
    pub fn mean_with_zero_up_to(&self, limit: Duration) -> Option<Duration> {
        let limit = self.0.highest_equivalent(crate::ns::to_ns(limit));
        let recorded = self.0.iter_recorded();
        let above = recorded.filter(|of| of.value_iterated_to() > limit);
        let sum: f64 = above
            .map(|of| of.value_iterated_to() as f64 * of.count_at_value() as f64)
            .sum();
        (self.count() > 0).then(|| Duration::from_nanos((sum / self.count() as f64) as u64))
    }

    /// How many values exceed `limit`, to within the histogram's 3 digits.
    pub fn above(&self, limit: Duration) -> u64 {
        let not_above = self.0.count_between(0, crate::ns::to_ns(limit));
        self.count() - not_above
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_above_a_limit_are_averaged_over_all() {
        let ms = Duration::from_millis;
        let mut histogram = Histogram::new();
        assert_eq!(histogram.mean_with_zero_up_to(ms(1)), None);
        histogram.record_many(ms(1), 8);
        histogram.record_many(ms(10), 2);
        let of = |limit| histogram.mean_with_zero_up_to(limit).unwrap().as_secs_f64();
        assert!((of(ms(1)) - 0.002).abs() < 1e-5, "{}", of(ms(1)));
        assert_eq!(of(ms(11)), 0.0);
    }

    #[test]
    fn nothing_recorded_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.99), None);
        assert_eq!(Histogram::new().max(), None);
    }

    #[test]
    fn quantiles_hold_three_digits() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|us| h.record(Duration::from_micros(us)));
        let p99 = h.quantile(0.99).unwrap().as_secs_f64();
        assert!((p99 / 990e-6 - 1.0).abs() < 1e-3, "{p99}");
        assert_eq!(h.above(Duration::from_micros(990)), 10);
    }

    #[test]
    fn values_out_of_range_are_kept_at_the_ends() {
        let mut h = Histogram::new();
        h.record(Duration::ZERO);
        h.record(Duration::from_secs(1 << 40));
        assert_eq!(h.count(), 2);
    }

    #[test]
    fn merging_adds_counts() {
        let mut a = Histogram::new();
        a.record(Duration::from_millis(1));
        let mut b = a.clone();
        b.merge(&a);
        assert_eq!(b.count(), 2);
        assert_eq!(Histogram::from_hdr(b.as_hdr()), b);
    }
}
