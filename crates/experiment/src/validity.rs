//! Whether a trial counts: pure rules over what was measured.

use plimsoll_model::{Invalid, Phase, Plan, Share, Trial, Verdict};
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
fn slip(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let p99 = trial.work.slip.quantile(0.99)?;
    let own = || trial.work.latency.quantile(0.99).unwrap_or(Duration::ZERO);
    let whole = trial.spec.limit.unwrap_or_else(own);
    let part = whole.mul_f64(plan.bounds.slip_share.get());
    let bound = plan.bounds.slip.max(part);
    (p99 > bound).then_some(Invalid::Slip { p99, bound })
}

fn steal(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let bound = plan.bounds.steal_share;
    let stolen = trial.machine.cpu.as_ref()?.steal_share()?;
    (stolen > bound).then_some(Invalid::Steal { stolen, bound })
}

/// CPU time of tasks that are neither the service nor Plimsoll. Interrupts
/// are left out, for they cannot be told apart by whom they serve.
///
/// In an idle trial the service is idle too and counts as nobody else.
fn other_load(plan: &Plan, trial: &Trial) -> Option<Invalid> {
    let bound = plan.bounds.other_share;
    let cpu = trial.machine.cpu.as_ref()?;
    let service = match (&trial.service, trial.spec.phase) {
        (Some(service), _) => service.cpu.0,
        (None, Phase::Idle) => Duration::ZERO,
        (None, _) => return None,
    };
    let generator = trial.generator_cpu.unwrap_or_default().0;
    let observer = trial.machine.observer_cpu.unwrap_or_default().0;
    let tasks = cpu.user.0 + cpu.system.0 + cpu.guest.0;
    let other = tasks.saturating_sub(service + generator + observer);
    let used = Share::of(other, cpu.total().0)?;
    (used > bound).then_some(Invalid::OtherLoad { used, bound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;
    use plimsoll_model::{CpuTime, CpuUse, Rate, ServiceUse, Setting, TrialSpec, WarmUp};

    /// A quiet trial of 10 s on two CPUs: the service and the generator use
    /// 4 s each, and 1000 requests took 1 ms each.
    fn quiet() -> Trial {
        let s = |n: f64| CpuTime(Duration::from_secs_f64(n));
        let spec = TrialSpec {
            phase: Phase::Calibration,
            setting: Setting::Offer {
                rate: Rate::per_second(100.0).unwrap(),
            },
            pass: 0,
            attempt: 0,
            warm_up: WarmUp {
                min: Duration::ZERO,
                max: Duration::ZERO,
            },
            window: Duration::from_secs(10),
            limit: None,
            seed: 0,
        };
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

    #[test]
    fn what_cannot_be_read_breaks_no_bound() {
        let mut trial = quiet();
        trial.machine.cpu = None;
        trial.generator_cpu = None;
        trial.service = None;
        assert_eq!(reasons(&trial), []);
    }

    #[test]
    fn interrupts_are_not_somebody_elses_load() {
        let mut trial = quiet();
        let cpu = trial.machine.cpu.as_mut().unwrap();
        cpu.softirq = CpuTime(Duration::from_secs(5));
        assert_eq!(reasons(&trial), []);
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
