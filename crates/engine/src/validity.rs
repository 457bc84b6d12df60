//! Whether a trial is valid: pure rules over what was measured.

use plimsoll_model::{
    Bounds, CpuTime, InterruptTime, Invalid, Share, Trial, TrialSetting, Verdict,
};
use std::time::Duration;

/// What the experiment itself explains of a trial's disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The slip is part of what is measured: a worker of a service in this
    /// process that wakes up late next to a job was delayed by that job. Trials
    /// that are compared must be judged alike, so it holds without the job too.
    pub slip_is_measured: bool,
    /// CPU time of a job of the experiment; `None` where it is unknown.
    pub job_cpu: Option<CpuTime>,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance {
            slip_is_measured: false,
            job_cpu: Some(CpuTime::default()),
        }
    }
}

/// Compares a trial with the bounds and names every bound that it exceeds.
pub fn judge<S: TrialSetting, O>(
    bounds: &Bounds,
    trial: &Trial<S, O>,
    allowance: Allowance,
) -> Verdict {
    let reasons = [
        slip(bounds, trial).filter(|_| !allowance.slip_is_measured),
        steal(bounds, trial),
        other_load(bounds, trial, allowance),
    ];
    Verdict::from_reasons(reasons.into_iter().flatten().collect())
}

/// The generator's own lateness is part of every latency that it reports. It
/// may be a small part of the p99.
///
/// This also shows a generator that could not offer the rate or ran out of CPU
/// time: then it is late. Its CPU use proves neither, because it polls through
/// waits that are shorter than a wake-up.
///
/// Where a trial is to decide a latency limit, the slip may be a small part of
/// that limit: a part of the trial's own p99 would accept slow trials and
/// reject fast ones at the same slip.
fn slip<S, O>(bounds: &Bounds, trial: &Trial<S, O>) -> Option<Invalid> {
    let p99 = trial.work.slip.quantile(0.99)?;
    let own = || trial.work.latency.quantile(0.99).unwrap_or(Duration::ZERO);
    let whole = trial.spec.limit.unwrap_or_else(own);
    let part = whole.mul_f64(bounds.slip_share.get());
    let bound = bounds.slip.max(part);
    (p99 > bound).then_some(Invalid::Slip { p99, bound })
}

fn steal<S, O>(bounds: &Bounds, trial: &Trial<S, O>) -> Option<Invalid> {
    let bound = bounds.steal_share;
    let stolen = trial.machine.cpu.as_ref()?.steal_share()?;
    (stolen > bound).then_some(Invalid::Steal { stolen, bound })
}

