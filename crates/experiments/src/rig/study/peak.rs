//! Load peaks: run time against the number of jobs.

use super::super::findings::{LinePoint, PeakFinding};
use super::super::outcome::{Part, RigSetting, RigTrial, RunFigures, TimedFigures};
use super::super::plan::{RigPlan, peak_sizes};
use super::{mean, over_trials, sure, valid};
use plimsoll_model::Estimate;
use plimsoll_study::rig::peak::{self, PeakLine, PeakRun};
use std::num::NonZeroU32;
use std::time::Duration;

/// A large peak: starting and ending are a small part of it.
const LARGE: u32 = 100;

pub(super) fn findings(plan: &RigPlan, trials: &[RigTrial]) -> Vec<PeakFinding> {
    if !plan.has(Part::Peak) {
        return Vec::new();
    }
    let of = |name: &String| {
        let rows = plan
            .peak_grains
            .iter()
            .map(|grain| row(plan, trials, name, *grain));
        rows.collect::<Vec<_>>()
    };
    plan.schedulers.iter().flat_map(of).collect()
}

fn row(plan: &RigPlan, trials: &[RigTrial], scheduler: &str, grain: Duration) -> PeakFinding {
    let setting = RigSetting::Peak {
        scheduler: scheduler.to_owned(),
        grain,
    };
    let valid = valid(trials, &setting);
    let large = Large::of(plan, grain);
    let sizes = peak_sizes(grain, plan.workers());
    let line = line(plan, &valid, grain);
    PeakFinding {
        scheduler: scheduler.to_owned(),
        grain_us: grain.as_secs_f64() * 1e6,
        average_concurrency: over_trials(plan, &valid, |trial| {
            mean(
                large
                    .timed(trial)
                    .map(|(_, t)| t.busy_ns as f64 / t.covered_ns as f64),
            )
        }),
        gradient_ratio: sure(line.and_then(|line| line.gradient_ratio), valid.len()),
        startup_us: sure(line.map(|line| line.startup_us), valid.len()),
        two_populations: line.map(|line| line.two_populations.is_some()),
        line: line.map_or_else(Vec::new, |line| drawn(&line, &sizes)),
        efficiency_ratio: over_trials(plan, &valid, |trial| {
            let runs = large.runs(trial);
            mean(runs.filter_map(|run| run.efficiency(trial, plan.workers())))
        }),
        all_busy_share: mean(valid.iter().flat_map(|trial| {
            let timed = large.timed(trial);
            timed.map(|(_, t)| t.all_busy_ns as f64 / t.covered_ns as f64)
        })),
        impeded_us_per_job: mean(valid.iter().flat_map(|trial| {
            let timed = large.timed(trial);
            timed.map(|(run, t)| t.impeded_ns as f64 / f64::from(run.jobs) / 1e3)
        })),
        job_inflation_ratio: over_trials(plan, &valid, |trial| {
            let ideal = trial.outcome.ideal_ns(grain.as_nanos() as u64)?;
            mean(
                large
                    .timed(trial)
                    .map(|(run, t)| t.busy_ns as f64 / f64::from(run.jobs) / ideal),
            )
        }),
        trials: valid.len(),
    }
}

/// The line through the run times of all trials, each corrected by the calibrations
/// around it to a job of exactly this length.
fn line(plan: &RigPlan, valid: &[&RigTrial], grain: Duration) -> Option<PeakLine> {
    let grain_ns = grain.as_nanos() as u64;
    let of_trial = |trial: &&RigTrial| {
        let ideal_ns = trial.outcome.ideal_ns(grain_ns)?;
        let runs = trial.outcome.runs.iter();
        let run = move |run: &RunFigures| PeakRun {
            jobs: run.jobs,
            run_time_ns: run.elapsed_ns as f64 * grain_ns as f64 / ideal_ns,
        };
        Some(runs.map(run).collect::<Vec<_>>())
    };
    let runs: Vec<PeakRun> = valid.iter().filter_map(of_trial).flatten().collect();
    let workers = NonZeroU32::new(plan.workers())?;
    peak::line(&runs, grain, workers, plan.run.seed)
}

/// The line at no jobs, with the interval of the start-up, and at the most jobs, with that
/// of the gradient.
fn drawn(line: &PeakLine, sizes: &[u32]) -> Vec<LinePoint> {
    let ends = [Some(0), sizes.last().copied()].into_iter().flatten();
    let point = |jobs: u32| {
        let jobs = f64::from(jobs);
        let (start, gradient) = (line.startup_us, line.gradient_us_per_job);
        let end = |start: Option<f64>, gradient: Option<f64>| Some(start? + jobs * gradient?);
        let value = start.value + jobs * gradient.value;
        LinePoint {
            jobs,
            run_time_us: Estimate {
                value,
                low: end(
                    start.low.filter(|_| jobs == 0.0).or(Some(start.value)),
                    gradient.low,
                ),
                high: end(
                    start.high.filter(|_| jobs == 0.0).or(Some(start.value)),
                    gradient.high,
                ),
            },
        }
    };
    ends.map(point).collect()
}

/// Which peaks are large.
#[derive(Clone, Copy)]
struct Large {
    least: u32,
}

impl Large {
    /// Those of [`LARGE`] jobs or more, or the largest.
    fn of(plan: &RigPlan, grain: Duration) -> Large {
        let sizes = peak_sizes(grain, plan.workers());
        Large {
            least: sizes.last().map_or(LARGE, |last| LARGE.min(*last)),
        }
    }

    fn runs(self, trial: &RigTrial) -> impl Iterator<Item = &RunFigures> {
        let runs = trial.outcome.runs.iter();
        runs.filter(move |run| run.jobs >= self.least)
    }

    /// Of which it is known when the jobs ran.
    fn timed(self, trial: &RigTrial) -> impl Iterator<Item = (&RunFigures, TimedFigures)> {
        let timed = self.runs(trial).filter_map(|run| Some((run, run.timed?)));
        timed.filter(|(_, timed)| timed.covered_ns > 0)
    }
}

impl RunFigures {
    /// The work of its jobs, as calibrated, divided by run time and workers; `None`
    /// without a calibration.
    pub(super) fn efficiency(&self, trial: &RigTrial, workers: u32) -> Option<f64> {
        let ideal_ns = trial.outcome.ideal_ns(self.grain_ns)? * self.weight as f64;
        let spent_ns = self.elapsed_ns as f64 * f64::from(workers);
        (spent_ns > 0.0).then(|| ideal_ns / spent_ns)
    }
}
