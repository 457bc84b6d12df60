//! Whether a trial counts: pure rules over what was measured.

use plimsoll_model::{
    InterruptTime, Invalid, Phase, Plan, Setting, Share, Trial, Verdict, Workload,
};
use std::time::Duration;

/// Holds a trial against the plan's bounds and names every bound it broke.
pub fn judge(plan: &Plan, trial: &Trial) -> Verdict {
    let rules = [slip, steal, other_load];
    Verdict::from_reasons(rules.iter().filter_map(|rule| rule(plan, trial)).collect())
}

/// The generator's own lateness is part of every latency that it reports. It
/// may be a small part of the p99, and nothing more.
///
/// This is also what shows that the generator could not offer the rate, or had
/// no CPU time left: then it is late. Its CPU use itself proves neither, for
/// it polls through waits that are shorter than a wake-up.
///
/// Where a trial is to decide whether a limit is kept, the small part is one
/// of the limit: a part of the trial's own p99 would let slow trials count and
/// fast ones not, at the same slip.
///
/// A service in this process has no generator: its worker that wakes up late
/// beside a job was kept waiting by that job, which is what is measured. What is
/// compared must be judged alike, so the service alone is let off, too.
fn slip(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let compared = matches!(trial.spec.setting, Setting::Beside { .. });
    if compared && matches!(plan.workload, Workload::Hash(_)) {
        return None;
    }
    let p99 = trial.work.slip.quantile(0.99)?;
    let own = || trial.work.latency.quantile(0.99).unwrap_or(Duration::ZERO);
    let whole = trial.spec.limit.unwrap_or_else(own);
    let part = whole.mul_f64(plan.run.bounds.slip_share.get());
    let bound = plan.run.bounds.slip.max(part);
    (p99 > bound).then_some(Invalid::Slip { p99, bound })
}

fn steal(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let bound = plan.run.bounds.steal_share;
    let stolen = trial.machine.cpu.as_ref()?.steal_share()?;
    (stolen > bound).then_some(Invalid::Steal { stolen, bound })
}

fn has_job(trial: &Trial) -> bool {
    matches!(trial.spec.setting, Setting::Beside { arm, .. } if arm.has_job())
}

