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

fn asis(_: &mut Sample) {}

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
fn on_a_quiet_machine_each_law_fills_what_lies_beyond_the_headroom() {
    for law in all_laws() {
        for period in [TENTH, SECOND] {
            let name = law.name();
            let mut rig = Rig::new(law.clone(), SharedSpec::default(), period);
            rig.run(60.0, |_| 0.2, asis);
            let steps = rig.run(20.0, |_| 0.2, asis);
            // 100 - 20 service - 1 interrupts - 20 headroom = 59, minus band
            // and noise.
            let share = mean_share(&steps);
            assert!((0.53..=0.60).contains(&share), "{name} {period:?} {share}");
        }
    }
}

#[test]
fn a_load_step_is_let_through_within_two_periods_at_any_phase_and_any_weight() {
    for period in [TENTH, SECOND] {
        for sideload_weight in [1.0, 100.0, 10_000.0] {
            for phase in 0..10 {
                let spec = SharedSpec {
                    sideload_weight,
                    seed: phase,
                    ..SharedSpec::default()
                };
                let mut rig = Rig::new(ours(), spec, period);
                rig.run(60.0, |_| 0.2, asis);
                let step_at = 60.0 + period.as_secs_f64() * phase as f64 / 10.0;
                let load = |t: f64| if t < step_at { 0.2 } else { 0.9 };
                let steps = rig.run(2.0 * period.as_secs_f64(), load, asis);
                let last = steps.last().unwrap();
                assert_eq!(
                    last.action,
                    Action::Frozen,
                    "{period:?} {sideload_weight} {phase}"
                );
                let steps = rig.run(60.0, load, asis);
                assert!(steps.iter().all(|s| s.action == Action::Frozen));
                assert_eq!(steps.last().unwrap().seen.owed.0.as_millis(), 0);
            }
        }
    }
}

#[test]
fn a_ramp_keeps_the_headroom_but_for_what_comes_within_a_period() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    rig.run(60.0, |_| 0.1, asis);
    let ramp = |t: f64| 0.1 + 0.6 * (t - 60.0) / 60.0;
    let steps = rig.run(60.0, ramp, asis);
    // A period adds 0.1 % of load; a tick of each mode is 2 % of the machine,
    // and the noise of ten slices at most 10 % of the load in either direction.
    for step in &steps {
        assert!(step.free > 0.2 - 0.1, "at {}: {step:?}", step.at);
        // The sideload never used more than was decided in the period before.
        let most = step.had.share().get() * 0.2 + 1e-6;
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
    rig.run(60.0, load, asis);
    let steps = rig.run(30.0, load, asis);
    let share = mean_share(&steps);
    // A period with a burst has 52 % of load: 100 - 52 - 1 - 20 = 27.
    assert!((0.15..=0.30).contains(&share), "{share}");
    assert!(steps.iter().all(|s| s.action != Action::Frozen));
}

#[test]
fn a_service_that_needs_everything_now_and_then_does_not_starve_the_sideload() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    // One second of full load in twenty.
    let load = |t: f64| if t % 20.0 < 1.0 { 1.0 } else { 0.2 };
    let steps = rig.run(1200.0, load, asis);
    let share = mean_share(&steps[6000..]);
    assert!(share > 0.05, "{share}");
    let shares = rig.run(120.0, |_| 0.2, asis);
    assert!(shares.last().unwrap().action.share().get() > 0.5);
}

#[test]
fn a_service_that_needs_everything_gets_it_for_as_long_as_it_does() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(60.0, |_| 0.2, asis);
    let steps = rig.run(300.0, |_| 1.5, asis);
    assert!(steps[1..].iter().all(|s| s.action == Action::Frozen));
    let reason = &steps.last().unwrap().reason;
    assert!(matches!(reason, Reason::ServiceNeedsCpu { .. }), "{reason}");
}

#[test]
fn lost_sensors_stop_growth_at_once_and_freeze_after_five_periods() {
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
        rig.run(6.0, |_| 0.2, asis);
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
        let steps = rig.run(60.0, |_| 0.2, asis);
        assert!(steps.last().unwrap().action.share().get() > 0.5);
    }
}

