//! How small jobs may be: efficiency against grain, and the overhead of a job.
//!
//! The efficiency of a run is its ideal time over its run time. METG(e), the minimum
//! effective task granularity, is the smallest grain at which it is `e` (Slaughter et
//! al., "Task Bench", SC 2020). Unlike there the reference is the ideal time, the same
//! for all schedulers, not the best run of each.
//!
//! In each trial the efficiency at a grain is the ideal time of all runs over their run
//! time, and the mean over trials counts. These are made to rise with the grain (isotonic
//! regression), because a larger grain has no more overhead. Between two grains the
//! logarithm of `e / (1 - e)` is taken to be linear in that of the grain, which is exact
//! where each job costs the same.
//!
//! The interval is where a band crosses the efficiency: the intervals of the grains, joined
//! between them. Its low end is where the band's upper edge first reaches the efficiency,
//! its high end where the lower edge last does: either may lie beyond the grains that were
//! tried, and is missing then.

use super::{over_trials, product};
use crate::{isotonic, theil_sen};
use plimsoll_model::Estimate;
use std::num::NonZeroU32;

/// One run of a graph whose jobs have one grain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrainRun {
    /// The work of a job of weight 1.
    pub grain_ns: f64,
    /// How many jobs, and their weights in all: the same where all weights are 1.
    pub jobs: u64,
    pub total_weight: u64,
    /// What a scheduler without any cost would take: `max(T1/P, T-infinity)` grains.
    pub ideal_ns: f64,
    pub run_time_ns: f64,
}

impl GrainRun {
    /// A run of independent jobs of weight 1.
    pub fn independent(grain_ns: f64, jobs: u64, workers: NonZeroU32, run_time_ns: f64) -> Self {
        GrainRun {
            grain_ns,
            jobs,
            total_weight: jobs,
            ideal_ns: grain_ns * jobs as f64 / f64::from(workers.get()),
            run_time_ns,
        }
    }
}

/// The efficiency at a grain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub grain_ns: f64,
    /// From 0 to 1, and above by what the calibration of the grain is off.
    pub efficiency: Estimate,
}

/// The smallest grain with an efficiency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metg {
    /// In nanoseconds. An end is missing where it lies beyond the grains that were tried. A value below
    /// these is given as the smallest, if the upper end is not below it, too.
    At(Estimate),
    /// Also the smallest grain tried has it, if all of its interval counts or no upper end is known.
    AtMost { smallest_ns: f64 },
    /// Not even the largest grain tried has it.
    Above { largest_ns: f64 },
    /// No run has a grain above 0.
    NothingTried,
}

/// The efficiency at each grain above 0, ascending, by the runs of each trial. The ideal
/// times are all `longer` by this factor.
pub fn efficiencies(trials: &[Vec<GrainRun>], longer: Estimate) -> Vec<Point> {
    let runs = trials.iter().flatten();
    let mut grains: Vec<f64> = runs
        .map(|run| run.grain_ns)
        .filter(|ns| *ns > 0.0)
        .collect();
    grains.sort_by(f64::total_cmp);
    grains.dedup();
    let of_grain = |grain_ns: f64| {
        let of_trial = |runs: &Vec<GrainRun>| {
            let sums = runs.iter().filter(|run| run.grain_ns == grain_ns);
            let (ideal, took) = sums.fold((0.0, 0.0), |(ideal, took), run| {
                (ideal + run.ideal_ns, took + run.run_time_ns)
            });
            Some(ideal / took).filter(|efficiency| efficiency.is_finite())
        };
        let each: Vec<f64> = trials.iter().filter_map(of_trial).collect();
        Some(Point {
            grain_ns,
            efficiency: product(over_trials(&each)?, longer).map_rising(|e| e.max(0.0)),
        })
    };
    grains.into_iter().filter_map(of_grain).collect()
}