/// CPU time of tasks that are neither the service, a job of the experiment, nor
/// Plimsoll.
///
/// Interrupts are left out, because the kernel does not say for whom they are
/// served. A kernel that charges them to the interrupted task includes those
/// that hit our tasks in our time, so there they are in the total, too, or
/// other load of the same size would be hidden.
///
/// In a trial whose setting is idle the service counts as other load.
fn other_load<S: TrialSetting, O>(
    bounds: &Bounds,
    trial: &Trial<S, O>,
    allowance: Allowance,
) -> Option<Invalid> {
    let bound = bounds.other_share;
    let cpu = trial.machine.cpu.as_ref()?;
    let service = match &trial.service {
        Some(service) => service.cpu.0,
        None if trial.spec.setting.is_idle() => Duration::ZERO,
        None => return None,
    };
    let job = allowance.job_cpu?.0;
    let generator = trial.generator_cpu.unwrap_or_default().0;
    let observer = trial.machine.observer_cpu.unwrap_or_default().0;
    let tasks = cpu.user.0 + cpu.system.0 + cpu.guest.0;
    let within = match bounds.interrupts {
        InterruptTime::InTasks => cpu.irq.0 + cpu.softirq.0,
        InterruptTime::Apart | InterruptTime::Unknown => Duration::ZERO,
    };
    let other = (tasks + within).saturating_sub(service + job + generator + observer);
    let used = Share::of(other, cpu.total().0)?;
    (used > bound).then_some(Invalid::OtherLoad { used, bound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuUse, InvalidKind, Phase, Rate, ServiceUse, Setting, TrialSpec};

    /// The bounds that a sweep has by default.
    fn bounds() -> Bounds {
        let share = |x| Share::new(x).unwrap();
        Bounds {
            slip: Duration::from_micros(100),
            slip_share: share(0.10),
            steal_share: share(0.02),
            other_share: share(0.05),
            interrupts: InterruptTime::Unknown,
            retries: 3,
        }
    }

    /// A quiet trial of 10 s on two CPUs: the service and the generator use
    /// 4 s each, and 1000 requests took 1 ms each.
    fn quiet() -> Trial {
        let s = |n: f64| CpuTime(Duration::from_secs_f64(n));
        let rate = Rate::per_second(100.0).unwrap();
        let spec = TrialSpec::blank(
            Phase::Calibration,
            Setting::offer(rate),
            Duration::from_secs(10),
        );
        let mut trial = Trial::begun(spec, 0);
        trial
            .work
            .latency
            .record_many(Duration::from_millis(1), 1000);
        slips(&mut trial, 1000, 50);
        trial.machine.cpu = Some(CpuUse {
            user: s(8.1),
            idle: s(11.9),
            ..CpuUse::default()
        });
        trial.generator_cpu = Some(s(4.0));
        trial.service = Some(ServiceUse {
            cpu: s(4.0),
            run_delay: None,
            context_switches: None,
        });
        trial
    }

    fn reasons(trial: &Trial) -> Vec<InvalidKind> {
        judged(&bounds(), trial, Allowance::default())
    }

    fn judged(bounds: &Bounds, trial: &Trial, allowance: Allowance) -> Vec<InvalidKind> {
        let verdict = judge(bounds, trial, allowance);
        verdict.reasons().iter().map(Invalid::kind).collect()
    }

    fn slips(trial: &mut Trial, times: u64, us: u64) {
        trial
            .work
            .slip
            .record_many(Duration::from_micros(us), times);
    }

    fn cpu(trial: &mut Trial) -> &mut CpuUse {
        trial.machine.cpu.as_mut().unwrap()
    }

    fn s(seconds: u64) -> CpuTime {
        CpuTime(Duration::from_secs(seconds))
    }

    #[test]
    fn a_quiet_trial_is_valid() {
        assert_eq!(reasons(&quiet()), []);
    }

    #[test]
    fn a_late_generator_makes_a_trial_invalid() {
        let mut trial = quiet();
        slips(&mut trial, 20, 300);
        assert_eq!(reasons(&trial), [InvalidKind::Slip]);
        let long = Duration::from_millis(10);
        trial.work.latency.record_many(long, 1000);
        assert_eq!(reasons(&trial), [], "it is a small part of long latencies");
    }

    #[test]
    fn every_exceeded_bound_is_named() {
        let mut trial = quiet();
        cpu(&mut trial).steal = s(1);
        cpu(&mut trial).user = s(10);
        let both = [InvalidKind::Steal, InvalidKind::OtherLoad];
        assert_eq!(reasons(&trial), both);
    }

    fn with_job(trial: &Trial, seconds: Option<u64>) -> Vec<InvalidKind> {
        let allowance = Allowance {
            slip_is_measured: true,
            job_cpu: seconds.map(s),
        };
        judged(&bounds(), trial, allowance)
    }

    #[test]
    fn a_job_of_the_experiment_is_not_other_load() {
        let mut trial = quiet();
        cpu(&mut trial).user = s(16);
        assert_eq!(with_job(&trial, Some(8)), []);
        assert_eq!(with_job(&trial, Some(4)), [InvalidKind::OtherLoad]);
        assert_eq!(with_job(&trial, None), [], "unknown is no reason");
    }

    #[test]
    fn a_slip_that_is_measured_is_no_disturbance() {
        let mut trial = quiet();
        slips(&mut trial, 1000, 5000);
        assert_eq!(with_job(&trial, Some(0)), []);
        assert_eq!(reasons(&trial), [InvalidKind::Slip]);
    }

    #[test]
    fn unknown_quantities_exceed_no_bound() {
        let mut trial = quiet();
        trial.machine.cpu = None;
        trial.generator_cpu = None;
        trial.service = None;
        assert_eq!(reasons(&trial), []);
    }

    #[test]
    fn interrupts_are_other_load_only_where_tasks_are_charged_for_them() {
        let mut trial = quiet();
        cpu(&mut trial).softirq = s(5);
        assert_eq!(reasons(&trial), [], "charged to no task");
        let mut bounds = bounds();
        bounds.interrupts = InterruptTime::InTasks;
        // Of the 8 s of service and generator, 3 s are their system calls'
        // softirqs, and of the 8 s in user mode 3 s are other load.
        cpu(&mut trial).softirq = s(3);
        assert_eq!(reasons(&trial), [], "of an older record");
        let in_tasks = |trial: &Trial| judged(&bounds, trial, Allowance::default());
        assert_eq!(in_tasks(&trial), [InvalidKind::OtherLoad]);
        cpu(&mut trial).user = s(5);
        assert_eq!(in_tasks(&trial), [], "all of it is ours");
    }

    #[test]
    fn slip_is_judged_by_the_limit_that_the_trial_decides() {
        let trial = |limit_ms: Option<u64>, latency_ms, slip_us| {
            let mut trial = quiet();
            trial.spec.limit = limit_ms.map(Duration::from_millis);
            let latency = Duration::from_millis(latency_ms);
            trial.work.latency.record_many(latency, 1_000_000);
            slips(&mut trial, 1_000_000, slip_us);
            trial
        };
        let is_valid = |trial: &Trial| slip(&bounds(), trial).is_none();
        for latency_ms in [2, 50] {
            assert!(is_valid(&trial(Some(10), latency_ms, 900)));
            assert!(!is_valid(&trial(Some(10), latency_ms, 1100)));
        }
        assert!(!is_valid(&trial(None, 2, 900)));
        assert!(is_valid(&trial(None, 50, 900)));
    }
}
