//! Intervals of means by Student's t: valid for few observations, where resampling is not.
//!
//! Resampled means of n values never leave their range, which holds the true mean in no more than
//! 1 - 2/2^n of all cases: 75 % of three, 94 % of five. Student's t is exact for normal values. For
//! differences of two equal noises, of whatever shape, it misses to either side about as often as it
//! says or less (the tests here show it).

use plimsoll_model::{CONFIDENCE, Estimate};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Of two values the interval is five times as wide as of three.
pub(crate) const FEWEST: usize = 3;

/// The most of the truth that lies beyond one end of an interval.
pub(crate) const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;

/// The distance beyond which Student's t with `free` degrees of freedom lies to one side with
/// probability `tail`.
pub(crate) fn quantile(tail: f64, free: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, free).ok()?;
    Some(-t.inverse_cdf(tail))
}

/// Mean and variance of the mean; `None` below two values.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() >= 2).then(|| (mean, squares / (n - 1.0) / n))
}

/// The mean of independent values; without an interval below [`FEWEST`], `None` without any.
pub(crate) fn mean(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    let value = values.iter().sum::<f64>() / n as f64;
    let wide = || {
        let (_, variance) = moments(values).filter(|_| n >= FEWEST)?;
        Some(quantile(TAIL, n as f64 - 1.0)? * variance.sqrt())
    };
    let around = |wide| Estimate::within(value, value - wide, value + wide);
    (n > 0).then(|| wide().map_or(Estimate::alone(value), around))
}

/// The ratio of two means of independent positive values, whose logarithms are compared with Welch's
/// degrees of freedom. Without an interval unless there are two values of either.
pub(crate) fn ratio(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let value = mean(above) / mean(below);
    // The variance of a mean's logarithm, by its first derivative.
    let relative = |values: &[f64]| moments(values).map(|(mean, v)| v / mean.powi(2));
    let wide = || {
        let (a, b) = (relative(above)?, relative(below)?);
        let part = |v: f64, n: usize| v * v / (n as f64 - 1.0);
        let parts = part(a, above.len()) + part(b, below.len());
        match a + b {
            0.0 => Some(0.0),
            sum => Some(quantile(TAIL, sum * sum / parts)? * sum.sqrt()),
        }
    };
    let around = |wide: f64| Estimate::within(value, value * (-wide).exp(), value * wide.exp());
    let known = value.is_finite() && value > 0.0;
    known.then(|| wide().map_or(Estimate::alone(value), around))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Rng;
    use crate::testing::normal;

    /// Noises of mean zero: even, normal, with heavy tails, skewed, and one that lengthens one trial
    /// in ten.
    const NOISES: [fn(&mut Rng) -> f64; 5] = [
        |rng| 2.0 * rng.unit() - 1.0,
        normal,
        |rng| rng.exponential() - rng.exponential(),
        |rng| rng.exponential() - 1.0,
        |rng| 5.0 * f64::from(u8::from(rng.unit() < 0.1)) - 0.5 + 0.3 * normal(rng),
    ];

    #[test]
    fn differences_of_equal_noises_are_covered_as_often_as_stated() {
        for (nth, noise) in NOISES.iter().enumerate() {
            for n in 3..=8 {
                let mut rng = Rng::seeded(nth as u64);
                let mut misses = [0, 0];
                for _ in 0..2000 {
                    let values: Vec<f64> =
                        (0..n).map(|_| noise(&mut rng) - noise(&mut rng)).collect();
                    let (low, high) = mean(&values).unwrap().interval().unwrap();
                    misses[0] += u32::from(low > 0.0);
                    misses[1] += u32::from(high < 0.0);
                }
                // 50 are stated to either side; 72 is three standard deviations above.
                assert!(
                    misses.iter().all(|m| *m <= 72),
                    "noise {nth}, {n}: {misses:?}"
                );
            }
        }
    }

    #[test]
    fn a_ratio_of_few_values_is_covered_as_often_as_stated() {
        for n in [2, 3, 6] {
            let mut rng = Rng::seeded(n);
            let mut draw = |mean: f64| -> Vec<f64> {
                (0..n)
                    .map(|_| mean * (1.0 + 0.05 * normal(&mut rng)))
                    .collect()
            };
            let holds = (0..2000).filter(|_| ratio(&draw(10.0), &draw(12.5)).unwrap().holds(0.8));
            let hits = holds.count();
            assert!(hits >= 1870, "{hits} of 2000 with {n}");
        }
    }

    #[test]
    fn what_is_too_few_has_no_interval() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 2.0]), Some(Estimate::alone(1.5)));
        assert_eq!(ratio(&[10.0], &[8.0, 8.0]), Some(Estimate::alone(1.25)));
        assert_eq!(
            ratio(&[10.0, 10.0], &[8.0, 8.0]),
            Some(Estimate::within(1.25, 1.25, 1.25))
        );
        assert_eq!(ratio(&[10.0], &[]), None);
    }

    #[test]
    fn the_quantiles_are_those_of_published_tables() {
        for (free, t) in [(2.0, 4.303), (5.0, 2.571), (7.0, 2.365)] {
            assert!((quantile(TAIL, free).unwrap() - t).abs() < 1e-3);
        }
    }
}
