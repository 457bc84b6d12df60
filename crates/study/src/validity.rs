//! Whether a trial is valid: pure rules over what was measured.

use plimsoll_model::CpuTime;
use plimsoll_model::{
    Bounds, CpuUse, CpusOf, InterruptTime, Invalid, MachineUse, Share, Trial, TrialSetting, Verdict,
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

/// The machine, and the CPUs of it that a trial depends on: a share of all CPUs
/// that is within a bound may be all of the service's few.
fn parts(machine: &MachineUse) -> [(CpusOf, Option<&CpuUse>); 3] {
    [
        (CpusOf::Machine, machine.cpu.as_ref()),
        (CpusOf::Service, machine.service_cpu.as_ref()),
        (CpusOf::Generator, machine.generator_cpu.as_ref()),
    ]
}

fn steal<S, O>(bounds: &Bounds, trial: &Trial<S, O>) -> Option<Invalid> {
    let bound = bounds.steal_share;
    parts(&trial.machine).into_iter().find_map(|(on, cpu)| {
        let stolen = cpu?.steal_share()?;
        (stolen > bound).then_some(Invalid::Steal { stolen, bound, on })
    })
}

/// CPU time of tasks that are neither the service, a job of the experiment, nor
/// Plimsoll.
///
/// It is exact where the kernel adds up the CPU time of all tasks; else it is what
/// ticks saw of them, which may be too little (see [`unseen`]). Then interrupts are
/// left out, because the kernel does not say for whom they are served. A kernel that
/// charges them to the interrupted task includes those that hit our tasks in our
/// time, so there they are in the total, too, or other load of the same size would
/// be hidden.
///
/// In a trial whose setting is idle the service counts as other load.
///
/// On a part of the CPUs, what a job and Plimsoll's other threads used anywhere may
/// have been used there. So other load is found late there rather than in error.
fn other_load<S: TrialSetting, O>(
    bounds: &Bounds,
    trial: &Trial<S, O>,
    allowance: Allowance,
) -> Option<Invalid> {
    let bound = bounds.other_share;
    let job = allowance.job_cpu?.0;
    let ours = ours(trial)?;
    parts(&trial.machine).into_iter().find_map(|(on, cpu)| {
        let cpu = cpu?;
        let by_tasks = cpu.by_tasks(bounds.interrupts).0;
        let used = Share::of(by_tasks.saturating_sub(ours(on) + job), cpu.total().0)?;
        (used > bound).then_some(Invalid::OtherLoad { used, bound, on })
    })
}

/// CPU time of the service and of Plimsoll on a part of the CPUs; `None` where that
/// of the service is unknown.
fn ours<S: TrialSetting, O>(trial: &Trial<S, O>) -> Option<impl Fn(CpusOf) -> Duration> {
    let service = match &trial.service {
        Some(service) => service.cpu.0,
        None if trial.spec.setting.is_idle() => Duration::ZERO,
        None => return None,
    };
    let machine = &trial.machine;
    let generator = trial.generator_cpu.unwrap_or_default().0;
    let observer = machine.observer_cpu.unwrap_or_default().0;
    let shared = machine.generator_cpus.and(&machine.service_cpus).len();
    // Its threads are pinned, one to each of its CPUs.
    let there = generator.mul_f64(shared as f64 / machine.generator_cpus.len().max(1) as f64);
    Some(move |on| {
        let known = match on {
            CpusOf::Machine => service + generator,
            CpusOf::Service => service + there,
            CpusOf::Generator if shared > 0 => generator + service,
            CpusOf::Generator => generator,
        };
        known + observer
    })
}

/// The part of the CPUs with the largest share of time that is known to be busy but
/// not what with: neither ours, nor seen at a tick as another task's or an interrupt's.
/// `None` where the kernel adds up the CPU time of tasks, or all is known.
///
/// It is interrupts, the kernel's way into idle states and back, or other processes.
pub fn unseen<S: TrialSetting, O>(trial: &Trial<S, O>) -> Option<(Share, CpusOf)> {
    let ours = ours(trial)?;
    let parts = parts(&trial.machine).into_iter().filter_map(|(on, cpu)| {
        let cpu = cpu.filter(|cpu| cpu.tasks.is_none())?;
        let interrupts = cpu.irq + cpu.softirq;
        let seen = cpu.by_tasks(InterruptTime::Unknown).0.max(ours(on));
        let rest = cpu.busy().since(interrupts).0.saturating_sub(seen);
        Some((Share::of(rest, cpu.total().0)?, on))
    });
    parts.max_by(|(a, _), (b, _)| a.get().total_cmp(&b.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuUse, InvalidKind, Phase, Rate, ServiceUse, Setting, TrialSpec};

    fn bounds() -> Bounds {
        Bounds::usual(InterruptTime::Unknown)
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

    /// The quiet trial on a machine of 64 CPUs, of which the service has four and the
    /// generator four others.
    fn on_a_large_machine(others_on_service: u64, others_on_generator: u64) -> Trial {
        let mut trial = quiet();
        let part = |others: u64| CpuUse {
            user: s(4 + others),
            idle: s(36 - others),
            ..CpuUse::default()
        };
        let machine = &mut trial.machine;
        machine.service_cpus = "0-3".parse().unwrap();
        machine.generator_cpus = "4-7".parse().unwrap();
        machine.service_cpu = Some(part(others_on_service));
        machine.generator_cpu = Some(part(others_on_generator));
        let used = 8 + others_on_service + others_on_generator;
        machine.cpu = Some(CpuUse {
            user: s(used),
            idle: s(640 - used),
            ..CpuUse::default()
        });
        trial
    }

    fn other_load_on(trial: &Trial) -> Option<CpusOf> {
        match judge(&bounds(), trial, Allowance::default()).reasons() {
            [] => None,
            [Invalid::OtherLoad { on, .. } | Invalid::Steal { on, .. }] => Some(*on),
            others => panic!("{others:?}"),
        }
    }

    #[test]
    fn what_is_little_of_the_machine_may_be_much_of_the_service() {
        assert_eq!(other_load_on(&on_a_large_machine(1, 1)), None);
        // 30 s are 4.7 % of 64 CPUs in 10 s, and 75 % of four.
        for (service, generator, on) in [(30, 0, CpusOf::Service), (0, 30, CpusOf::Generator)] {
            let trial = on_a_large_machine(service, generator);
            assert_eq!(other_load_on(&trial), Some(on));
        }
        let everywhere = on_a_large_machine(30, 30);
        assert_eq!(
            other_load_on(&everywhere),
            Some(CpusOf::Machine),
            "said once"
        );
    }

    #[test]
    fn what_is_stolen_from_the_service_alone_counts() {
        let mut trial = on_a_large_machine(0, 0);
        for cpu in [&mut trial.machine.service_cpu, &mut trial.machine.cpu] {
            cpu.as_mut().unwrap().steal = s(4);
        }
        assert_eq!(other_load_on(&trial), Some(CpusOf::Service));
    }

    #[test]
    fn on_shared_cpus_the_time_of_both_is_ours() {
        let mut trial = on_a_large_machine(0, 0);
        let machine = &mut trial.machine;
        machine.generator_cpus = "2-5".parse().unwrap();
        // Half of the generator's 4 s on CPUs of the service.
        machine.service_cpu.as_mut().unwrap().user = s(4 + 2);
        machine.generator_cpu.as_mut().unwrap().user = s(4 + 3);
        assert_eq!(other_load_on(&trial), None);
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
    fn measured_time_of_tasks_counts_and_not_what_ticks_saw() {
        let mut trial = quiet();
        // 6 s more than the service and the generator, of which ticks saw 0.1 s.
        (cpu(&mut trial).unsampled, cpu(&mut trial).idle) = (s(6), s(5));
        assert_eq!(reasons(&trial), []);
        assert_eq!(
            unseen(&trial),
            Share::new(6.0 / 19.1).zip(Some(CpusOf::Machine))
        );
        cpu(&mut trial).tasks = Some(s(14));
        assert_eq!(reasons(&trial), [InvalidKind::OtherLoad]);
        assert_eq!(unseen(&trial), None);
        cpu(&mut trial).tasks = Some(s(8));
        assert_eq!(reasons(&trial), [], "6 s of interrupts");
    }

    #[test]
    fn what_ticks_missed_of_us_and_saw_of_interrupts_is_known() {
        let mut trial = quiet();
        let cpu = cpu(&mut trial);
        (cpu.user, cpu.softirq, cpu.unsampled) = (s(5), s(1), s(3));
        assert_eq!(unseen(&trial).unwrap().0, Share::ZERO);
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
