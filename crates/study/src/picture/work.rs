//! Work per CPU-second, and its error.
//!
//! Where the service's own CPU time is known it is what counts, because the
//! level table states the same time per request: one page must not have two
//! figures for it. Else it is all that ran on the service's CPUs.

use crate::curve::CurvePoint;
use crate::{cpu_use, curve_through};
use plimsoll_model::{CpuTime, Estimate, Plan, Share, Trial, WorkOf, Workload};
use std::time::Duration;

/// What the kernel counts the CPU time of whole CPUs in: USER_HZ, proc_stat(5).
const TICK: Duration = Duration::from_millis(10);

/// Standard deviations to both sides that hold 95 % of a normal distribution.
const SIDES_OF_95: f64 = 1.96;

/// Work per CPU-second at each point of the curve, and whose CPU time it is.
pub(super) fn of(
    plan: &Plan,
    trials: &[Trial],
    curve: &[CurvePoint],
    cpus: Option<u32>,
) -> (WorkOf, Vec<Option<Estimate>>) {
    if let Some(own) = of_service(plan, trials, curve) {
        return (WorkOf::Service, own);
    }
    let whole = f64::from(cpus.unwrap_or(1));
    let ticks = ticks(plan, trials, whole);
    let of_cpus = |p: &CurvePoint| {
        let fitted = match ticks {
            Some(ticks) => as_coarse_as(ticks, p.measured_cpu_pct, p.cpu_pct),
            None => p.cpu_pct,
        };
        work(p.rate_rps, p.measured_cpu_pct, fitted, whole)
    };
    (WorkOf::Cpus, curve.iter().map(of_cpus).collect())
}

/// By the service's own CPU time; `None` unless all trials of the curve tell it.
fn of_service(
    plan: &Plan,
    trials: &[Trial],
    curve: &[CurvePoint],
) -> Option<Vec<Option<Estimate>>> {
    let own = |t: &'_ Trial| t.service.as_ref().map(|s| s.cpu);
    let used: Vec<(&Trial, CpuTime)> = cpu_use::with_cpu(plan, trials)
        .map(|(t, _)| Some((t, own(t)?)))
        .collect::<Option<_>>()?;
    let busy = |(t, cpu): &(&Trial, CpuTime)| cpu.0.as_secs_f64() / t.machine.window.as_secs_f64();
    // A curve is of shares. Twice the most is a whole that no resample reaches.
    let most = used.iter().map(busy).fold(0.0, f64::max);
    let whole = (2.0 * most).ceil().max(1.0);
    let share = |of: &(&Trial, CpuTime)| Share::new(busy(of) / whole);
    let shares = used.iter().map(|of| Some((of.0, share(of)?)));
    let shares: Vec<(&Trial, Share)> = shares.collect::<Option<_>>()?;
    let points = curve_through(plan, shares.into_iter())?.points();
    // Grouped by rate as the curve of CPU use is, so it has the same points.
    let at = |p: &CurvePoint| {
        let same = points.iter().find(|own| own.rate_rps == p.rate_rps)?;
        work(p.rate_rps, same.measured_cpu_pct, same.cpu_pct, whole)
    };
    Some(curve.iter().map(at).collect())
}

/// In how many ticks the CPU use of the shortest trial was counted; `None` for
/// a table, which states what it states.
fn ticks(plan: &Plan, trials: &[Trial], cpus: f64) -> Option<f64> {
    if matches!(plan.workload, Workload::Imported(_)) {
        return None;
    }
    let windows = cpu_use::with_cpu(plan, trials).map(|(t, _)| t.machine.window);
    Some(windows.min()?.as_secs_f64() / TICK.as_secs_f64() * cpus)
}

