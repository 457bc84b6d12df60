//! Slopes that half of the points may be far off: the median of the slopes
//! between any two points (Theil, Proc. KNAW 53, 1950; Sen, JASA 63, 1968).

use crate::bootstrap;
use plimsoll_model::Estimate;

/// The slope; `None` without two different x.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    Pairs::of(&sorted(points), 0.0).median(&vec![1; points.len()])
}

/// The middle value, or the mean of the two in the middle; sorts `values`.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (a, b) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[a] + values[b]) / 2.0)
}

/// A line whose slope is the median of the pairs' slopes. Its interval takes a
/// thousand times as long.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pairs: Pairs,
    /// By x.
    points: Vec<(f64, f64)>,
    slope: f64,
    at_zero: f64,
}

impl Line {
    /// The line through points; points whose x are no more than
    /// `least_distance` apart make no pair, for the slope between them would
    /// be noise over noise. `None` without a pair.
    pub(crate) fn through(points: &[(f64, f64)], least_distance: f64) -> Option<Line> {
        let points = sorted(points);
        let pairs = Pairs::of(&points, least_distance);
        let slope = pairs.median(&vec![1; points.len()])?;
        let mut rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        Some(Line {
            at_zero: median(&mut rest)?,
            pairs,
            points,
            slope,
        })
    }

    pub(crate) fn slope(&self) -> f64 {
        self.slope
    }

    pub(crate) fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }

    /// The slope with an interval that is resampled with `seed`.
    ///
    /// In a resample a pair counts as often as both of its points were drawn
    /// together, so that the slopes are computed and sorted once.
    pub(crate) fn slope_with_interval(&self, seed: u64) -> Estimate {
        let points = self.points.len();
        let mut times = vec![0u32; points];
        let replicates = bootstrap::resample(points, seed, |draw| {
            times.fill(0);
            draw.iter().for_each(|i| times[*i] += 1);
            self.pairs.median(&times)
        });
        bootstrap::estimate(self.slope, replicates, points)
    }
}

/// By x and then y, so that nothing depends on the order in which points come.
fn sorted(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points
}

/// The slopes between points, ascending. There are as many as the square of
/// the points, and each resample goes through them: so they are small, and
/// what can be known without going through them is.
#[derive(Debug, Clone)]
struct Pairs {
    slopes: Vec<f64>,
    /// The two points of each slope.
    of: Vec<[u32; 2]>,
    /// For each point the first of those to its right that it makes a pair
    /// with; it does with all from there on.
    partners: Vec<usize>,
}

impl Pairs {
    /// Of points that are sorted by x.
    fn of(points: &[(f64, f64)], least_distance: f64) -> Pairs {
        let far = |a: &(f64, f64), b: &(f64, f64)| b.0 - a.0 > least_distance;
        let partners: Vec<usize> = points
            .iter()
            .enumerate()
            .map(|(i, a)| i + 1 + points[i + 1..].partition_point(|b| !far(a, b)))
            .collect();
        let mut pairs: Vec<(f64, [u32; 2])> = Vec::new();
        for (i, a) in points.iter().enumerate() {
            for (j, b) in points.iter().enumerate().skip(partners[i]) {
                pairs.push(((b.1 - a.1) / (b.0 - a.0), [i as u32, j as u32]));
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (slopes, of) = pairs.into_iter().unzip();
        Pairs {
            slopes,
            of,
            partners,
        }
    }

    /// How many pairs there are of points that count `times` each.
    fn count(&self, times: &[u32]) -> u64 {
        // How often all points from each on count together.
        let mut from = vec![0u64; times.len() + 1];
        for (i, n) in times.iter().enumerate().rev() {
            from[i] = from[i + 1] + u64::from(*n);
        }
        let of_point = |(n, first): (&u32, &usize)| u64::from(*n) * from[*first];
        times.iter().zip(&self.partners).map(of_point).sum()
    }

    /// The median over pairs of points that count `times` each.
    fn median(&self, times: &[u32]) -> Option<f64> {
        let all = self.count(times);
        let mut counted = 0;
        let mut lower = None;
        for (slope, [a, b]) in self.slopes.iter().zip(&self.of) {
            counted += u64::from(times[*a as usize]) * u64::from(times[*b as usize]);
            if 2 * counted > all {
                return Some(lower.map_or(*slope, |lower| (lower + slope) / 2.0));
            }
            // Exactly half: the median lies between this pair and the next.
            if all > 0 && 2 * counted == all && lower.is_none() {
                lower = Some(*slope);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Rng;
    use crate::testing::normal;
    use proptest::prelude::*;

    const LEAST: f64 = 0.05;

    fn fitted(points: &[(f64, f64)], seed: u64) -> Option<Estimate> {
        Some(Line::through(points, LEAST)?.slope_with_interval(seed))
    }

    /// Twelve loads from 1 to 12, `passes` trials each, with noise.
    fn noisy(slope: f64, passes: u32, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = Rng::seeded(seed);
        let loads = (0..passes).flat_map(|_| 1..=12u32);
        let point = |load: u32| {
            let x = f64::from(load).ln();
            (x, slope * x + 0.1 * normal(&mut rng))
        };
        loads.map(point).collect()
    }

    #[test]
    fn intervals_hold_the_true_slope_as_often_as_stated() {
        for slope in [0.0, 0.5] {
            let covers = |seed: &u64| {
                let fit = fitted(&noisy(slope, 2, *seed), *seed).unwrap();
                let (low, high) = fit.interval().unwrap();
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
        let fit = fitted(&points, 1).unwrap();
        assert!((fit.value - 0.5).abs() < 0.15, "{fit:?}");
    }

    #[test]
    fn an_even_number_of_pairs_has_its_median_in_the_middle() {
        let points = vec![(0.0, 0.0), (1.0, 1.0), (1.0, 3.0)];
        let fit = fitted(&points, 1).unwrap();
        assert_eq!(fit.value, 2.0);
        assert_eq!(fitted(&[(1.0, 1.0), (1.01, 5.0)], 1), None);
        assert_eq!(fitted(&[], 1), None);
    }

    #[test]
    fn pairs_are_counted_as_if_each_were_looked_at() {
        let points = sorted(&noisy(0.5, 3, 7));
        let pairs = Pairs::of(&points, LEAST);
        let times: Vec<u32> = (0..points.len() as u32).map(|i| i * i % 4).collect();
        let one = |[a, b]: &[u32; 2]| u64::from(times[*a as usize] * times[*b as usize]);
        assert_eq!(pairs.count(&times), pairs.of.iter().map(one).sum::<u64>());
        assert!(pairs.slopes.is_sorted() && pairs.of.len() < 36 * 35 / 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn slopes_turn_with_the_line_and_not_with_the_order(
            points in prop::collection::vec((0.0..5.0f64, -3.0..3.0f64), 5..20),
            turn in -2.0..2.0f64,
        ) {
            let Some(fit) = fitted(&points, 3) else { return Ok(()) };
            let mut backwards = points.clone();
            backwards.reverse();
            prop_assert_eq!(fitted(&backwards, 3), Some(fit));
            let turned: Vec<_> = points.iter().map(|(x, y)| (*x, y + turn * x)).collect();
            let turned = fitted(&turned, 3).unwrap();
            prop_assert!((turned.value - fit.value - turn).abs() < 1e-6);
        }
    }
}
