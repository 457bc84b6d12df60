//! Efficiency by the length of the jobs.

use super::super::findings::{EfficiencyPoint, GrainFinding, MetgStatus};
use super::super::outcome::{Part, RigSetting, RigTrial, RunFigures};
use super::{Study, valid};
use plimsoll_model::Estimate;
use plimsoll_study::rig::grain::{self, GrainRun, Metg, Point};
use std::num::NonZeroU32;
use std::time::Duration;

pub(super) fn findings(study: &Study<'_>) -> Vec<GrainFinding> {
    let plan = study.plan;
    if !plan.has(Part::Grain) {
        return Vec::new();
    }
    let of = |name: &String| {
        let rows = plan.dependencies.iter().map(|n| row(study, name, *n));
        rows.collect::<Vec<_>>()
    };
    plan.schedulers.iter().flat_map(of).collect()
}

fn row(study: &Study<'_>, scheduler: &str, dependencies: u32) -> GrainFinding {
    let plan = study.plan;
    let setting = RigSetting::Grain {
        scheduler: scheduler.to_owned(),
        dependencies,
    };
    let valid = valid(study.trials, &setting);
    let workers = NonZeroU32::new(plan.workers()).unwrap_or(NonZeroU32::MIN);
    let trials: Vec<Vec<GrainRun>> = valid.iter().map(|t| runs(t, workers)).collect();
    let points = grain::efficiencies(&trials, study.interruption);
    let metg = |target| match is_disturbed(&points) {
        true => (None, MetgStatus::Disturbed),
        false => metg(&points, target),
    };
    let ((metg50_us, metg50_status), (metg95_us, metg95_status)) = (metg(0.5), metg(0.95));
    let floor = grain::floor_ns_per_job(&trials, workers);
    let is_of_empty_jobs = plan.grains.iter().any(Duration::is_zero);
    let point = |point: &Point| EfficiencyPoint {
        grain_us: point.grain_ns / 1e3,
        efficiency_ratio: point.efficiency,
    };
    GrainFinding {
        scheduler: scheduler.to_owned(),
        dependencies,
        metg50_us,
        metg50_status,
        metg95_us,
        metg95_status,
        floor_ns_per_job: floor.filter(|_| is_of_empty_jobs),
        efficiency: points.iter().map(point).collect(),
        trials: valid.len(),
    }
}

/// The runs of a trial; their ideal time is that of the calibrations around them, without
/// interruptions.
fn runs(trial: &RigTrial, workers: NonZeroU32) -> Vec<GrainRun> {
    let run = |run: &RunFigures| {
        let job_ns = trial.outcome.uninterrupted_ns(run.grain_ns)?;
        Some(GrainRun {
            grain_ns: run.grain_ns as f64,
            jobs: run.jobs.into(),
            total_weight: run.weight,
            ideal_ns: job_ns * run.weight as f64 / f64::from(workers.get()),
            run_time_ns: run.elapsed_ns as f64,
        })
    };
    trial.outcome.runs.iter().filter_map(run).collect()
}

/// Whether the calibration was: more work than the CPUs can do, by more than METG(95 %) leaves.
fn is_disturbed(points: &[Point]) -> bool {
    let low = |point: &Point| point.efficiency.low;
    points.iter().filter_map(low).any(|low| low > 1.05)
}

fn metg(points: &[Point], efficiency: f64) -> (Option<Estimate>, MetgStatus) {
    match grain::metg(points, efficiency) {
        Metg::At(found) => (Some(found.map_rising(|ns| ns / 1e3)), MetgStatus::Found),
        // Said only where all of the interval does.
        Metg::AtMost { .. } => match points.first().and_then(|point| point.efficiency.low) {
            Some(low) if low >= efficiency => (None, MetgStatus::BelowShortest),
            _ => (None, MetgStatus::Inconclusive),
        },
        Metg::Above { .. } => (None, MetgStatus::AboveLongest),
        Metg::NothingTried => (None, MetgStatus::Inconclusive),
    }
}
