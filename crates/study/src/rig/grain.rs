//! How small jobs may be: efficiency against grain, and the overhead of a job.
//!
//! The efficiency of a run is its ideal time over its run time. METG(e), the minimum
//! effective task granularity, is the smallest grain at which it is `e` (Slaughter et
//! al., "Task Bench", SC 2020). Unlike there the reference is the ideal time, the same
//! for all schedulers, not the best run of each.
//!
//! Of each grain the median of its runs counts, and the medians are made to rise with
//! the grain (isotonic regression), because a larger grain has no more overhead.
//! Between two grains the logarithm of `e / (1 - e)` is taken to be linear in that of
//! the grain, which is exact where each job costs the same.
//!
//! The interval is where a band crosses the efficiency: Student's interval of the mean of
//! each grain's runs, joined between grains. Its low end is where the band's upper edge
//! first reaches the efficiency, its high end where the lower edge last does: either may
//! lie beyond the grains that were tried, and is missing then.

use crate::{bootstrap, isotonic, student, theil_sen};
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

    /// From 0 to 1, and above by what the calibration of the grain is off.
    pub fn efficiency(&self) -> f64 {
        self.ideal_ns / self.run_time_ns
    }
}

/// The smallest grain with an efficiency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metg {
    /// In nanoseconds. An end is missing where it lies beyond the grains that were tried.
    At(Estimate),
    /// Also the smallest grain tried has it.
    AtMost { smallest_ns: f64 },
    /// Not even the largest grain tried has it.
    Above { largest_ns: f64 },
    /// No run has a grain above 0.
    NothingTried,
}

/// The runs of one grain.
struct Tried {
    grain_ns: f64,
    efficiencies: Vec<f64>,
}

/// METG of an efficiency between 0 and 1. Runs with a grain of 0 do not count.
pub fn metg(runs: &[GrainRun], efficiency: f64) -> Metg {
    let tried = by_grain(runs);
    let Some((first, last)) = tried.first().zip(tried.last()) else {
        return Metg::NothingTried;
    };
    let series = |efficiencies: Vec<f64>| -> Vec<(f64, f64)> {
        let grains = tried.iter().map(|t| t.grain_ns.ln());
        grains.zip(efficiencies).collect()
    };
    let medians = tried.iter().map(|t| {
        let median = theil_sen::median(&mut t.efficiencies.clone());
        (median.unwrap_or(0.0), t.efficiencies.len() as f64)
    });
    let fitted = isotonic::fit(&medians.collect::<Vec<_>>());
    let value = match crossing(&series(fitted), efficiency) {
        Crossing::At(ln) => ln.exp(),
        Crossing::BelowFirst => {
            return Metg::AtMost {
                smallest_ns: first.grain_ns,
            };
        }
        Crossing::Never => {
            return Metg::Above {
                largest_ns: last.grain_ns,
            };
        }
    };
    let means: Vec<Option<Estimate>> = tried
        .iter()
        .map(|t| student::mean(&t.efficiencies))
        .collect();
    let band = |end: fn(&Estimate) -> Option<f64>| -> Option<Vec<f64>> {
        means.iter().map(|mean| end(mean.as_ref()?)).collect()
    };
    let low = band(|mean| mean.high).map(|upper| crossing(&series(upper), efficiency));
    let high = band(|mean| mean.low).map(|lower| {
        let mut rising = lower;
        // The last place that may be below counts, so nothing before it is above.
        let mut least = f64::INFINITY;
        for value in rising.iter_mut().rev() {
            least = least.min(*value);
            *value = least;
        }
        crossing(&series(rising), efficiency)
    });
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

/// Ascending.
fn by_grain(runs: &[GrainRun]) -> Vec<Tried> {
    let usable = |run: &&GrainRun| run.grain_ns > 0.0 && run.efficiency().is_finite();
    let mut sorted: Vec<&GrainRun> = runs.iter().filter(usable).collect();
    sorted.sort_by(|a, b| a.grain_ns.total_cmp(&b.grain_ns));
    let equal = sorted.chunk_by(|a, b| a.grain_ns == b.grain_ns);
    equal
        .map(|runs| Tried {
            grain_ns: runs[0].grain_ns,
            efficiencies: runs.iter().map(|run| run.efficiency()).collect(),
        })
        .collect()
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
/// `run time * P / jobs - grain`, at the smallest grain that was tried. The mean weight of
/// the jobs counts. `None` without runs.
pub fn floor_ns_per_job(runs: &[GrainRun], workers: NonZeroU32, seed: u64) -> Option<Estimate> {
    let smallest = runs.iter().map(|run| run.grain_ns).min_by(f64::total_cmp)?;
    let of_smallest = runs
        .iter()
        .filter(|run| run.grain_ns == smallest && run.jobs > 0);
    let floors: Vec<f64> = of_smallest
        .map(|run| {
            let jobs = run.jobs as f64;
            let work = run.grain_ns * run.total_weight as f64;
            (run.run_time_ns * f64::from(workers.get()) - work) / jobs
        })
        .collect();
    bootstrap::figure(floors.len(), seed, |draw| {
        let mut drawn: Vec<f64> = draw.iter().map(|at| floors[*at]).collect();
        theil_sen::median(&mut drawn)
    })
}

#[cfg(test)]
mod tests;
