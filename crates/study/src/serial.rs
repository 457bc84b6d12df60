//! Whether values that follow each other are alike, and what that does to their mean.

use crate::student;
use statrs::distribution::{ContinuousCDF, Normal};

/// How likely a test finds an order in values without one.
pub(crate) const BY_CHANCE: f64 = 0.01;
/// The fewest values whose order says anything.
pub(crate) const FEWEST: usize = 10;
/// How far apart values are that are compared: of trials, half a minute.
const LAGS: usize = 5;

/// How many times as large the variance of a mean of successive values is as that of
/// independent ones; at least 1. Correlations of up to [`LAGS`] values apart, with
/// Bartlett's weights (Newey and West, Econometrica 55, 1987).
pub(crate) fn long_run_variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let product = |lag: usize| -> f64 {
        let pairs = values.iter().zip(values.iter().skip(lag));
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let all = product(0);
    if values.len() < FEWEST || all <= 0.0 {
        return 1.0;
    }
    let weight = |lag: usize| 1.0 - lag as f64 / (LAGS + 1) as f64;
    let lags = (1..=LAGS).map(|lag| weight(lag) * product(lag) / all);
    (1.0 + 2.0 * lags.sum::<f64>()).max(1.0)
}

/// Whether successive values are nearer to each other than chance has it: the rank
/// version of von Neumann's ratio (Bartels, JASA 77, 1982), one-sided.
pub(crate) fn is_clustered(values: &[f64]) -> bool {
    let n = values.len() as f64;
    if values.len() < FEWEST {
        return false;
    }
    let ranks = ranks(values);
    let mean = (n - 1.0) / 2.0;
    let steps: f64 = ranks.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
    let spread: f64 = ranks.iter().map(|r| (r - mean).powi(2)).sum();
    // Of mean 2 and, near enough from ten values on, normal.
    let z = (steps / spread - 2.0) / (20.0 / (5.0 * n + 7.0)).sqrt();
    Normal::standard().cdf(z) < BY_CHANCE
}

/// Whether values rise or fall in their order: Spearman's rank correlation with it (*The American
/// Journal of Psychology* 15, 1904), two-sided, by Student's t.
pub(crate) fn has_trend(values: &[f64]) -> bool {
    let n = values.len() as f64;
    if values.len() < FEWEST {
        return false;
    }
    let apart = ranks(values).into_iter().zip(0..);
    let squares: f64 = apart.map(|(rank, at)| (rank - f64::from(at)).powi(2)).sum();
    let correlation = 1.0 - 6.0 * squares / (n * (n * n - 1.0));
    let t = correlation * ((n - 2.0) / (1.0 - correlation.powi(2))).sqrt();
    student::quantile(BY_CHANCE / 2.0, n - 2.0).is_some_and(|least| t.abs() > least)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank as f64;
    }
    ranks
}

#[cfg(test)]
mod tests;
