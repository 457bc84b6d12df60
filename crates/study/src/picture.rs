//! Data of a run's charts besides its findings.

mod work;

use crate::carried::is_carried;
use crate::curve::CurvePoint;
use crate::levels::{Level, cpu_share, levels};
use crate::{rated, trials_curve};
use plimsoll_model::{
    CopiesPlan, CopiesSetting, CopiesTrial, CpuPlan, CpuPoint, Estimate, Histogram, LatencySpread,
    LevelPicture, Phase, Picture, PictureSetting, Plan, RatedRate, Setting, Share, Span,
    SpectrumPoint, Trial, TrialPicture, TrialSetting, YieldPlan, YieldTrial,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// Points of a spectrum per factor of ten in what exceeds it: enough for a
/// smooth line, few enough for a page with hundreds of them.
const POINTS_PER_DECADE: u32 = 6;

/// The data of the charts for the trials so far.
pub fn picture(plan: &Plan, trials: &[Trial]) -> Picture {
    let rated = rated::rated(plan, trials);
    let levels = levels(plan, trials, rated.as_ref());
    let service_cpus = service_cpus(plan, trials);
    let curve = trials_curve(plan, trials).map_or_else(Vec::new, |curve| curve.points());
    let (work_of, works) = work::of(plan, trials, &curve, service_cpus);
    let point = |(point, work): (&CurvePoint, Option<Estimate>)| CpuPoint {
        rate_rps: point.rate_rps,
        load_pct: load_pct(rated.as_ref(), point.rate_rps),
        measured_cpu_pct: point.measured_cpu_pct,
        cpu_pct: point.cpu_pct,
        work_per_cpu_s: work,
    };
    let row = |trial: &Trial| match trial.spec.phase {
        Phase::Level { level } => levels.binary_search_by_key(&level?, |l| l.load).ok(),
        _ => None,
    };
    Picture {
        service_cpus,
        work_of,
        levels: levels.iter().map(level).collect(),
        curve: curve.iter().zip(works).map(point).collect(),
        trials: time_line(&plan.run.cpus, trials, row, rated.as_ref()),
    }
}

pub fn of_yield(plan: &YieldPlan, trials: &[YieldTrial]) -> Vec<TrialPicture> {
    let rated = rated::rated(&plan.load, crate::yields::before_jobs(trials));
    time_line(&plan.load.run.cpus, trials, |_| None, rated.as_ref())
}

/// The trials of a run of copies.
pub fn of_copies(plan: &CopiesPlan, trials: &[CopiesTrial]) -> Vec<TrialPicture> {
    let number = |trial: &CopiesTrial| match trial.spec.setting {
        CopiesSetting::Copies { copies } => Some(copies),
        CopiesSetting::Idle => None,
    };
    let numbers: BTreeSet<u32> = trials.iter().filter_map(number).collect();
    let row = |trial: &CopiesTrial| numbers.iter().position(|n| Some(*n) == number(trial));
    let mut pictures = time_line(&plan.run.cpus, trials, row, None);
    for (picture, trial) in pictures.iter_mut().zip(trials) {
        picture.copy_s = mean_s(&trial.outcome.copy_times);
    }
    pictures
}

/// The CPUs that the service may use; `None` if unknown.
pub fn service_cpus(plan: &Plan, trials: &[Trial]) -> Option<u32> {
    let of_trial = |t: &Trial| {
        let offered = matches!(t.spec.setting, Setting::Offer { .. });
        let cpus = t.machine.service_cpus.len();
        (offered && cpus > 0).then_some(cpus)
    };
    let seen = trials.iter().find_map(of_trial);
    let planned = Some(plan.run.cpus.service.len()).filter(|n| *n > 0);
    u32::try_from(seen.or(planned)?).ok()
}

fn load_pct(rated: Option<&RatedRate>, rate_rps: f64) -> Option<f64> {
    let rated = rated.map(|r| r.rate_rps).filter(|r| *r > 0.0)?;
    Some(100.0 * rate_rps / rated)
}

fn level(level: &Level<'_>) -> LevelPicture {
    let sum = |of: fn(&Trial) -> u64| level.valid.iter().map(|t| of(t)).sum();
    LevelPicture {
        spread: spread(&level.valid),
        spectrum: spectrum(&level.latency),
        carried: (!level.valid.is_empty())
            .then(|| is_carried(sum(|t| t.work.intended), sum(|t| t.work.completed))),
    }
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn spread(trials: &[&Trial]) -> Option<LatencySpread> {
    let span = |q: f64| {
        let values: Vec<f64> = trials
            .iter()
            .filter_map(|t| t.work.latency.quantile(q))
            .map(us)
            .collect();
        (values.len() > 1).then(|| Span {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(0.0, f64::max),
        })
    };
    Some(LatencySpread {
        p50: span(0.5)?,
        p99: span(0.99)?,
        p999: span(0.999)?,
    })
}

/// From the median in equal steps of the logarithm of what exceeds it, as far
/// as single requests tell: the last point is the largest latency.
fn spectrum(latency: &Histogram) -> Vec<SpectrumPoint> {
    let count = latency.count() as f64;
    let steps =
        (1..).map(|step: u32| 0.5 * 10f64.powf(-f64::from(step) / f64::from(POINTS_PER_DECADE)));
    let beyond = steps.take_while(|beyond| beyond * count > 1.0);
    let shares = std::iter::once(0.5).chain(beyond.map(|beyond| 1.0 - beyond));
    let at = |share: f64| {
        let latency_us = us(latency.quantile(share)?);
        Some(SpectrumPoint { share, latency_us })
    };
    let last = latency.max().map(|max| SpectrumPoint {
        share: 1.0 - (0.5 / count).min(0.5),
        latency_us: us(max),
    });
    shares.filter_map(at).chain(last).collect()
}

/// All trials in order; `row` says where one stands among the findings' rows.
fn time_line<S: TrialSetting + Into<PictureSetting>, O>(
    cpus: &CpuPlan,
    trials: &[Trial<S, O>],
    row: impl Fn(&Trial<S, O>) -> Option<usize>,
    rated: Option<&RatedRate>,
) -> Vec<TrialPicture> {
    let mut began = Duration::ZERO;
    let mut out = Vec::with_capacity(trials.len());
    for trial in trials {
        let achieved_rps = trial.achieved().get();
        out.push(TrialPicture {
            phase: trial.spec.phase,
            setting: trial.spec.setting.clone().into(),
            attempt: trial.spec.attempt,
            row: row(trial),
            began,
            took: trial.took,
            warm_up: trial.warm_up,
            window: trial.window,
            achieved_rps,
            load_pct: load_pct(rated, achieved_rps),
            cpu_pct: cpu_share(cpus, trial).map(Share::pct),
            p99_us: trial.work.latency.quantile(0.99).map(us),
            copy_s: None,
            invalid: trial.verdict.reasons().to_vec(),
        });
        began += trial.took;
    }
    out
}

fn mean_s(times: &[Duration]) -> Option<f64> {
    let sum: Duration = times.iter().sum();
    (!times.is_empty()).then(|| sum.as_secs_f64() / times.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{copies_plan, copies_trial, plan, trial_at};

    #[test]
    fn levels_and_trials_of_a_picture_stand_in_the_order_of_the_findings() {
        let trials = [
            trial_at(80.0, 800, 0.8, 3000.0),
            trial_at(20.0, 200, 0.2, 1000.0),
            trial_at(80.0, 800, 0.8, 5000.0),
        ];
        let picture = picture(&plan(), &trials);
        let findings = crate::findings(&plan(), &trials);
        assert_eq!(picture.levels.len(), findings.levels.len());
        let rows: Vec<_> = picture.trials.iter().map(|t| t.row).collect();
        assert_eq!(rows, [Some(1), Some(0), Some(1)]);
        assert_eq!(picture.levels[0].spread, None, "one trial has no spread");
        let p99 = picture.levels[1].spread.unwrap().p99;
        assert!((p99.low / 3000.0 - 1.0).abs() < 2e-3, "{p99:?}");
        assert!((p99.high / 5000.0 - 1.0).abs() < 2e-3, "{p99:?}");
        assert_eq!(picture.levels[1].carried, Some(true));
    }

    #[test]
    fn a_spectrum_rises_to_the_largest_latency() {
        let mut latency = Histogram::new();
        (1..=100_000).for_each(|us| latency.record(Duration::from_micros(us)));
        let points = spectrum(&latency);
        assert!(points.is_sorted_by(|a, b| a.share < b.share && a.latency_us <= b.latency_us));
        assert_eq!(points[0].share, 0.5);
        let last = points.last().unwrap();
        assert!((last.latency_us / 1e5 - 1.0).abs() < 2e-3, "{last:?}");
        assert!(points.len() < 40, "{}", points.len());
        assert!(spectrum(&Histogram::new()).len() < 2);
    }

    #[test]
    fn trials_of_copies_belong_to_their_number() {
        let trials = [copies_trial(2, 9), copies_trial(1, 5), copies_trial(2, 11)];
        let pictures = of_copies(&copies_plan(), &trials);
        let rows: Vec<_> = pictures.iter().map(|t| (t.row, t.copy_s)).collect();
        let expected = [
            (Some(1), Some(9.0)),
            (Some(0), Some(5.0)),
            (Some(1), Some(11.0)),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_trial_begins_where_the_ones_before_ended() {
        let mut trials = vec![trial_at(20.0, 200, 0.2, 1000.0); 3];
        trials
            .iter_mut()
            .for_each(|t| t.took = Duration::from_secs(7));
        let picture = picture(&plan(), &trials);
        let began: Vec<_> = picture.trials.iter().map(|t| t.began.as_secs()).collect();
        assert_eq!(began, [0, 7, 14]);
    }
}
