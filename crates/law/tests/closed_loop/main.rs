//! The laws in closed loop with a simulated machine, on virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod properties;
mod replays;
mod rig;

use plimsoll_law::{
    Action, Guard, Headroom, Koordinator, Law, Missing, Plimsoll, Reading, Reason, ResctlDemo,
    Sample,
};
use plimsoll_model::CpuUse;
use plimsoll_simulate::SharedSpec;
use rig::{Rig, Step};
use std::time::Duration;

const TENTH: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);

fn ours() -> Law {
    Law::Plimsoll(Plimsoll::new(Headroom::default()))
}

fn all_laws() -> [Law; 3] {
    let headroom = Headroom::default();
    [
        ours(),
        Law::ResctlDemo(ResctlDemo::new(headroom)),
        Law::Koordinator(Koordinator::new(headroom)),
    ]
}

fn unchanged(_: &mut Sample) {}

fn mean_share(steps: &[Step]) -> f64 {
    let sum: f64 = steps.iter().map(|s| s.action.share().get()).sum();
    sum / steps.len() as f64
}

fn guard(reading: Reading) -> impl Fn(&mut Sample) {
    move |sample| {
        sample.guards = vec![Guard {
            name: "p99_ms".to_owned(),
            reading: reading.clone(),
        }];
    }
}

#[test]
fn each_law_fills_a_quiet_machine_up_to_the_headroom() {
    for law in all_laws() {
        for period in [TENTH, SECOND] {
            let name = law.name();
            let mut rig = Rig::new(law.clone(), SharedSpec::default(), period);
            rig.run(60.0, |_| 0.2, unchanged);
            let steps = rig.run(20.0, |_| 0.2, unchanged);
            // 100 - 20 service - 1 interrupts - 20 headroom = 59, minus band
            // and noise.
            let share = mean_share(&steps);
            assert!((0.53..=0.60).contains(&share), "{name} {period:?} {share}");
        }
    }
}

#[test]
fn load_step_gets_the_cpu_within_two_periods_at_any_phase_and_weight() {
    for period in [TENTH, SECOND] {
        for sideload_weight in [1.0, 100.0, 10_000.0] {
            for phase in 0..10 {
                let spec = SharedSpec {
                    sideload_weight,
                    seed: phase,
                    ..SharedSpec::default()
                };
                let mut rig = Rig::new(ours(), spec, period);
                rig.run(60.0, |_| 0.2, unchanged);
                let step_at = 60.0 + period.as_secs_f64() * phase as f64 / 10.0;
                let load = |t: f64| if t < step_at { 0.2 } else { 0.9 };
                let steps = rig.run(2.0 * period.as_secs_f64(), load, unchanged);
                let last = steps.last().unwrap();
                assert_eq!(
                    last.action,
                    Action::Frozen,
                    "{period:?} {sideload_weight} {phase}"
                );
                let steps = rig.run(60.0, load, unchanged);
                assert!(steps.iter().all(|s| s.action == Action::Frozen));
                assert_eq!(steps.last().unwrap().seen.backlog.0.as_millis(), 0);
            }
        }
    }
}

#[test]
fn ramp_keeps_the_headroom_except_within_a_period() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    rig.run(60.0, |_| 0.1, unchanged);
    let ramp = |t: f64| 0.1 + 0.6 * (t - 60.0) / 60.0;
    let steps = rig.run(60.0, ramp, unchanged);
    // A period adds 0.1 % of load; a tick of each mode is 2 % of the machine,
    // and the noise of ten slices at most 10 % of the load in either direction.
    for step in &steps {
        assert!(step.free > 0.2 - 0.1, "at {}: {step:?}", step.at);
        // The sideload never used more than was decided in the period before.
        let most = step.in_force.share().get() * 0.2 + 1e-6;
        assert!(step.seen.sideload.0.as_secs_f64() <= most, "{step:?}");
    }
    let mean = steps.iter().map(|s| s.free).sum::<f64>() / steps.len() as f64;
    assert!(mean > 0.2, "{mean}");
}