/// CPU time of tasks that are neither the service, a job beside it, nor Plimsoll.
///
/// Interrupts are left out, for they cannot be told apart by whom they serve.
/// But where a kernel counts them to the task that they interrupt, what is
/// known to be ours holds those that hit us, and they must be in the whole,
/// too, or others may use as much as these without being seen. Those that hit
/// an idle CPU are taken for somebody's then.
///
/// In an idle trial, and where a job is alone, the service is idle too and
/// counts as nobody else.
fn other_load(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let bound = plan.run.bounds.other_share;
    let cpu = trial.machine.cpu.as_ref()?;
    let is_idle = trial.spec.phase == Phase::Idle
        || matches!(trial.spec.setting, Setting::Beside { arm, .. } if !arm.has_service());
    let service = match &trial.service {
        Some(service) => service.cpu.0,
        None if is_idle => Duration::ZERO,
        None => return None,
    };
    let job = match has_job(trial) {
        true => trial.job?.cpu?.0,
        false => Duration::ZERO,
    };
    let generator = trial.generator_cpu.unwrap_or_default().0;
    let observer = trial.machine.observer_cpu.unwrap_or_default().0;
    let tasks = cpu.user.0 + cpu.system.0 + cpu.guest.0;
    let within = match plan.run.bounds.interrupts {
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
    use crate::testing::plan;
    use plimsoll_model::{
        Arm, CpuTime, CpuUse, JobHeld, JobWork, Rate, ServiceUse, Setting, TrialSpec,
    };

    /// A quiet trial of 10 s on two CPUs: the service and the generator use
    /// 4 s each, and 1000 requests took 1 ms each.
    fn quiet() -> Trial {
        let s = |n: f64| CpuTime(Duration::from_secs_f64(n));
        let rate = Rate::per_second(100.0).unwrap();
        let spec = TrialSpec::blank(
            Phase::Calibration,
            Setting::Offer { rate },
            Duration::from_secs(10),
        );
        let mut trial = Trial::begun(spec, 0);
        for _ in 0..1000 {
            trial.work.latency.record(Duration::from_millis(1));
            trial.work.slip.record(Duration::from_micros(50));
        }
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

    fn reasons(trial: &Trial) -> Vec<Invalid> {
        match judge(&plan(), trial) {
            Verdict::Valid => vec![],
            Verdict::Invalid(reasons) => reasons,
        }
    }

    #[test]
    fn a_quiet_trial_counts() {
        assert_eq!(reasons(&quiet()), []);
    }

    #[test]
    fn a_late_generator_makes_a_trial_invalid() {
        let mut trial = quiet();
        for _ in 0..20 {
            trial.work.slip.record(Duration::from_micros(300));
        }
        assert!(matches!(reasons(&trial)[..], [Invalid::Slip { .. }]));
        for _ in 0..1000 {
            trial.work.latency.record(Duration::from_millis(10));
        }
        assert_eq!(reasons(&trial), [], "it is a small part of long latencies");
    }

    #[test]
    fn steal_and_others_make_a_trial_invalid() {
        let mut trial = quiet();
        let cpu = trial.machine.cpu.as_mut().unwrap();
        cpu.steal = CpuTime(Duration::from_secs(1));
        cpu.user = CpuTime(Duration::from_secs(10));
        let found = reasons(&trial);
        assert!(
            matches!(
                found[..],
                [Invalid::Steal { .. }, Invalid::OtherLoad { .. }]
            ),
            "every broken bound is named: {found:?}"
        );
    }

    fn beside(arm: Arm) -> Trial {
        let mut trial = quiet();
        trial.spec.setting = Setting::Beside {
            rate: Rate::per_second(100.0).unwrap(),
            arm,
            allowed: None,
            headroom: None,
        };
        trial
    }

    #[test]
    fn a_job_beside_the_service_is_not_somebody_elses_load() {
        let mut trial = beside(Arm::Nice);
        trial.machine.cpu.as_mut().unwrap().user = CpuTime(Duration::from_secs(16));
        let job = |seconds: Option<u64>| JobWork {
            done: 1,
            over: Duration::from_secs(10),
            cpu: seconds.map(|s| CpuTime(Duration::from_secs(s))),
            held: JobHeld::default(),
        };
        trial.job = Some(job(Some(8)));
        assert_eq!(reasons(&trial), []);
        trial.job = Some(job(Some(4)));
        assert!(matches!(reasons(&trial)[..], [Invalid::OtherLoad { .. }]));
        trial.job = Some(job(None));
        assert_eq!(
            reasons(&trial),
            [],
            "what is not known is held against nobody"
        );
    }

    #[test]
    fn beside_a_job_and_alone_a_service_in_this_process_is_judged_alike() {
        for arm in [Arm::Nice, Arm::ServiceAlone] {
            let mut trial = beside(arm);
            trial.job = None;
            for _ in 0..1000 {
                trial.work.slip.record(Duration::from_millis(5));
            }
            assert_eq!(reasons(&trial), [], "{arm}");
        }
    }

    #[test]
    fn what_cannot_be_read_breaks_no_bound() {
        let mut trial = quiet();
        trial.machine.cpu = None;
        trial.generator_cpu = None;
        trial.service = None;
        assert_eq!(reasons(&trial), []);
    }

    #[test]
    fn interrupts_that_no_task_pays_for_are_not_somebody_elses_load() {
        let mut trial = quiet();
        let cpu = trial.machine.cpu.as_mut().unwrap();
        cpu.softirq = CpuTime(Duration::from_secs(5));
        assert_eq!(reasons(&trial), []);
    }

    #[test]
    fn interrupts_that_tasks_pay_for_hide_nobody() {
        let mut plan = plan();
        let mut trial = quiet();
        let cpu = trial.machine.cpu.as_mut().unwrap();
        // Of the 8 s of service and generator, 3 s are their system calls'
        // softirqs, and of the 8 s in user mode 3 s are somebody else's.
        cpu.softirq = CpuTime(Duration::from_secs(3));
        assert_eq!(judge(&plan, &trial), Verdict::Valid, "of an older record");
        plan.run.bounds.interrupts = InterruptTime::InTasks;
        let Verdict::Invalid(found) = judge(&plan, &trial) else {
            panic!("somebody else's load was not seen");
        };
        assert!(
            matches!(found[..], [Invalid::OtherLoad { .. }]),
            "{found:?}"
        );

        trial.machine.cpu.as_mut().unwrap().user = CpuTime(Duration::from_secs(5));
        assert_eq!(judge(&plan, &trial), Verdict::Valid, "all of it is ours");
    }

    #[test]
    fn what_decides_a_limit_is_held_against_it_and_not_against_its_own_latency() {
        let trial = |limit_ms: Option<u64>, latency_ms, slip_us| {
            let mut trial = quiet();
            trial.spec.limit = limit_ms.map(Duration::from_millis);
            for _ in 0..1_000_000 {
                trial.work.latency.record(Duration::from_millis(latency_ms));
                trial.work.slip.record(Duration::from_micros(slip_us));
            }
            trial
        };
        let counts = |trial: &Trial| slip(&plan(), trial).is_none();
        for latency_ms in [2, 50] {
            assert!(counts(&trial(Some(10), latency_ms, 900)));
            assert!(!counts(&trial(Some(10), latency_ms, 1100)));
        }
        assert!(!counts(&trial(None, 2, 900)));
        assert!(counts(&trial(None, 50, 900)));
    }
}
