//! The levels of a curve, and how their trials scatter.

use super::{CurveTrial, Measured, Point};
use crate::carried::is_carried;
use crate::seeded::Rng;
use plimsoll_model::Share;
use std::collections::BTreeMap;

/// A level at saturation that carried less than this part of the highest rate
/// has broken down under overload.
const LEAST_OF_MOST: f64 = 0.95;

/// From this many trials on, a level's scatter is judged by them alone.
const OWN_RESIDUALS: usize = 8;

/// How far a resampled level may be off: beyond is no measurement.
const MOST_DEVIATION: f64 = 0.9;

/// The trials of one level, or of all levels at saturation.
pub(super) struct Group {
    /// In an order that does not depend on when they were made.
    trials: Vec<Counted>,
    /// Mean rate achieved.
    pub(super) rate_rps: f64,
    /// Mean CPU use.
    pub(super) cpu_pct: f64,
    seconds: f64,
    saturated: bool,
    /// Whether the rate was measured, rather than given.
    rate_is_outcome: bool,
}

struct Counted {
    rate_rps: f64,
    cpu_pct: f64,
    seconds: f64,
    intended_rps: f64,
}

/// The groups, ascending in level, with the one of saturation last.
pub(super) fn groups(trials: &[CurveTrial]) -> Vec<Group> {
    let mut by_level: BTreeMap<u32, Vec<Counted>> = BTreeMap::new();
    for trial in trials {
        let counted = Counted {
            rate_rps: trial.achieved.get(),
            cpu_pct: trial.cpu.pct(),
            seconds: trial.measured.as_secs_f64(),
            intended_rps: trial.intended.get(),
        };
        if counted.rate_rps > 0.0 && counted.seconds > 0.0 {
            by_level.entry(trial.level).or_default().push(counted);
        }
    }
    let levels: Vec<Group> = by_level.into_values().map(Group::of).collect();
    let most = levels.iter().map(|g| g.rate_rps).fold(0.0, f64::max);
    let (end, mut groups): (Vec<Group>, Vec<Group>) = levels.into_iter().partition(|g| g.saturated);
    let end = end
        .into_iter()
        .filter(|g| g.rate_rps >= LEAST_OF_MOST * most);
    let end: Vec<Counted> = end.flat_map(|g| g.trials).collect();
    if !end.is_empty() {
        groups.push(Group::of(end));
    }
    let most = groups.iter().map(|g| g.rate_rps).fold(0.0, f64::max);
    for group in &mut groups {
        group.rate_is_outcome = group.saturated || group.rate_rps >= most;
    }
    groups
}

impl Group {
    /// At least one trial.
    fn of(mut trials: Vec<Counted>) -> Group {
        let key = |t: &Counted| [t.rate_rps, t.cpu_pct, t.seconds, t.intended_rps];
        trials.sort_by(|a, b| {
            let pairs = key(a).into_iter().zip(key(b));
            let order = pairs.map(|(a, b)| a.total_cmp(&b));
            order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        let seconds: f64 = trials.iter().map(|t| t.seconds).sum();
        let mean = |of: fn(&Counted) -> f64| {
            let sum: f64 = trials.iter().map(|t| of(t) * t.seconds).sum();
            sum / seconds
        };
        let (rate_rps, cpu_pct) = (mean(|t| t.rate_rps), mean(|t| t.cpu_pct));
        let intended = mean(|t| t.intended_rps) * seconds;
        let completed = rate_rps * seconds;
        Group {
            saturated: !is_carried(intended.round() as u64, completed.round() as u64),
            rate_is_outcome: false,
            trials,
            rate_rps,
            cpu_pct,
            seconds,
        }
    }

    /// As measured.
    pub(super) fn point(&self) -> Point {
        Point {
            measured: Measured {
                rate_rps: self.rate_rps,
                cpu_pct: self.cpu_pct,
            },
            cpu_pct: self.cpu_pct,
            weight: self.seconds,
        }
    }

    /// As it would have been if CPU time per request had deviated by this
    /// share, given the fitted CPU use.
    pub(super) fn moved(&self, fitted_cpu_pct: f64, deviation: f64) -> Point {
        let factor = 1.0 + deviation.clamp(-MOST_DEVIATION, MOST_DEVIATION);
        let (rate_rps, on_cpu) = if self.rate_is_outcome {
            (self.rate_rps / factor, 1.0)
        } else {
            (self.rate_rps, factor)
        };
        let full = Share::ONE.pct();
        Point {
            measured: Measured {
                rate_rps,
                cpu_pct: (self.cpu_pct * on_cpu).min(full),
            },
            cpu_pct: (fitted_cpu_pct * on_cpu).min(full),
            weight: self.seconds,
        }
    }

    /// Standardised and corrected for leverage; none from a single trial.
    fn residuals(&self) -> Vec<f64> {
        if self.trials.len() < 2 || self.cpu_pct <= 0.0 {
            return Vec::new();
        }
        let per_request = self.cpu_pct / self.rate_rps;
        let residual = |t: &Counted| {
            let relative = t.cpu_pct / t.rate_rps / per_request - 1.0;
            let leverage = t.seconds / self.seconds;
            relative * t.seconds.sqrt() / (1.0 - leverage).sqrt()
        };
        self.trials.iter().map(residual).collect()
    }
}

/// What resampled trials deviate by.
pub(super) struct Residuals {
    own: Vec<Vec<f64>>,
    pooled: Vec<f64>,
    observations: usize,
}

impl Residuals {
    pub(super) fn of(groups: &[Group]) -> Residuals {
        let own: Vec<Vec<f64>> = groups.iter().map(|g| centred(g.residuals())).collect();
        let pooled: Vec<f64> = own.iter().flatten().copied().collect();
        let repeated = own.iter().filter(|r| !r.is_empty()).count();
        let observations = match pooled.len() {
            0 => 0,
            n => n - repeated + 1,
        };
        Residuals {
            own,
            pooled,
            observations,
        }
    }

    /// Degrees of freedom plus one; 0 without residuals.
    pub(super) fn observations(&self) -> usize {
        self.observations
    }

    /// The mean relative deviation of a resampled level.
    pub(super) fn mean_deviation(&self, index: usize, group: &Group, rng: &mut Rng) -> f64 {
        let own = &self.own[index];
        let pool = if own.len() >= OWN_RESIDUALS {
            own
        } else {
            &self.pooled
        };
        let deviation = |t: &Counted| {
            let drawn = pool[rng.below(pool.len())];
            drawn * t.seconds.sqrt()
        };
        let sum: f64 = group.trials.iter().map(deviation).sum();
        sum / group.seconds
    }
}

fn centred(residuals: Vec<f64>) -> Vec<f64> {
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    residuals.iter().map(|r| r - mean).collect()
}
