//! Intervals by resampling.

use crate::decide::needed;
use crate::seeded::Rng;
use plimsoll_model::{CONFIDENCE, Estimate, Trial};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How many resamples an interval is read from: its ends then rest on the
/// 25th lowest and highest or so.
pub const RESAMPLES: usize = 999;

/// `value` with the expanded percentile interval of `replicates`, which are
/// what resamples of `n` independent observations gave: a number that is not
/// finite for one that gave nothing.
///
/// A percentile interval is too narrow by about `sqrt((n-1)/n)` and by the
/// difference between a normal and a t quantile; both are made up for by
/// reading it at the probability `Phi(-sqrt(n/(n-1)) t(alpha/2, n-1))`
/// (Hesterberg, "What Teachers Should Know About the Bootstrap", The American
/// Statistician 69, 2015, section 5.3).
///
/// Without an interval when `n < 3`, or when fewer than half of the resamples
/// gave a figure: then what was resampled is luck.
pub fn estimate(value: f64, replicates: Vec<f64>, n: usize) -> Estimate {
    estimate_at(CONFIDENCE, value, replicates, n)
}

/// The same at another confidence.
pub fn estimate_at(confidence: f64, value: f64, mut replicates: Vec<f64>, n: usize) -> Estimate {
    let times = replicates.len();
    replicates.retain(|r| r.is_finite());
    let Some(tail) = tail(confidence, n).filter(|_| replicates.len() > times / 2) else {
        return Estimate::alone(value);
    };
    replicates.sort_by(f64::total_cmp);
    let low = quantile(&replicates, tail);
    let high = quantile(&replicates, 1.0 - tail);
    Estimate::within(value, low, high)
}

/// The probability below the lower end, in the resampled distribution.
fn tail(confidence: f64, n: usize) -> Option<f64> {
    let n = n as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0)
        .ok()
        .filter(|_| n >= 3.0)?;
    let normal = Normal::standard();
    let reach = t.inverse_cdf((1.0 - confidence) / 2.0) * (n / (n - 1.0)).sqrt();
    Some(normal.cdf(reach))
}

/// The quantile of sorted values, linear between them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// What `figure` gives for all of `n` independent observations, with the interval of
/// what it gives for draws of their indices; `None` where it gives nothing for all.
pub fn figure(n: usize, seed: u64, figure: impl Fn(&[usize]) -> Option<f64>) -> Option<Estimate> {
    let all: Vec<usize> = (0..n).collect();
    let value = figure(&all).filter(|v| v.is_finite())?;
    Some(estimate(value, resample(n, seed, figure), n))
}

/// The mean of independent observations with its interval; `None` without any.
pub fn mean(values: &[f64], seed: u64) -> Option<Estimate> {
    figure(values.len(), seed, |draw| {
        let sum: f64 = draw.iter().filter_map(|at| values.get(*at)).sum();
        (!draw.is_empty()).then(|| sum / draw.len() as f64)
    })
}

/// Whether there are as many values as a quantile takes to show: 299 for p99. Of
/// fewer it is but the highest one.
pub fn shows_quantile(values: u64, q: f64) -> bool {
    values as f64 >= needed(1.0 - q)
}

/// A quantile of the latency in microseconds: the mean over trials, with its
/// interval. Trials with fewer values than the quantile takes to show
/// (`decide::needed`: 299 for p99) are left out, and without others it is `None`.
pub fn quantile_us<S, O>(trials: &[&Trial<S, O>], q: f64, seed: u64) -> Option<Estimate> {
    let each = trials.iter().map(|t| &t.work.latency);
    let each = each.filter(|latency| shows_quantile(latency.count(), q));
    let each: Vec<f64> = each
        .filter_map(|latency| Some(latency.quantile(q)?.as_secs_f64() * 1e6))
        .collect();
    mean(&each, seed)
}

/// What `figure` gives for [`RESAMPLES`] draws of `n` indices with replacement;
/// not a number where it gives nothing.
pub fn resample(n: usize, seed: u64, figure: impl FnMut(&[usize]) -> Option<f64>) -> Vec<f64> {
    resample_times(RESAMPLES, n, seed, figure)
}

/// The same for another number of draws.
pub fn resample_times(
    times: usize,
    n: usize,
    seed: u64,
    mut figure: impl FnMut(&[usize]) -> Option<f64>,
) -> Vec<f64> {
    let mut rng = Rng::seeded(seed);
    let mut draw = vec![0; n];
    let once = |_| {
        draw.iter_mut().for_each(|index| *index = rng.below(n));
        figure(&draw).unwrap_or(f64::NAN)
    };
    (0..times).map(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::normal;
    use plimsoll_model::{Phase, TrialSpec};
    use std::time::Duration;

    /// Means of `n` normal values: does the interval hold the true mean?
    fn covered(n: usize, seed: u64) -> bool {
        let mut rng = Rng::seeded(seed);
        let values: Vec<f64> = (0..n).map(|_| normal(&mut rng)).collect();
        mean(&values, seed ^ 1).unwrap().holds(0.0)
    }

    #[test]
    fn few_observations_are_covered_as_often_as_stated() {
        for n in [6, 12, 40] {
            let hits = (0..400).filter(|seed| covered(n, *seed)).count();
            assert!((366..=394).contains(&hits), "{hits} of 400 with {n} values");
        }
    }

    #[test]
    fn two_observations_allow_no_interval() {
        assert_eq!(estimate(1.0, vec![1.0; RESAMPLES], 2), Estimate::alone(1.0));
        assert_eq!(
            estimate(1.0, vec![f64::NAN; RESAMPLES], 9),
            Estimate::alone(1.0)
        );
    }

    #[test]
    fn a_quantile_that_trials_are_too_short_to_show_is_unknown() {
        let trial = |values: u64| {
            let spec = TrialSpec::blank(Phase::Idle, (), Duration::ZERO);
            let mut trial: Trial<(), ()> = Trial::begun(spec, 0);
            (1..=values).for_each(|us| trial.work.count(Duration::from_micros(us)));
            trial
        };
        let (short, long) = (trial(298), trial(299));
        assert_eq!(quantile_us(&[&short, &short, &short], 0.99, 1), None);
        let p99 = quantile_us(&[&short, &long, &long, &long], 0.99, 1).unwrap();
        assert!((295.0..=298.0).contains(&p99.value), "{p99:?}");
        assert!(quantile_us(&[&short], 0.5, 1).is_some());
    }
}
