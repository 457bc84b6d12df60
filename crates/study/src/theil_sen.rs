//! Slopes that half of the points may be far off: the median of the slopes
//! between any two points (Theil, Proc. KNAW 53, 1950; Sen, JASA 63, 1968).

use crate::bootstrap;
use plimsoll_model::Estimate;

/// The slope; `None` without two different x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    median_slope(&pairs(&sorted(points), 0.0), &vec![1; points.len()])
}

/// The middle value, or the mean of the two in the middle; sorts `values`.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (a, b) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[a] + values[b]) / 2.0)
}

/// A line whose slope is the median of the pairs' slopes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// With its interval.
    pub slope: Estimate,
    at_zero: f64,
}

/// The slope between two points.
struct Pair {
    slope: f64,
    of: [usize; 2],
}

impl Fit {
    /// The line through points whose interval is resampled with `seed`;
    /// points whose x are no more than `least_distance` apart make no pair,
    /// for the slope between them would be noise over noise. `None` without a
    /// pair.
    ///
    /// In a resample a pair counts as often as both of its points were drawn
    /// together, so that the slopes are computed and sorted once.
    pub fn through(points: &[(f64, f64)], least_distance: f64, seed: u64) -> Option<Fit> {
        let points = sorted(points);
        let pairs = pairs(&points, least_distance);
        let n = points.len();
        let slope = median_slope(&pairs, &vec![1; n])?;
        let mut times = vec![0u64; n];
        let replicates = bootstrap::resample(n, seed, |draw| {
            times.fill(0);
            draw.iter().for_each(|i| times[*i] += 1);
            median_slope(&pairs, &times)
        });
        let mut rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        Some(Fit {
            slope: bootstrap::estimate(slope, replicates, n),
            at_zero: median(&mut rest)?,
        })
    }

    /// The line at x.
    pub fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope.value * x
    }
}

/// By x and then y, so that nothing depends on the order in which points come.
fn sorted(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points
}

/// Of sorted points, ascending in slope.
fn pairs(points: &[(f64, f64)], least_distance: f64) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, a) in points.iter().enumerate() {
        for (j, b) in points.iter().enumerate().skip(i + 1) {
            let distance = b.0 - a.0;
            if distance > least_distance {
                let slope = (b.1 - a.1) / distance;
                pairs.push(Pair { slope, of: [i, j] });
            }
        }
    }
    pairs.sort_by(|a, b| a.slope.total_cmp(&b.slope));
    pairs
}

/// The median over pairs of points that count `times` each.
fn median_slope(pairs: &[Pair], times: &[u64]) -> Option<f64> {
    let weight = |pair: &Pair| times[pair.of[0]] * times[pair.of[1]];
    let all: u64 = pairs.iter().map(weight).sum();
    let mut counted = 0;
    let mut lower = None;
    for pair in pairs {
        counted += weight(pair);
        if let Some(lower) = lower.filter(|_| 2 * counted > all) {
            return Some((lower + pair.slope) / 2.0);
        }
        if 2 * counted > all {
            return Some(pair.slope);
        }
        // Exactly half: the median lies between this pair and the next.
        if all > 0 && 2 * counted == all && lower.is_none() {
            lower = Some(pair.slope);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Rng;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    const LEAST: f64 = 0.05;

    /// Twelve loads from 1 to 12, `passes` trials each, with noise.
    fn noisy(slope: f64, passes: u32, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = Rng::seeded(seed);
        let loads = (0..passes).flat_map(|_| 1..=12u32);
        let point = |load: u32| {
            let x = f64::from(load).ln();
            (
                x,
                slope * x + 0.1 * Normal::standard().inverse_cdf(rng.unit()),
            )
        };
        loads.map(point).collect()
    }

    #[test]
    fn intervals_hold_the_true_slope_as_often_as_stated() {
        for slope in [0.0, 0.5] {
            let covers = |seed: &u64| {
                let fit = Fit::through(&noisy(slope, 2, *seed), LEAST, *seed).unwrap();
                let (low, high) = fit.slope.interval().unwrap();
                assert!(high - low < 0.35, "an interval this wide tells nothing");
                low <= slope && slope <= high
            };
            let hits = (0..200).filter(covers).count();
            assert!(hits >= 180, "{hits} of 200");
        }
    }

    #[test]
    fn a_point_far_off_does_not_turn_the_slope() {
        let mut points: Vec<(f64, f64)> =
            (0..9).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        points[4].1 = 1e6;
        assert_eq!(slope(&points), Some(2.0));
        assert_eq!(slope(&points[..1]), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0, 10.0]), Some(2.5));
    }

    #[test]
    fn a_quarter_of_the_points_may_be_off() {
        let mut points = noisy(0.5, 4, 1);
        for point in points.iter_mut().step_by(4) {
            point.1 = -10.0;
        }
        let fit = Fit::through(&points, LEAST, 1).unwrap();
        assert!((fit.slope.value - 0.5).abs() < 0.15, "{fit:?}");
    }

    #[test]
    fn an_even_number_of_pairs_has_its_median_in_the_middle() {
        let points = vec![(0.0, 0.0), (1.0, 1.0), (1.0, 3.0)];
        let fit = Fit::through(&points, LEAST, 1).unwrap();
        assert_eq!(fit.slope.value, 2.0);
        assert_eq!(Fit::through(&[(1.0, 1.0), (1.01, 5.0)], LEAST, 1), None);
        assert_eq!(Fit::through(&[], LEAST, 1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn slopes_turn_with_the_line_and_not_with_the_order(
            points in prop::collection::vec((0.0..5.0f64, -3.0..3.0f64), 5..20),
            turn in -2.0..2.0f64,
        ) {
            let Some(fit) = Fit::through(&points, LEAST, 3) else { return Ok(()) };
            let mut backwards = points.clone();
            backwards.reverse();
            prop_assert_eq!(Fit::through(&backwards, LEAST, 3), Some(fit));
            let turned: Vec<_> = points.iter().map(|(x, y)| (*x, y + turn * x)).collect();
            let turned = Fit::through(&turned, LEAST, 3).unwrap();
            prop_assert!((turned.slope.value - fit.slope.value - turn).abs() < 1e-6);
        }
    }
}
