//! CPU time per request near a capacity, in the course of a run.
//!
//! A slower service takes more CPU time for a request, whatever queue the request stands
//! in. So CPU time shows a change of speed with far less noise than latency near
//! saturation does. It does not show a service that waits longer.

use crate::boundary::AROUND;
use crate::carried::trial_is_carried;
use crate::levels::cpu_share;
use crate::serial::{FEWEST, is_clustered};
use crate::theil_sen::{self, Line};
use plimsoll_model::{Doubt, Estimate, Plan, Trial};

/// How many times as far apart as usual trials are that are no chance.
pub(crate) const SLOW: f64 = 6.0;
/// A smaller factor is no state of its own.
pub(crate) const SLOW_AT_LEAST: f64 = 1.15;
/// Fewer answers than these have no CPU time per request to speak of.
const FEWEST_ANSWERS: f64 = 100.0;
/// Up to so far beyond the capacity, as a logarithm, trials count that were not carried.
const LITTLE_BEYOND: f64 = 0.1;
/// The part of a slow variation that a run sees, as a standard deviation.
const SEEN: f64 = 0.5;
/// What turns a median of absolute deviations into a standard deviation.
const NORMAL_MAD: f64 = 1.4826;

/// Trials near `rate_rps` that took far more CPU time per request than the others, and a
/// variation of at least `least_pct` among those.
pub(crate) fn doubts(plan: &Plan, trials: &[Trial], rate_rps: f64, least_pct: f64) -> Vec<Doubt> {
    let residuals = residuals(plan, trials, rate_rps);
    let (costly, of) = (costly(&residuals), residuals.len());
    let doubt = costly.map(|costly| Doubt::CostlyTrials {
        rate_rps,
        trials: costly.trials,
        of,
        ratio: costly.median.exp(),
    });
    let by_pct = common(&residuals).map(|common| 100.0 * (2.0 * common).exp_m1());
    let varies = by_pct.filter(|by_pct| *by_pct >= least_pct);
    let varies = varies.map(|by_pct| Doubt::CpuTimeVaries { by_pct });
    doubt.into_iter().chain(varies).collect()
}

/// The rate with an interval that allows for a variation of the service's speed that was
/// seen near it.
///
/// Twice the standard deviation would do if the run had seen all of it. Of what varies
/// over a time as long as the run itself, it sees about half: of an Ornstein-Uhlenbeck
/// process over 4/3 of its time constant, the standard deviation around the run's own mean is
/// 0.57 of that in the long run.
pub(crate) fn widened(plan: &Plan, trials: &[Trial], rate: Estimate) -> Estimate {
    let Some((low, high)) = rate.interval() else {
        return rate;
    };
    let Some(common) = common(&residuals(plan, trials, rate.value)) else {
        return rate;
    };
    let by = |half: f64| half.hypot(2.0 * common / SEEN);
    let (below, above) = ((rate.value / low).ln(), (high / rate.value).ln());
    let (low, high) = ((-by(below)).exp(), by(above).exp());
    Estimate::within(rate.value, rate.value * low, rate.value * high)
}

/// How far the logarithm of the CPU time per request lies above that of other trials at
/// such loads, in the order of the trials.
fn residuals(plan: &Plan, trials: &[Trial], rate_rps: f64) -> Vec<f64> {
    let point = |trial: &Trial| {
        let x = (trial.asked().get() / rate_rps).ln();
        let is_near = x.abs() <= AROUND && trial.spec.phase.shows_load();
        // Far beyond saturation much CPU time is for requests without an answer.
        let is_answered = x <= LITTLE_BEYOND || trial_is_carried(trial);
        let usable = is_near && is_answered && trial.verdict.is_valid();
        Some((x, cpu_time_s(plan, trial)?.ln())).filter(|_| usable)
    };
    let points: Vec<(f64, f64)> = trials.iter().filter_map(point).collect();
    let line = Line::through(&points, 0.0).filter(|_| points.len() >= FEWEST);
    line.map_or_else(Vec::new, |line| {
        points.iter().map(|(x, y)| y - line.at(*x)).collect()
    })
}

/// The service's CPU time per answer in seconds; without that of its tasks, the busy part
/// of its CPUs.
fn cpu_time_s(plan: &Plan, trial: &Trial) -> Option<f64> {
    let own = trial.service.as_ref().map(|used| used.cpu.0.as_secs_f64());
    let busy = || {
        let cpus = trial.machine.service_cpu.as_ref()?.total().0.as_secs_f64();
        Some(cpu_share(&plan.run.cpus, trial)?.get() * cpus)
    };
    let seconds = own.or_else(busy).filter(|seconds| *seconds > 0.0)?;
    let answers = trial.sensed_answers();
    (answers >= FEWEST_ANSWERS).then(|| seconds / answers)
}

#[derive(Debug, Clone, Copy)]
struct Costly {
    trials: usize,
    /// The least and the median residual of them.
    least: f64,
    median: f64,
}

/// Those that are far above the rest, by the rest's own scatter; not as many as the rest.
fn costly(residuals: &[f64]) -> Option<Costly> {
    let mut distances: Vec<f64> = residuals.iter().map(|by| by.abs()).collect();
    let scatter = NORMAL_MAD * theil_sen::median(&mut distances)?;
    let least = (SLOW * scatter).max(SLOW_AT_LEAST.ln());
    let mut far: Vec<f64> = residuals.iter().copied().filter(|by| *by > least).collect();
    Some(Costly {
        trials: far.len(),
        least,
        median: theil_sen::median(&mut far)?,
    })
}

/// The standard deviation of what successive trials have in common, where that is no
/// chance. Without those that are far above the others.
fn common(residuals: &[f64]) -> Option<f64> {
    let least = costly(residuals).map_or(f64::INFINITY, |costly| costly.least);
    let usual: Vec<f64> = residuals.iter().copied().filter(|by| *by < least).collect();
    if !is_clustered(&usual) {
        return None;
    }
    let n = usual.len() as f64;
    let mean = usual.iter().sum::<f64>() / n;
    let products = usual.windows(2).map(|w| (w[0] - mean) * (w[1] - mean));
    // Noise of single trials is not in the covariance of neighbours.
    Some((products.sum::<f64>() / n).max(0.0).sqrt())
}

#[cfg(test)]
mod tests;
