//! The laws in closed loop with a simulated machine, on virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod other_laws;
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

/// Our law on the usual machine.
fn rig(period: Duration) -> Rig {
    Rig::new(ours(), SharedSpec::default(), period)
}

/// A law after a minute at 20 % of load.
fn warm(law: Law, spec: SharedSpec, period: Duration) -> Rig {
    let mut rig = Rig::new(law, spec, period);
    rig.run(60.0, |_| 0.2, unchanged);
    rig
}

fn all_frozen(steps: &[Step]) -> bool {
    steps.iter().all(|s| s.action == Action::Frozen)
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
            let mut rig = warm(law.clone(), SharedSpec::default(), period);
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
                let mut rig = warm(ours(), spec, period);
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
                assert!(all_frozen(&steps));
                assert_eq!(steps.last().unwrap().seen.backlog.0.as_millis(), 0);
            }
        }
    }
}

#[test]
fn ramp_keeps_the_headroom_except_within_a_period() {
    let mut rig = rig(TENTH);
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
    let mut rig = rig(TENTH);
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
    let mut rig = rig(TENTH);
    // One second of full load in twenty.
    let load = |t: f64| if t % 20.0 < 1.0 { 1.0 } else { 0.2 };
    let steps = rig.run(1200.0, load, unchanged);
    let share = mean_share(&steps[6000..]);
    assert!(share > 0.05, "{share}");
    rig.run(120.0, |_| 0.2, unchanged);
    assert!(rig.share() > 0.5);
}

#[test]
fn missing_sensors_stop_growth_and_freeze_after_five_periods() {
    type Lose = fn(&mut Sample);
    let cases: [(Lose, Missing); 4] = [
        (|s| s.machine = None, Missing::Machine),
        (|s| s.machine = Some(CpuUse::default()), Missing::Stuck),
        (|s| s.sideload = None, Missing::Sideload),
        (|s| s.period = Duration::ZERO, Missing::Period),
    ];
    for (lose, expected) in cases {
        let mut rig = rig(SECOND);
        // Still growing when the sensor fails.
        rig.run(6.0, |_| 0.2, unchanged);
        let before = rig.action.share();
        let steps = rig.run(8.0, |_| 0.2, lose);
        for (i, step) in steps.iter().enumerate() {
            match i {
                0..4 => assert_eq!(step.action, Action::Run { share: before }),
                _ => assert_eq!(step.action, Action::Frozen),
            }
            let blind = Reason::Blind {
                missing: expected.clone(),
                periods: i as u32 + 1,
                freezes_after: Some(5),
            };
            assert_eq!(step.reason, blind);
        }
        rig.run(60.0, |_| 0.2, unchanged);
        assert!(rig.share() > 0.5);
    }
}

#[test]
fn missing_sideload_counter_still_protects_the_service() {
    let mut rig = warm(ours(), SharedSpec::default(), TENTH);
    let steps = rig.run(0.2, |_| 0.95, |s| s.sideload = None);
    assert_eq!(steps.last().unwrap().action, Action::Frozen);
}

#[test]
fn guard_over_its_limit_halves_then_freezes_then_recovers() {
    let mut rig = warm(ours(), SharedSpec::default(), SECOND);
    let steps = rig.run(10.0, |_| 0.2, guard(Reading::of(12.0, 10.0)));
    let shares: Vec<f64> = steps.iter().map(|s| s.action.share().get()).collect();
    for pair in shares.windows(2) {
        assert!(pair[1] <= pair[0] * 0.51, "{shares:?}");
    }
    assert_eq!(shares[4], 0.0, "{shares:?}");
    assert!(matches!(steps[9].reason, Reason::GuardOver { .. }));
    rig.run(60.0, |_| 0.2, guard(Reading::of(8.0, 10.0)));
    assert!(rig.share() > 0.5);
}

#[test]
fn unreadable_guard_freezes_the_sideload() {
    let unknown = || Reading::Unknown {
        why: "the server did not answer".to_owned(),
    };
    let mut rig = rig(SECOND);
    let steps = rig.run(30.0, |_| 0.1, guard(unknown()));
    assert!(all_frozen(&steps));
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
    let mut rig = warm(ours(), spec, TENTH);
    assert!(rig.share() > 0.5);
    rig.machine.set_cpus(2);
    // 0.8 of 2 CPUs: 40 % service, so 39 % are left.
    let steps = rig.run(30.0, |_| 0.2, unchanged);
    for step in &steps[1..] {
        assert!(step.action.share().get() < 0.42, "{step:?}");
    }
    assert!(rig.share() > 0.3);
    rig.machine.set_cpus(4);
    rig.run(30.0, |_| 0.2, unchanged);
    assert!(rig.share() > 0.5);
}

#[test]
fn interrupts_and_steal_are_not_idle() {
    for (irq, steal) in [(0.31, 0.0), (SharedSpec::default().irq, 0.3)] {
        let spec = SharedSpec {
            irq,
            steal,
            ..SharedSpec::default()
        };
        let mut rig = warm(ours(), spec, TENTH);
        let share = mean_share(&rig.run(10.0, |_| 0.2, unchanged));
        assert!((0.2..=0.30).contains(&share), "{share}");
    }
}

#[test]
fn sideload_does_not_catch_up_after_a_pause() {
    let mut rig = rig(SECOND);
    rig.run(5.0, |_| 0.2, unchanged);
    let before = rig.share();
    let hour = |s: &mut Sample| {
        let idle = s.machine.unwrap().idle;
        s.period = Duration::from_secs(3600);
        s.machine = Some(CpuUse {
            idle: plimsoll_model::CpuTime(idle.0 + Duration::from_secs(7198)),
            ..s.machine.unwrap()
        });
    };
    rig.run(1.0, |_| 0.2, hour);
    assert!(rig.share() <= before + 0.05 + 1e-9);
}