#[test]
fn bursts_shrink_the_sideload_and_do_not_starve_it() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    // Every half second 40 ms of full load, otherwise 20 %.
    let load = |t: f64| if t % 0.5 < 0.04 { 1.0 } else { 0.2 };
    rig.run(60.0, load, unchanged);
    let steps = rig.run(30.0, load, unchanged);
    let share = mean_share(&steps);
    // A period with a burst has 52 % of load: 100 - 52 - 1 - 20 = 27.
    assert!((0.15..=0.30).contains(&share), "{share}");
    assert!(steps.iter().all(|s| s.action != Action::Frozen));
}

#[test]
fn occasional_full_load_does_not_starve_the_sideload() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    // One second of full load in twenty.
    let load = |t: f64| if t % 20.0 < 1.0 { 1.0 } else { 0.2 };
    let steps = rig.run(1200.0, load, unchanged);
    let share = mean_share(&steps[6000..]);
    assert!(share > 0.05, "{share}");
    let shares = rig.run(120.0, |_| 0.2, unchanged);
    assert!(shares.last().unwrap().action.share().get() > 0.5);
}

#[test]
fn sideload_stays_frozen_while_the_service_needs_all_cpus() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(60.0, |_| 0.2, unchanged);
    let steps = rig.run(300.0, |_| 1.5, unchanged);
    assert!(steps[1..].iter().all(|s| s.action == Action::Frozen));
    let reason = &steps.last().unwrap().reason;
    assert!(matches!(reason, Reason::ServiceNeedsCpu { .. }), "{reason}");
}

#[test]
fn missing_sensors_stop_growth_and_freeze_after_five_periods() {
    let lose: [fn(&mut Sample); 4] = [
        |s| s.machine = None,
        |s| s.machine = Some(CpuUse::default()),
        |s| s.sideload = None,
        |s| s.period = Duration::ZERO,
    ];
    let expected = [
        Missing::Machine,
        Missing::Stuck,
        Missing::Sideload,
        Missing::Period,
    ];
    for (lose, expected) in lose.into_iter().zip(expected) {
        let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
        // Still growing when the sensor fails.
        rig.run(6.0, |_| 0.2, unchanged);
        let before = rig.action.share();
        let steps = rig.run(8.0, |_| 0.2, lose);
        for (i, step) in steps.iter().enumerate() {
            match i {
                0..4 => assert_eq!(step.action, Action::Run { share: before }),
                _ => assert_eq!(step.action, Action::Frozen),
            }
            let Reason::Blind {
                missing, periods, ..
            } = &step.reason
            else {
                panic!("{}", step.reason);
            };
            assert_eq!((missing, *periods as usize), (&expected, i + 1));
        }
        let steps = rig.run(60.0, |_| 0.2, unchanged);
        assert!(steps.last().unwrap().action.share().get() > 0.5);
    }
}

#[test]
fn missing_sideload_counter_still_protects_the_service() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    rig.run(60.0, |_| 0.2, unchanged);
    let steps = rig.run(0.2, |_| 0.95, |s| s.sideload = None);
    assert_eq!(steps.last().unwrap().action, Action::Frozen);
}

#[test]
fn guard_over_its_limit_halves_then_freezes_then_recovers() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(60.0, |_| 0.2, unchanged);
    let steps = rig.run(10.0, |_| 0.2, guard(Reading::of(12.0, 10.0)));
    let shares: Vec<f64> = steps.iter().map(|s| s.action.share().get()).collect();
    for pair in shares.windows(2) {
        assert!(pair[1] <= pair[0] * 0.51, "{shares:?}");
    }
    assert_eq!(shares[4], 0.0, "{shares:?}");
    assert!(matches!(steps[9].reason, Reason::GuardOver { .. }));
    let steps = rig.run(60.0, |_| 0.2, guard(Reading::of(8.0, 10.0)));
    assert!(steps.last().unwrap().action.share().get() > 0.5);
}

#[test]
fn unreadable_guard_freezes_the_sideload() {
    let unknown = || Reading::Unknown {
        why: "the server did not answer".to_owned(),
    };
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    let steps = rig.run(30.0, |_| 0.1, guard(unknown()));
    assert!(steps.iter().all(|s| s.action == Action::Frozen));
    assert_eq!(
        steps[0].reason.to_string(),
        "p99_ms could not be read (the server did not answer), so it does not grow, and freezes \
         after 5 consecutive periods with missing inputs (now 1)"
    );
}