#[test]
fn without_the_sideloads_own_counter_the_service_is_let_through_all_the_same() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    rig.run(60.0, |_| 0.2, asis);
    let steps = rig.run(0.2, |_| 0.95, |s| s.sideload = None);
    assert_eq!(steps.last().unwrap().action, Action::Frozen);
}

#[test]
fn a_guard_that_is_over_halves_then_freezes_and_is_forgiven_later() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(60.0, |_| 0.2, asis);
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
fn a_guard_that_nobody_can_read_closes_the_law() {
    let unknown = || Reading::Unknown {
        why: "the server did not answer".to_owned(),
    };
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    let steps = rig.run(30.0, |_| 0.1, guard(unknown()));
    assert!(steps.iter().all(|s| s.action == Action::Frozen));
    assert_eq!(
        steps[0].reason.to_string(),
        "p99_ms could not be read (the server did not answer), so it does not grow, and freezes \
         when something is missing in 5 periods in a row (now 1)"
    );
}

#[test]
fn cpus_that_go_take_their_part_of_the_sideload_with_them() {
    let spec = SharedSpec {
        cpus: 4,
        ..SharedSpec::default()
    };
    let mut rig = Rig::new(ours(), spec, TENTH);
    rig.run(60.0, |_| 0.2, asis);
    assert!(rig.action.share().get() > 0.5);
    rig.machine.set_cpus(2);
    // 0.8 of 2 CPUs: 40 % service, so 39 % are left.
    let steps = rig.run(30.0, |_| 0.2, asis);
    for step in &steps[1..] {
        assert!(step.action.share().get() < 0.42, "{step:?}");
    }
    assert!(steps.last().unwrap().action.share().get() > 0.3);
    rig.machine.set_cpus(4);
    let steps = rig.run(30.0, |_| 0.2, asis);
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
        rig.run(60.0, |_| 0.2, asis);
        let share = mean_share(&rig.run(10.0, |_| 0.2, asis));
        assert!((0.2..=0.30).contains(&share), "{share}");
    }
}

#[test]
fn after_a_pause_the_sideload_does_not_make_up_for_the_time() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(5.0, |_| 0.2, asis);
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
fn resctl_demo_begins_overloaded_and_freezes_some_seconds_after_a_step() {
    let law = Law::ResctlDemo(ResctlDemo::new(Headroom::default()));
    let mut rig = Rig::new(law, SharedSpec::default(), SECOND);
    let step = |t: f64| if t < 60.0 { 0.2 } else { 0.9 };
    let steps = rig.run(60.0, step, asis);
    // Its averages are 0 until ten seconds have passed, which is an overload;
    // it is held for ten seconds more.
    assert!(steps[..19].iter().all(|s| s.action == Action::Frozen));
    assert!(steps[20].action.share().get() > 0.55, "{:?}", steps[20]);
    let steps = rig.run(60.0, step, asis);
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
fn koordinator_never_freezes_comes_back_by_tenths_and_does_not_see_lost_sensors() {
    let law = Law::Koordinator(Koordinator::new(Headroom::default()));
    let mut rig = Rig::new(law, SharedSpec::default(), SECOND);
    rig.run(30.0, |_| 0.2, asis);
    let before = rig.action;
    let steps = rig.run(30.0, |_| 0.9, |s| s.machine = None);
    assert!(steps.iter().all(|s| s.action == before));
    // 2 ms per 100 ms of two CPUs.
    let steps = rig.run(30.0, |_| 0.9, asis);
    assert!(steps.iter().all(|s| s.action.share().get() > 0.0));
    assert!((rig.action.share().get() - 0.01).abs() < 1e-9);
    let steps = rig.run(4.0, |_| 0.2, asis);
    let shares: Vec<f64> = steps.iter().map(|s| s.action.share().get()).collect();
    assert!((shares[2] - 0.31).abs() < 1e-9, "{shares:?}");
}
