//! Efficiency by the length of the jobs.

use super::super::findings::{EfficiencyPoint, GrainFinding, MetgStatus};
use super::super::outcome::{Part, RigSetting, RigTrial, RunFigures};
use super::super::plan::RigPlan;
use super::{mean, over_trials, sure, valid};
use plimsoll_model::Estimate;
use plimsoll_study::rig::grain::{self, GrainRun, Metg};
use std::num::NonZeroU32;
use std::time::Duration;

pub(super) fn findings(plan: &RigPlan, trials: &[RigTrial]) -> Vec<GrainFinding> {
    if !plan.has(Part::Grain) {
        return Vec::new();
    }
    let of = |name: &String| {
        let rows = plan
            .dependencies
            .iter()
            .map(|n| row(plan, trials, name, *n));
        rows.collect::<Vec<_>>()
    };
    plan.schedulers.iter().flat_map(of).collect()
}

fn row(plan: &RigPlan, trials: &[RigTrial], scheduler: &str, dependencies: u32) -> GrainFinding {
    let setting = RigSetting::Grain {
        scheduler: scheduler.to_owned(),
        dependencies,
    };
    let valid = valid(trials, &setting);
    let workers = NonZeroU32::new(plan.workers()).unwrap_or(NonZeroU32::MIN);
    let runs: Vec<GrainRun> = valid.iter().flat_map(|t| runs(t, workers)).collect();
    let efficiency = efficiency(plan, &valid);
    let metg = |target| {
        let (value, status) = metg(&runs, target);
        (
            sure(value, valid.len()),
            checked(status, &efficiency, target),
        )
    };
    let ((metg50_us, metg50_status), (metg95_us, metg95_status)) = (metg(0.5), metg(0.95));
    let floor = grain::floor_ns_per_job(&runs, workers, plan.run.seed);
    let is_of_empty_jobs = plan.grains.iter().any(Duration::is_zero);
    GrainFinding {
        scheduler: scheduler.to_owned(),
        dependencies,
        metg50_us,
        metg50_status,
        metg95_us,
        metg95_status,
        floor_ns_per_job: sure(floor.filter(|_| is_of_empty_jobs), valid.len()),
        efficiency,
        trials: valid.len(),
    }
}

/// The runs of a trial; their ideal time is that of the calibrations around them.
fn runs(trial: &RigTrial, workers: NonZeroU32) -> Vec<GrainRun> {
    let run = |run: &RunFigures| {
        let ideal_ns = trial.outcome.ideal_ns(run.grain_ns)?;
        Some(GrainRun {
            grain_ns: run.grain_ns as f64,
            jobs: run.jobs.into(),
            total_weight: run.weight,
            ideal_ns: ideal_ns * run.weight as f64 / f64::from(workers.get()),
            run_time_ns: run.elapsed_ns as f64,
        })
    };
    trial.outcome.runs.iter().filter_map(run).collect()
}

fn metg(runs: &[GrainRun], efficiency: f64) -> (Option<Estimate>, MetgStatus) {
    match grain::metg(runs, efficiency) {
        Metg::At(found) => (Some(found.map_rising(|ns| ns / 1e3)), MetgStatus::Found),
        Metg::AtMost { .. } => (None, MetgStatus::BelowShortest),
        Metg::Above { .. } => (None, MetgStatus::AboveLongest),
        Metg::NothingTried => (None, MetgStatus::Inconclusive),
    }
}

/// That the shortest jobs reach a target is said where the interval of their efficiency does.
fn checked(status: MetgStatus, points: &[EfficiencyPoint], target: f64) -> MetgStatus {
    let shortest = points.first().and_then(|point| point.efficiency_ratio.low);
    match status {
        MetgStatus::BelowShortest if shortest.is_none_or(|low| low < target) => {
            MetgStatus::Inconclusive
        }
        status => status,
    }
}

fn efficiency(plan: &RigPlan, valid: &[&RigTrial]) -> Vec<EfficiencyPoint> {
    let grains = plan.grains.iter().filter(|grain| !grain.is_zero());
    let point = |grain: &Duration| {
        let grain_ns = grain.as_nanos() as u64;
        let of_trial = |trial: &RigTrial| {
            let runs = trial
                .outcome
                .runs
                .iter()
                .filter(|run| run.grain_ns == grain_ns);
            mean(runs.filter_map(|run| run.efficiency(trial, plan.workers())))
        };
        Some(EfficiencyPoint {
            grain_us: grain.as_secs_f64() * 1e6,
            efficiency_ratio: over_trials(plan, valid, of_trial)?,
        })
    };
    grains.filter_map(point).collect()
}
