//! Run time against the number of jobs in a load peak.
//!
//! A peak is `p` independent jobs of one grain, released at once to `P` workers that
//! were idle. Its run time is close to a line in `p`:
//!
//! ```text
//! run time = start-up + gradient p        ideal: grain/P p
//! ```
//!
//! Each trial has a line of its own, that of Theil and Sen, so a fifth of its runs may be
//! disturbed; gradient and start-up are the means over trials. Where `p` is not a multiple
//! of `P`, some workers have one job more than others, and the start-up holds up to
//! `(P-1)/P` grains of that: choose multiples.
//!
//! # Two populations
//!
//! A scheduler that does now this and now that (as one whose workers were awake in some
//! runs and asleep in others) has two lines, and one line through both is wrong for
//! each. Runs are taken for two populations when the residuals of a line have two modes
//! by the dip test: in all runs, or in the half with the fewest or the most jobs; by
//! their time, or by their share of the run time. These are six tests at a sixth of a
//! percent: 1 % of false alarms at most. Groups closer than 2 % of the run time are of
//! no matter and not flagged. Runs are compared after the lines of their trials were laid
//! onto each other: two trials that differ are no two populations.
//!
//! Wake-up times are tested the same way, in each trial by itself: a worker that naps, and
//! looks for work only when it wakes, is now awake and now not ([`two_wake_ups`]).
//!
//! # A kink
//!
//! Where the gradient changes at some number of jobs, no line is right: [`Kink`].

mod kink;

use super::{dip, over_trials};
use crate::theil_sen::{self, Line};
use plimsoll_model::Estimate;
use std::num::NonZeroU32;
use std::time::Duration;

pub use kink::Kink;

/// One run of a peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakRun {
    /// `p`.
    pub jobs: u32,
    /// From the release to the end of the last job.
    pub run_time_ns: f64,
}

/// The line through runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakLine {
    pub gradient_us_per_job: Estimate,
    /// The run time of a peak without jobs.
    pub startup_us: Estimate,
    /// The gradient over `grain / P`, 1 for a scheduler without any cost; `None` for a
    /// grain of 0.
    pub gradient_ratio: Option<Estimate>,
    pub two_populations: Option<TwoPopulations>,
    pub kink: Option<Kink>,
}

/// Runs that are of two kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoPopulations {
    /// Peaks of so many jobs have them.
    pub fewest_jobs: u32,
    pub most_jobs: u32,
    /// By how much the slower kind takes longer, at the median.
    pub apart_us: f64,
    /// The part of runs that are of the slower kind.
    pub slower_share: f64,
}

/// The line through the peaks of some trials on so many workers. `None` without a trial
/// that has two different numbers of jobs. The time that it takes grows with the square of
/// the runs: with 200 runs tens of milliseconds.
pub fn line(
    trials: &[Vec<PeakRun>],
    grain: Duration,
    workers: NonZeroU32,
    seed: u64,
) -> Option<PeakLine> {
    let points = |runs: &Vec<PeakRun>| -> Vec<(f64, f64)> {
        let point = |run: &PeakRun| (f64::from(run.jobs), run.run_time_ns / 1e3);
        runs.iter().map(point).collect()
    };
    let trials: Vec<Vec<(f64, f64)>> = trials.iter().map(points).collect();
    let lines = trials
        .iter()
        .filter_map(|points| Some((points, Line::through(points, 0.0)?)));
    let lines: Vec<(&Vec<(f64, f64)>, Line)> = lines.collect();
    let mean = |of: fn(&Line) -> f64| {
        let each: Vec<f64> = lines.iter().map(|(_, line)| of(line)).collect();
        over_trials(&each)
    };
    let gradient = mean(Line::slope)?;
    let startup = mean(|line| line.at(0.0))?;
    let of_all = |x: f64| startup.value + gradient.value * x;
    let onto = |(points, line): &(&Vec<(f64, f64)>, Line)| -> Vec<(f64, f64)> {
        let moved = points
            .iter()
            .map(|(x, y)| (*x, y - line.at(*x) + of_all(*x)));
        moved.collect()
    };
    let ideal = grain.as_secs_f64() * 1e6 / f64::from(workers.get());
    Some(PeakLine {
        gradient_us_per_job: gradient,
        startup_us: startup,
        gradient_ratio: (ideal > 0.0).then(|| gradient.map_rising(|g| g / ideal)),
        two_populations: two_populations(lines.iter().flat_map(onto).collect(), seed),
        kink: kink::kink(&trials),
    })
}

