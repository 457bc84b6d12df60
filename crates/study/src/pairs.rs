//! Two services measured in turn: the change from one to the other.
//!
//! What makes both faster or slower for longer than a pass cancels out in the ratio of a pass,
//! so passes are what varies. The change is the mean of the logarithms of their ratios, with
//! the interval of Student's t.

use crate::serial::has_trend;
use crate::student;
use plimsoll_model::Estimate;

/// A figure of both in one pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub base: f64,
    pub new: f64,
}

impl Pair {
    fn log_ratio(&self) -> Option<f64> {
        let ratio = (self.new / self.base).ln();
        ratio.is_finite().then_some(ratio)
    }

    /// The change in percent of the base; `None` unless both are above 0.
    pub fn change_pct(&self) -> Option<f64> {
        self.log_ratio().map(pct)
    }
}

/// The change in percent of the base, over all passes; without an interval below three of
/// them, `None` without any.
pub fn change_pct(pairs: &[Pair]) -> Option<Estimate> {
    Some(student::mean(&logs(pairs))?.map_rising(pct))
}

/// By how much the new service lies above the base, in the unit of the figures, which may be of either
/// sign; without an interval below three passes, `None` without any.
pub fn difference(pairs: &[Pair]) -> Option<Estimate> {
    let each: Vec<f64> = pairs.iter().map(|pair| pair.new - pair.base).collect();
    student::mean(&each)
}

/// The geometric mean of positive figures of passes; without an interval below three of them.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    Some(student::mean(&logs)?.map_rising(f64::exp))
}

/// Changes of the first and of the second half of the passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Halves {
    pub first_pct: f64,
    pub second_pct: f64,
}

/// The halves of passes whose changes rise or fall by more than chance: one service gets faster or
/// slower while the two are compared, as one that was started just now does.
pub fn halves_of_a_trend(pairs: &[Pair]) -> Option<Halves> {
    let logs = logs(pairs);
    let (first, second) = logs.split_at(logs.len() / 2);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    has_trend(&logs).then(|| Halves {
        first_pct: pct(mean(first)),
        second_pct: pct(mean(second)),
    })
}

fn logs(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().filter_map(Pair::log_ratio).collect()
}

fn pct(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Rng;
    use crate::testing::normal;

    /// Passes of a service whose new version takes `ratio` times as long. The machine's speed is a
    /// slow random walk that both share; each trial has noise of its own, one in ten much.
    fn passes(n: usize, ratio: impl Fn(usize) -> f64, rng: &mut Rng) -> Vec<Pair> {
        let mut machine = 0.0;
        let pass = |nth| {
            machine += 0.05 * normal(rng);
            let mut trial = || {
                let loud = if rng.unit() < 0.1 {
                    0.2 * rng.unit()
                } else {
                    0.0
                };
                (machine + 0.05 * normal(rng) + loud).exp()
            };
            Pair {
                base: trial(),
                new: ratio(nth) * trial(),
            }
        };
        (0..n).map(pass).collect()
    }

    #[test]
    fn a_change_is_covered_as_often_as_stated() {
        for (n, seed) in [(5, 1), (10, 2), (30, 3)] {
            let mut rng = Rng::seeded(seed);
            let holds = |_: &u32| {
                let change = change_pct(&passes(n, |_| 1.1, &mut rng)).unwrap();
                change.holds(10.0)
            };
            let hits = (0..2000).filter(holds).count();
            // 1,900 are stated; 1,871 is three standard deviations below.
            assert!(hits >= 1871, "{hits} of 2000 with {n} passes");
        }
    }

    #[test]
    fn thirty_passes_show_a_tenth_more_and_no_more_of_equals_than_stated() {
        let mut rng = Rng::seeded(4);
        let mut above = |ratio: f64, limit: f64| {
            let is_above = |_: &u32| {
                let change = change_pct(&passes(30, |_| ratio, &mut rng)).unwrap();
                change.low.unwrap() > limit
            };
            (0..1000).filter(is_above).count()
        };
        assert!(above(1.1, 3.0) >= 950);
        // 25 are stated; 40 is three standard deviations above.
        assert!(above(1.0, 0.0) <= 40);
    }

    #[test]
    fn a_service_that_warms_up_is_noticed_and_noise_seldom_taken_for_it() {
        let mut rng = Rng::seeded(5);
        let mut count = |ratio: fn(usize) -> f64, holds: fn(&[Pair]) -> bool| {
            let holds = |_: &u32| holds(&passes(30, ratio, &mut rng));
            (0..1000).filter(holds).count()
        };
        let trend = |pairs: &[Pair]| halves_of_a_trend(pairs).is_some();
        // 10 are stated; 20 is three standard deviations above.
        assert!(count(|_| 1.1, trend) <= 20);
        // What is called 3 % slower, and in the end is not.
        let wrong = |pairs: &[Pair]| {
            let low = change_pct(pairs).and_then(|change| change.low);
            low.is_some_and(|low| low > 3.0) && halves_of_a_trend(pairs).is_none()
        };
        for ratio in [
            |nth| 1.0 + 0.3 * (-(nth as f64) / 6.0).exp(),
            |nth| 1.0 + 0.5 * (-(nth as f64) / 6.0).exp(),
            |nth| 1.0 + 2.0 * (-(nth as f64) / 3.0).exp(),
        ] {
            let wrong = count(ratio, wrong);
            // The rank test misses 6 % of the mildest; 80 is three standard deviations above.
            assert!(wrong <= 80, "{wrong} of 1000");
        }
    }

    #[test]
    fn few_passes_have_no_interval_and_zeroes_no_ratio() {
        let pair = |base, new| Pair { base, new };
        assert_eq!(change_pct(&[]), None);
        assert_eq!(change_pct(&[pair(0.0, 1.0)]), None);
        let two = change_pct(&[pair(1.0, 2.0), pair(2.0, 4.0)]).unwrap();
        assert!((two.value - 100.0).abs() < 1e-9 && two.interval().is_none());
        assert_eq!(halves_of_a_trend(&[pair(1.0, 2.0)]), None);
        let differ = [pair(1.0, 0.0), pair(-1.0, -2.0), pair(0.0, -1.0)];
        assert_eq!(
            difference(&differ),
            Some(Estimate::within(-1.0, -1.0, -1.0))
        );
    }
}