/// METG of an efficiency between 0 and 1, from the points of ascending grains.
pub fn metg(points: &[Point], efficiency: f64) -> Metg {
    let Some((first, last)) = points.first().zip(points.last()) else {
        return Metg::NothingTried;
    };
    let series = |efficiencies: Vec<f64>| -> Vec<(f64, f64)> {
        let grains = points.iter().map(|point| point.grain_ns.ln());
        grains.zip(efficiencies).collect()
    };
    let means = points.iter().map(|point| (point.efficiency.value, 1.0));
    let fitted = isotonic::fit(&means.collect::<Vec<_>>());
    let band = |end: fn(&Estimate) -> Option<f64>| -> Option<Vec<f64>> {
        points.iter().map(|point| end(&point.efficiency)).collect()
    };
    let low = band(|e| e.high).map(|upper| crossing(&series(upper), efficiency));
    let high = band(|e| e.low).map(|lower| {
        let mut rising = lower;
        // The last place that may be below counts, so nothing before it is above.
        let mut least = f64::INFINITY;
        for value in rising.iter_mut().rev() {
            least = least.min(*value);
            *value = least;
        }
        crossing(&series(rising), efficiency)
    });
    let value = match (crossing(&series(fitted), efficiency), &high) {
        (Crossing::At(ln), _) => ln.exp(),
        (Crossing::BelowFirst, Some(Crossing::At(_))) => first.grain_ns,
        (Crossing::BelowFirst, _) => {
            return Metg::AtMost {
                smallest_ns: first.grain_ns,
            };
        }
        (Crossing::Never, _) => {
            return Metg::Above {
                largest_ns: last.grain_ns,
            };
        }
    };
    let end = |crossing: Option<Crossing>| match crossing {
        Some(Crossing::At(ln)) => Some(ln.exp()),
        _ => None,
    };
    Metg::At(Estimate {
        value,
        low: end(low).map(|low| low.min(value)),
        high: end(high).map(|high| high.max(value)),
    })
}

enum Crossing {
    /// The logarithm of the grain.
    At(f64),
    BelowFirst,
    Never,
}

/// Where a rising series of (ln grain, efficiency) reaches a value.
fn crossing(fitted: &[(f64, f64)], efficiency: f64) -> Crossing {
    /// Finite also for a run that was faster than ideal.
    const CERTAIN: f64 = 1e-4;
    let logit = |e: f64| {
        let e = e.clamp(CERTAIN, 1.0 - CERTAIN);
        (e / (1.0 - e)).ln()
    };
    match fitted.iter().position(|(_, e)| *e >= efficiency) {
        None => Crossing::Never,
        Some(0) => Crossing::BelowFirst,
        Some(at) => {
            let ((x0, below), (x1, above)) = (fitted[at - 1], fitted[at]);
            let (low, high) = (logit(below), logit(above));
            let part = match high > low {
                true => (logit(efficiency) - low) / (high - low),
                false => 1.0,
            };
            Crossing::At(x0 + part.clamp(0.0, 1.0) * (x1 - x0))
        }
    }
}

/// The overhead of a job: what its run takes of a worker beyond its own work,
/// `run time * P / jobs - grain`, at the smallest grain that was tried: the median of the
/// runs of a trial, the mean over trials. The mean weight of the jobs counts. `None` without
/// runs.
pub fn floor_ns_per_job(trials: &[Vec<GrainRun>], workers: NonZeroU32) -> Option<Estimate> {
    let all = trials.iter().flatten();
    let smallest = all.map(|run| run.grain_ns).min_by(f64::total_cmp)?;
    let of_trial = |runs: &Vec<GrainRun>| {
        let of_smallest = runs
            .iter()
            .filter(|run| run.grain_ns == smallest && run.jobs > 0);
        let floor = |run: &GrainRun| {
            let work = run.grain_ns * run.total_weight as f64;
            (run.run_time_ns * f64::from(workers.get()) - work) / run.jobs as f64
        };
        theil_sen::median(&mut of_smallest.map(floor).collect::<Vec<_>>())
    };
    let each: Vec<f64> = trials.iter().filter_map(of_trial).collect();
    over_trials(&each)
}

#[cfg(test)]
mod tests;
