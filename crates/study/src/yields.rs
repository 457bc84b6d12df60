//! What batch work beside a service gains, and what the service pays for it.
//!
//! Every figure that compares is a difference within a pass: an arm against
//! the service alone, or against the job alone, of the same pass. Latencies are
//! compared by the logarithm of their ratio, whose mean over the passes is
//! stated as a change in percent; its interval comes from resampled passes. The
//! second trial of the service alone in each pass is compared in the same way,
//! and shows what differs where nothing does.

mod arm;
mod verdict;

use crate::bootstrap;
use crate::rated::rated;
use plimsoll_model::{Arm, Estimate, Phase, Plan, Rate, Setting, Trial, YieldFindings};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Fewer pairs than this have no interval: of four, even the extremes hold the
/// truth in no more than 7 of 8 cases (1 - 2/2^n), of five in 15 of 16.
const FEWEST_PAIRS: usize = 5;

/// The trials before the first that has to do with a job: those of the
/// calibration.
pub fn before_jobs(trials: &[Trial]) -> &[Trial] {
    let first = trials
        .iter()
        .position(|t| matches!(t.spec.setting, Setting::Beside { .. }));
    &trials[..first.unwrap_or(trials.len())]
}

/// All that can be concluded from the trials of a yield run so far; `None` for
/// a plan without a job.
pub fn findings(plan: &Plan, trials: &[Trial]) -> Option<YieldFindings> {
    let side = plan.sideload.as_ref()?;
    let seen = Seen::of(trials);
    let rated = rated(plan, before_jobs(trials));
    let rated_rps = rated.as_ref().map(|r| r.rate_rps);
    let noise = arm::change(&seen, Arm::ServiceAgain, plan.seed);
    let noise_floor_pct = noise
        .and_then(|change| change.under(&side.budget).interval())
        .map(|(low, high)| low.abs().max(high.abs()));
    let shown = side.arms.iter().filter(|arm| **arm != Arm::ServiceAgain);
    let arms: Vec<_> = shown
        .map(|arm| arm::finding(&seen, *arm, side, rated_rps, noise_floor_pct, plan.seed))
        .collect();
    let passes = side.arms.iter().map(|arm| seen.passes(*arm)).min();
    Some(YieldFindings {
        rate_rps: trials.iter().find_map(asked_rps),
        rated,
        budget: side.budget,
        passes: passes.unwrap_or(0),
        noise_floor_pct,
        recommended: verdict::recommended(&arms, side),
        arms,
        missing_arms: side.missing_arms.clone(),
    })
}

fn asked_rps(trial: &Trial) -> Option<f64> {
    match trial.spec.setting {
        Setting::Beside { rate, .. } if rate > Rate::ZERO => Some(rate.get()),
        _ => None,
    }
}

/// The trials of each arm, and the last one that counts of each pass.
struct Seen<'t> {
    trials: BTreeMap<Arm, Vec<&'t Trial>>,
    counting: BTreeMap<(Arm, u32), &'t Trial>,
}

impl<'t> Seen<'t> {
    fn of(trials: &'t [Trial]) -> Seen<'t> {
        let mut seen = Seen {
            trials: BTreeMap::new(),
            counting: BTreeMap::new(),
        };
        for trial in trials {
            let Setting::Beside { arm, .. } = trial.spec.setting else {
                continue;
            };
            if !matches!(trial.spec.phase, Phase::Level { .. }) {
                continue;
            }
            seen.trials.entry(arm).or_default().push(trial);
            if trial.verdict.is_valid() {
                seen.counting.insert((arm, trial.spec.pass), trial);
            }
        }
        seen
    }

    fn all(&self, arm: Arm) -> &[&'t Trial] {
        self.trials.get(&arm).map_or(&[], Vec::as_slice)
    }

    /// Those of an arm that count, one for each pass.
    fn counting(&self, arm: Arm) -> impl Iterator<Item = &'t Trial> {
        let of = (arm, 0)..=(arm, u32::MAX);
        self.counting.range(of).map(|(_, trial)| *trial)
    }

    fn passes(&self, arm: Arm) -> u32 {
        self.counting(arm).count() as u32
    }

    /// Trials of two arms that count, of the same passes.
    fn pairs(&self, arm: Arm, other: Arm) -> Vec<(&'t Trial, &'t Trial)> {
        let with = |trial: &'t Trial| {
            let other = self.counting.get(&(other, trial.spec.pass))?;
            Some((trial, *other))
        };
        self.counting(arm).filter_map(with).collect()
    }
}

/// The mean of `values`, one for each pass; `None` without any.
fn mean(values: &[f64], seed: u64) -> Option<Estimate> {
    let mean = |draw: &[usize]| {
        let sum: f64 = draw.iter().filter_map(|at| values.get(*at)).sum();
        (!draw.is_empty()).then(|| sum / draw.len() as f64)
    };
    resampled(values.len(), seed, mean)
}

/// What `figure` gives for all of `n` passes, with what it gives for passes
/// drawn with replacement.
fn resampled(n: usize, seed: u64, figure: impl Fn(&[usize]) -> Option<f64>) -> Option<Estimate> {
    let all: Vec<usize> = (0..n).collect();
    let value = figure(&all).filter(|v| v.is_finite())?;
    if n < FEWEST_PAIRS {
        return Some(Estimate::alone(value));
    }
    let replicates = bootstrap::resample(n, seed, figure);
    Some(bootstrap::estimate(value, replicates, n))
}