#[test]
fn offline_cpus_reduce_the_sideload() {
    let spec = SharedSpec {
        cpus: 4,
        ..SharedSpec::default()
    };
    let mut rig = Rig::new(ours(), spec, TENTH);
    rig.run(60.0, |_| 0.2, unchanged);
    assert!(rig.action.share().get() > 0.5);
    rig.machine.set_cpus(2);
    // 0.8 of 2 CPUs: 40 % service, so 39 % are left.
    let steps = rig.run(30.0, |_| 0.2, unchanged);
    for step in &steps[1..] {
        assert!(step.action.share().get() < 0.42, "{step:?}");
    }
    assert!(steps.last().unwrap().action.share().get() > 0.3);
    rig.machine.set_cpus(4);
    let steps = rig.run(30.0, |_| 0.2, unchanged);
    assert!(steps.last().unwrap().action.share().get() > 0.5);
}

#[test]
fn interrupts_and_steal_are_not_idle() {
    let quiet = SharedSpec::default();
    let taken = [
        SharedSpec {
            irq: 0.31,
            ..quiet.clone()
        },
        SharedSpec {
            steal: 0.3,
            ..quiet.clone()
        },
    ];
    for spec in taken {
        let mut rig = Rig::new(ours(), spec, TENTH);
        rig.run(60.0, |_| 0.2, unchanged);
        let share = mean_share(&rig.run(10.0, |_| 0.2, unchanged));
        assert!((0.2..=0.30).contains(&share), "{share}");
    }
}

#[test]
fn sideload_does_not_catch_up_after_a_pause() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(5.0, |_| 0.2, unchanged);
    let before = rig.action.share().get();
    let hour = |s: &mut Sample| {
        let idle = s.machine.unwrap().idle;
        s.period = Duration::from_secs(3600);
        s.machine = Some(CpuUse {
            idle: plimsoll_model::CpuTime(idle.0 + Duration::from_secs(7198)),
            ..s.machine.unwrap()
        });
    };
    rig.run(1.0, |_| 0.2, hour);
    assert!(rig.action.share().get() <= before + 0.05 + 1e-9);
}

#[test]
fn resctl_demo_starts_overloaded_and_freezes_seconds_after_a_step() {
    let law = Law::ResctlDemo(ResctlDemo::new(Headroom::default()));
    let mut rig = Rig::new(law, SharedSpec::default(), SECOND);
    let step = |t: f64| if t < 60.0 { 0.2 } else { 0.9 };
    let steps = rig.run(60.0, step, unchanged);
    // Its averages are 0 until ten seconds have passed, which is an overload;
    // it is held for ten seconds more.
    assert!(steps[..19].iter().all(|s| s.action == Action::Frozen));
    assert!(steps[20].action.share().get() > 0.55, "{:?}", steps[20]);
    let steps = rig.run(60.0, step, unchanged);
    let frozen = steps
        .iter()
        .position(|s| s.action == Action::Frozen)
        .unwrap();
    assert!((5..=10).contains(&frozen), "{frozen}");
    assert!(
        steps[frozen..].iter().all(|s| s.action == Action::Frozen),
        "and stays so"
    );
}

#[test]
fn koordinator_never_freezes_recovers_in_steps_and_ignores_missing_sensors() {
    let law = Law::Koordinator(Koordinator::new(Headroom::default()));
    let mut rig = Rig::new(law, SharedSpec::default(), SECOND);
    rig.run(30.0, |_| 0.2, unchanged);
    let before = rig.action;
    let steps = rig.run(30.0, |_| 0.9, |s| s.machine = None);
    assert!(steps.iter().all(|s| s.action == before));
    // 2 ms per 100 ms of two CPUs.
    let steps = rig.run(30.0, |_| 0.9, unchanged);
    assert!(steps.iter().all(|s| s.action.share().get() > 0.0));
    assert!((rig.action.share().get() - 0.01).abs() < 1e-9);
    let steps = rig.run(4.0, |_| 0.2, unchanged);
    let shares: Vec<f64> = steps.iter().map(|s| s.action.share().get()).collect();
    assert!((shares[2] - 0.31).abs() < 1e-9, "{shares:?}");
}
