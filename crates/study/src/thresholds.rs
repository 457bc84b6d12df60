//! Which CPU use leaves which true headroom.
//!
//! True headroom is the part of the capacity that is not in use, in work: at a
//! headroom of 20 % the service carries 80 % of the highest rate that keeps
//! its promise. The CPU use at that rate is read off the measured curve.
//!
//! **The linear rule** that it is held against: whoever wants 20 % headroom
//! and has nothing but CPU use to go by sets a target of 80 %. That is what an
//! autoscaler takes for granted: Kubernetes' HorizontalPodAutoscaler asks for
//! `ceil(current replicas x current use / target)` replicas, which is right
//! only if work is proportional to CPU use and ends at 100 %. Neither the CPU
//! use at which the service really ends, nor the curve on the way there, is
//! known to that rule; so none of it is put into it here.

use crate::bootstrap::{self, RESAMPLES};
use crate::curve::{Curve, Line};
use crate::seeded::Rng;
use plimsoll_model::{CONFIDENCE, Estimate, ThresholdFinding};
use statrs::distribution::{ContinuousCDF, Normal};

/// The headrooms of the table, in percent of the capacity.
pub const HEADROOMS_PCT: [f64; 5] = [10.0, 20.0, 30.0, 40.0, 50.0];

/// The table of [`HEADROOMS_PCT`].
///
/// `capacity_rps` is the highest rate that keeps the promise, for an imported
/// table the highest rate. Its interval is combined with the curve's: each
/// resample of the curve meets a capacity drawn from two half normal
/// distributions that have the capacity's ends as their 2.5 % and 97.5 %
/// points, as if the two were independent. Where the capacity lacks an end,
/// so do the figures.
pub fn thresholds(curve: &Curve, capacity_rps: Estimate) -> Vec<ThresholdFinding> {
    let drawn = drawn(capacity_rps, curve.seed());
    let combined = |figure: &dyn Fn(&Line, f64) -> Option<f64>| {
        let value = figure(curve.line(), capacity_rps.value)?;
        let pairs = curve.resamples().iter().zip(&drawn);
        let replicates = pairs.map(|(line, capacity)| figure(line, *capacity).unwrap_or(f64::NAN));
        let both = bootstrap::estimate(value, replicates.collect(), curve.observations());
        // All figures rise with the capacity, so ends belong together.
        Some(Estimate {
            low: both.low.filter(|_| capacity_rps.low.is_some()),
            high: both.high.filter(|_| capacity_rps.high.is_some()),
            ..both
        })
    };
    let row = |headroom_pct: f64| {
        let used = 1.0 - headroom_pct / 100.0;
        let linear_cpu_pct = 100.0 * used;
        let left = |line: &Line, capacity: f64| {
            let rate = line.rate_rps_at(linear_cpu_pct)?;
            Some(100.0 * (1.0 - rate / capacity))
        };
        ThresholdFinding {
            headroom_pct,
            rate_rps: used * capacity_rps.value,
            cpu_pct: combined(&|line, capacity| line.cpu_pct_at(used * capacity)),
            linear_cpu_pct,
            linear_headroom_pct: combined(&left),
            linear_error_points: combined(&|line, c| Some(left(line, c)? - headroom_pct)),
        }
    };
    HEADROOMS_PCT.map(row).to_vec()
}

/// A capacity for each resample.
fn drawn(capacity: Estimate, seed: u64) -> Vec<f64> {
    let normal = Normal::standard();
    let reach = normal.inverse_cdf(0.5 + CONFIDENCE / 2.0);
    // Another sequence than the one the curve was resampled with.
    let mut rng = Rng::seeded(seed ^ 0x7468_7265_7368);
    let once = |_| {
        let z = normal.inverse_cdf(rng.unit()) / reach;
        let end = if z < 0.0 { capacity.low } else { capacity.high };
        let width = end.map_or(0.0, |end| (end - capacity.value).abs());
        (capacity.value + z * width).max(f64::MIN_POSITIVE)
    };
    (0..RESAMPLES).map(once).collect()
}

#[cfg(test)]
mod tests;
