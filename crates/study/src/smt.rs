//! Simultaneous multithreading and clock frequency: why half of the CPU time
//! is not half of the work, and a utilisation that is linear in work.
//!
//! A core whose two threads are busy does more than one with a single busy
//! thread, but not twice as much: the **speed-up** `s` times as much, 1.2 to
//! 1.4 on most machines. CPU use counts busy *threads*, and so sees a machine
//! with one busy thread on each core as half used, when `1/s` of its work is
//! done.
//!
//! The corrected utilisation is the one by which IBM accounts for z/OS cores:
//!
//! ```text
//! u = (2 u_core - u_thread) / s + (u_thread - u_core)
//! ```
//!
//! Here `u_core` is the share of time in which at least one thread of a core
//! is busy, 0 to 1, and `u_thread` is the busy time of *all* threads of a core
//! together, 0 to 2: twice the CPU use that Linux shows as a share. If one
//! thread alone is busy for a part `a` of the time and both for a part `b`,
//! then `u_core = a + b` and `u_thread = a + 2b`, so `2 u_core - u_thread = a`
//! and `u_thread - u_core = b`: time with one busy thread counts `1/s`, time
//! with two counts 1.
//!
//! The clock comes on top: the more is busy, the lower the frequency. APERF
//! over MPERF is the mean clock while not halted, as a ratio to the nominal
//! one (Intel Software Developer's Manual, volume 3, section on hardware
//! coordination feedback); work per busy time is proportional to it, at most.

mod finding;
mod utilisation;

pub(crate) use finding::{of_copies, of_levels};
pub(crate) use utilisation::{BusyTime, Clock, work_share, work_share_range};

use crate::bootstrap::{self, RESAMPLES};
use crate::levels::mean;
use crate::seeded::Rng;
use plimsoll_model::{CopiesSetting, CopiesTrial, NoSpeedup, Speedup};
use std::time::Duration;

/// A trial at the end of what the service can do on the CPUs it is pinned to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PinnedTrial {
    /// Work per second: requests, or copies finished.
    pub(crate) rate_rps: f64,
    /// APERF over MPERF on the busy CPUs: the mean clock as a ratio to the
    /// nominal one. `None` where it cannot be read.
    pub(crate) clock_ratio: Option<f64>,
}

/// The speed-up from trials that were pinned to one thread of each core, and
/// from trials on both threads of the same cores.
///
/// The ratio of the mean rates, with a bootstrap interval over the trials of
/// both kinds (which counts as many observations as the kind that has fewer).
///
/// # Errors
///
/// Where either kind of trial is missing.
pub(crate) fn speedup(
    one_thread: &[PinnedTrial],
    two_threads: &[PinnedTrial],
    seed: u64,
) -> Result<Speedup, NoSpeedup> {
    let one = Side::of(one_thread).ok_or(NoSpeedup::LevelMissing)?;
    let two = Side::of(two_threads).ok_or(NoSpeedup::LevelMissing)?;
    let estimate = |figure: fn(&Side, &Side) -> Option<f64>| {
        let value = figure(&one, &two)?;
        let mut rng = Rng::seeded(seed);
        let once = |_| figure(&one.drawn(&mut rng), &two.drawn(&mut rng)).unwrap_or(f64::NAN);
        let replicates = (0..RESAMPLES).map(once).collect();
        let observations = one.0.len().min(two.0.len());
        Some(bootstrap::estimate(value, replicates, observations))
    };
    Ok(Speedup {
        ratio: estimate(|one, two| Some(two.rate() / one.rate())).ok_or(NoSpeedup::LevelMissing)?,
        at_equal_clock_ratio: estimate(|one, two| {
            Some(two.rate() / two.clock()? / (one.rate() / one.clock()?))
        }),
        clock_ratio: estimate(|one, two| Some(two.clock()? / one.clock()?)),
    })
}

/// The speed-up from copies at once, of which each is pinned to a CPU of its
/// own and the first `cores` copies to different cores: the work per second of
/// twice as many copies as cores against as many. A copy's time is the mean
/// over those of its trial.
///
/// # Errors
///
/// Where no trial of either number is valid.
pub(crate) fn from_copies(
    trials: &[CopiesTrial],
    cores: u32,
    seed: u64,
) -> Result<Speedup, NoSpeedup> {
    let pinned = |copies: u32| -> Vec<PinnedTrial> {
        let setting = CopiesSetting::Copies { copies };
        let counts = |t: &&CopiesTrial| t.spec.setting == setting && t.verdict.is_valid();
        trials
            .iter()
            .filter(counts)
            .filter_map(pinned_copies)
            .collect()
    };
    speedup(&pinned(cores), &pinned(cores.saturating_mul(2)), seed)
}

fn pinned_copies(trial: &CopiesTrial) -> Option<PinnedTrial> {
    let copies = trial.outcome.copy_times.len() as f64;
    let times = trial.outcome.copy_times.iter();
    let sum: f64 = times.map(Duration::as_secs_f64).sum();
    (sum > 0.0).then(|| PinnedTrial {
        rate_rps: copies * copies / sum,
        clock_ratio: trial.machine.clock_ratio,
    })
}

/// The trials of one kind that have a rate, in an order of their own.
struct Side(Vec<PinnedTrial>);

impl Side {
    fn of(trials: &[PinnedTrial]) -> Option<Side> {
        let mut trials: Vec<PinnedTrial> = trials.to_vec();
        trials.retain(|t| t.rate_rps.is_finite() && t.rate_rps > 0.0);
        let key = |t: &PinnedTrial| (t.rate_rps, t.clock_ratio.unwrap_or(0.0));
        trials.sort_by(|a, b| {
            let ((rate_a, clock_a), (rate_b, clock_b)) = (key(a), key(b));
            rate_a.total_cmp(&rate_b).then(clock_a.total_cmp(&clock_b))
        });
        (!trials.is_empty()).then_some(Side(trials))
    }

    /// As many trials, with replacement.
    fn drawn(&self, rng: &mut Rng) -> Side {
        let n = self.0.len();
        Side((0..n).map(|_| self.0[rng.below(n)]).collect())
    }

    fn rate(&self) -> f64 {
        self.0.iter().map(|t| t.rate_rps).sum::<f64>() / self.0.len() as f64
    }

    /// `None` when any trial lacks it.
    fn clock(&self) -> Option<f64> {
        mean(self.0.iter().map(|t| t.clock_ratio)).filter(|clock| *clock > 0.0)
    }
}

#[cfg(test)]
mod tests;