/// The interval, if there is one, no narrower than that of a share counted in so
/// many ticks, each of which is busy or not: few busy ticks tell it badly.
fn as_coarse_as(ticks: f64, measured_pct: f64, fitted_pct: Estimate) -> Estimate {
    let Some((low, high)) = fitted_pct.interval() else {
        return fitted_pct;
    };
    let share = (measured_pct / 100.0).clamp(0.0, 1.0);
    let off = 100.0 * SIDES_OF_95 * (share * (1.0 - share) / ticks).sqrt();
    // Less than a tick is not distinguishable from zero.
    let least = (100.0 / ticks).min(measured_pct);
    Estimate::within(
        fitted_pct.value,
        low.min((measured_pct - off).max(least)),
        high.max(measured_pct + off),
    )
}

/// Work per second of busy CPU. The more CPU use, the less of it, so the ends
/// change sides.
fn work(rate_rps: f64, measured_pct: f64, fitted_pct: Estimate, cpus: f64) -> Option<Estimate> {
    let per = |pct: f64| (pct > 0.0).then(|| rate_rps / (pct / 100.0 * cpus));
    let value = per(measured_pct)?;
    let ends = fitted_pct
        .interval()
        .map(|(low, high)| (per(high), per(low)));
    Some(match ends {
        Some((Some(low), Some(high))) => Estimate::within(value, low, high),
        _ => Estimate::alone(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::picture;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::ServiceUse;

    #[test]
    fn work_per_cpu_second_counts_the_services_cpus() {
        let trials = [
            trial_at(20.0, 200, 0.2, 1000.0),
            trial_at(80.0, 800, 0.8, 1000.0),
        ];
        let picture = picture(&plan(), &trials);
        assert_eq!(picture.service_cpus, Some(1));
        assert_eq!(picture.work_of, WorkOf::Cpus);
        for point in &picture.curve {
            let work = point.work_per_cpu_s.unwrap().value;
            assert!((work / 1000.0 - 1.0).abs() < 1e-6, "{point:?}");
        }
        assert_eq!(work(0.0, 0.0, Estimate::alone(0.0), 1.0), None);
    }

    /// The CPUs were busy for a third more than the service was.
    fn with_own_time(load_pct: f64, rps: u64, cpu: f64) -> Trial {
        let mut trial = trial_at(load_pct, rps, cpu * 4.0 / 3.0, 1000.0);
        trial.service = Some(ServiceUse {
            cpu: CpuTime(trial.window.mul_f64(cpu)),
            run_delay: None,
            context_switches: None,
        });
        trial
    }

    #[test]
    fn work_per_cpu_second_is_what_the_level_table_says_of_a_request() {
        let mut trials = vec![
            with_own_time(20.0, 200, 0.21),
            with_own_time(20.0, 200, 0.19),
            with_own_time(50.0, 500, 0.5),
            with_own_time(50.0, 500, 0.52),
        ];
        let drawn = picture(&plan(), &trials);
        let levels = crate::findings(&plan(), &trials).levels;
        assert_eq!(drawn.work_of, WorkOf::Service);
        assert_eq!(drawn.curve.len(), levels.len());
        for (point, level) in drawn.curve.iter().zip(&levels) {
            let work = point.work_per_cpu_s.unwrap();
            let stated = 1e6 / level.cpu_us_per_request.unwrap();
            assert!((work.value / stated - 1.0).abs() < 1e-6, "{work:?}");
            assert!(work.interval().is_some(), "{work:?}");
        }
        trials[0].service = None;
        assert_eq!(picture(&plan(), &trials).work_of, WorkOf::Cpus);
    }

    #[test]
    fn few_busy_ticks_tell_the_work_badly_and_say_so() {
        let narrow = |pct| Estimate::within(pct, 0.99 * pct, 1.01 * pct);
        let few = as_coarse_as(300.0, 4.0, narrow(4.0));
        let (low, high) = few.interval().unwrap();
        assert!((low - 1.78).abs() < 0.01 && (high - 6.22).abs() < 0.01);
        let many = as_coarse_as(1e7, 40.0, narrow(40.0));
        assert_eq!(many, narrow(40.0));
        let none = Estimate::alone(4.0);
        assert_eq!(as_coarse_as(300.0, 4.0, none), none);
        let one = as_coarse_as(300.0, 1.0 / 3.0, narrow(1.0 / 3.0));
        assert!(one.low.unwrap() > 0.0, "{one:?}");
    }
}