/// The fewest peaks of a trial whose wake-up times show whether they are of two kinds.
pub const FEWEST_WAKE_UPS: usize = dip::FEWEST;

/// Wake-up times of two kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoWakeUps {
    /// The median of each kind.
    pub faster_us: f64,
    pub slower_us: f64,
    /// The part of the peaks with the slower kind, in the trial that shows it.
    pub slower_share: f64,
}

/// Two kinds of wake-ups differ by at least this ratio: less is the machine's.
const WAKE_UPS_APART: f64 = 2.0;

/// Whether the wake-up times of the peaks of some trials, in microseconds, are of two kinds
/// in one of the trials. Trials with fewer than [`FEWEST_WAKE_UPS`] show nothing.
pub fn two_wake_ups(trials: &[Vec<f64>], seed: u64) -> Option<TwoWakeUps> {
    let level = FALSE_ALARMS / trials.len().max(1) as f64;
    let of_trial = |times: &Vec<f64>| {
        if !dip::has_two_modes(times, level, seed) {
            return None;
        }
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let at = split(&sorted);
        let (faster, slower) = sorted.split_at_mut(at);
        let slower_share = slower.len() as f64 / times.len() as f64;
        let (faster_us, slower_us) = (theil_sen::median(faster)?, theil_sen::median(slower)?);
        (slower_us > WAKE_UPS_APART * faster_us).then_some(TwoWakeUps {
            faster_us,
            slower_us,
            slower_share,
        })
    };
    trials.iter().find_map(of_trial)
}

/// The probability that a single population is flagged.
const FALSE_ALARMS: f64 = 0.01;
/// Groups nearer than this part of the run time are no finding.
const APART: f64 = 0.02;

fn two_populations(mut points: Vec<(f64, f64)>, seed: u64) -> Option<TwoPopulations> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let middle = points.get(points.len() / 2)?.0;
    let few = points.partition_point(|(jobs, _)| *jobs < middle);
    let parts = [&points[..], &points[..few], &points[few..]];
    let level = FALSE_ALARMS / (2 * parts.len()) as f64;
    parts.iter().find_map(|part| in_part(part, level, seed))
}

/// In points that are sorted by jobs.
fn in_part(points: &[(f64, f64)], level: f64, seed: u64) -> Option<TwoPopulations> {
    let line = Line::through(points, 0.0)?;
    let mut times: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let usual = theil_sen::median(&mut times)?;
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - line.at(*x)).collect();
    // A line may fall below 0 where there are few jobs.
    let scale = |x: f64| line.at(x).max(usual / 10.0);
    let shares: Vec<f64> = points
        .iter()
        .zip(&rests)
        .map(|((x, _), rest)| rest / scale(*x))
        .collect();
    if ![&rests, &shares]
        .iter()
        .any(|values| dip::has_two_modes(values, level, seed))
    {
        return None;
    }
    rests.sort_by(f64::total_cmp);
    let split = split(&rests);
    let (faster, slower) = rests.split_at_mut(split);
    let slower_share = slower.len() as f64 / points.len() as f64;
    let apart_us = theil_sen::median(slower)? - theil_sen::median(faster)?;
    let (first, last) = (points.first()?, points.last()?);
    (apart_us > APART * usual).then_some(TwoPopulations {
        fewest_jobs: first.0 as u32,
        most_jobs: last.0 as u32,
        apart_us,
        slower_share,
    })
}

/// Where sorted values fall into the two groups that are furthest apart for their
/// scatter: the split with the least sum of squares within.
fn split(sorted: &[f64]) -> usize {
    let n = sorted.len() as f64;
    let total: f64 = sorted.iter().sum();
    let (mut best, mut split, mut below) = (f64::NEG_INFINITY, 1, 0.0);
    for (count, value) in sorted.iter().enumerate().skip(1) {
        below += sorted[count - 1];
        debug_assert!(*value >= sorted[count - 1]);
        let k = count as f64;
        // The sum of squares between the groups.
        let between = (below / k - (total - below) / (n - k)).powi(2) * k * (n - k);
        if between > best {
            (best, split) = (between, count);
        }
    }
    split
}

#[cfg(test)]
mod tests;
