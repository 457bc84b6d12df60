//! Load peaks: run time against the number of jobs.

use super::super::findings::{LinePoint, PeakFinding};
use super::super::outcome::{Part, RigSetting, RigTrial, RunFigures, TimedFigures};
use super::super::plan::{RigPlan, peak_sizes};
use super::{Study, mean, mean_of, ratio_of_sums, valid};
use plimsoll_model::Estimate;
use plimsoll_study::rig::peak::{self, PeakLine, PeakRun};
use plimsoll_study::rig::product;
use std::num::NonZeroU32;
use std::time::Duration;

/// A large peak: starting and ending are a small part of it.
const LARGE: u32 = 100;

pub(super) fn findings(study: &Study<'_>) -> Vec<PeakFinding> {
    let plan = study.plan;
    if !plan.has(Part::Peak) {
        return Vec::new();
    }
    let of = |name: &String| {
        let rows = plan
            .peak_grains
            .iter()
            .map(|grain| row(study, name, *grain));
        rows.collect::<Vec<_>>()
    };
    plan.schedulers.iter().flat_map(of).collect()
}

fn row(study: &Study<'_>, scheduler: &str, grain: Duration) -> PeakFinding {
    let (plan, interruption) = (study.plan, study.interruption);
    let setting = RigSetting::Peak {
        scheduler: scheduler.to_owned(),
        grain,
    };
    let valid = valid(study.trials, &setting);
    let large = Large::of(plan, grain);
    let line = line(plan, &valid, grain);
    // By how much less a machine without interruptions would take.
    let shorter = Estimate {
        value: 1.0 / interruption.value,
        low: interruption.high.map(|high| 1.0 / high),
        high: interruption.low.map(|low| 1.0 / low),
    };
    let job_ns = |trial: &RigTrial| trial.outcome.uninterrupted_ns(grain.as_nanos() as u64);
    let efficiency = mean_of(&valid, |trial| {
        let (job_ns, workers) = (job_ns(trial)?, f64::from(plan.workers()));
        let run = |run: &RunFigures| (job_ns * run.weight as f64, run.elapsed_ns as f64 * workers);
        ratio_of_sums(large.runs(trial).map(run))
    });
    let inflation = mean_of(&valid, |trial| {
        let job_ns = job_ns(trial)?;
        let timed = large.timed(trial);
        ratio_of_sums(timed.map(|(run, t)| (t.busy_ns as f64, job_ns * f64::from(run.jobs))))
    });
    let each = || valid.iter().flat_map(|trial| large.timed(trial));
    PeakFinding {
        scheduler: scheduler.to_owned(),
        grain_us: grain.as_secs_f64() * 1e6,
        average_concurrency: mean_of(&valid, |trial| {
            let timed = large.timed(trial);
            ratio_of_sums(timed.map(|(_, t)| (t.busy_ns as f64, t.covered_ns as f64)))
        }),
        gradient_ratio: line
            .and_then(|line| line.gradient_ratio)
            .map(|gradient| product(gradient, shorter)),
        startup_us: line.map(|line| line.startup_us),
        two_populations: line.map(|line| line.two_populations.is_some()),
        kink_at_jobs: line.and_then(|line| line.kink).map(|kink| kink.at_jobs),
        two_wake_ups: two_wake_ups(plan, &valid, large),
        line: line.map_or_else(Vec::new, |line| {
            drawn(&line, &peak_sizes(grain, plan.workers()))
        }),
        efficiency_ratio: efficiency.map(|ratio| product(ratio, interruption)),
        all_busy_share: mean(each().map(|(_, t)| t.all_busy_ns as f64 / t.covered_ns as f64)),
        impeded_us_per_job: mean(
            each().map(|(run, t)| t.impeded_ns as f64 / f64::from(run.jobs) / 1e3),
        ),
        job_inflation_ratio: inflation.map(|ratio| product(ratio, shorter)),
        overlapping_share: ratio_of_sums(
            each().map(|(run, t)| (f64::from(t.overlapping), f64::from(run.jobs))),
        ),
        trials: valid.len(),
    }
}

/// The lines through the run times of the trials, each corrected by the calibrations
/// around it to a job of exactly this length.
fn line(plan: &RigPlan, valid: &[&RigTrial], grain: Duration) -> Option<PeakLine> {
    let grain_ns = grain.as_nanos() as u64;
    let of_trial = |trial: &&RigTrial| {
        let job_ns = trial.outcome.uninterrupted_ns(grain_ns)?;
        let runs = trial.outcome.runs.iter();
        let run = move |run: &RunFigures| PeakRun {
            jobs: run.jobs,
            run_time_ns: run.elapsed_ns as f64 * grain_ns as f64 / job_ns,
        };
        Some(runs.map(run).collect::<Vec<_>>())
    };
    let trials: Vec<Vec<PeakRun>> = valid.iter().filter_map(of_trial).collect();
    let workers = NonZeroU32::new(plan.workers())?;
    peak::line(&trials, grain, workers, plan.run.seed)
}

/// Whether some of the large peaks have all workers at work much later than others: at the
/// end of the peak, if one never came. `None` if no trial has enough of them.
fn two_wake_ups(plan: &RigPlan, valid: &[&RigTrial], large: Large) -> Option<bool> {
    let awake_us = |(_, t): (&RunFigures, TimedFigures)| {
        let ns = t.all_started_ns.unwrap_or(t.first_start_ns + t.covered_ns);
        ns as f64 / 1e3
    };
    let of_trial = |trial: &&RigTrial| large.timed(trial).map(awake_us).collect();
    let trials: Vec<Vec<f64>> = valid.iter().map(of_trial).collect();
    let shown = |times: &Vec<f64>| times.len() >= peak::FEWEST_WAKE_UPS;
    trials
        .iter()
        .any(shown)
        .then(|| peak::two_wake_ups(&trials, plan.run.seed).is_some())
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
