//! The laws that ours is compared with.

use crate::rig::Rig;
use crate::{SECOND, all_frozen, unchanged};
use plimsoll_law::{Action, Headroom, Koordinator, Law, ResctlDemo};
use plimsoll_simulate::SharedSpec;

#[test]
fn resctl_demo_starts_overloaded_and_freezes_seconds_after_a_step() {
    let law = Law::ResctlDemo(ResctlDemo::new(Headroom::default()));
    let mut rig = Rig::new(law, SharedSpec::default(), SECOND);
    let step = |t: f64| if t < 60.0 { 0.2 } else { 0.9 };
    let steps = rig.run(60.0, step, unchanged);
    // Its averages are 0 until ten seconds have passed, which is an overload;
    // it is held for ten seconds more.
    assert!(all_frozen(&steps[..19]));
    assert!(steps[20].action.share().get() > 0.55, "{:?}", steps[20]);
    let steps = rig.run(60.0, step, unchanged);
    let frozen = steps
        .iter()
        .position(|s| s.action == Action::Frozen)
        .unwrap();
    assert!((5..=10).contains(&frozen), "{frozen}");
    assert!(all_frozen(&steps[frozen..]), "it does not stay frozen");
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
    assert!((rig.share() - 0.01).abs() < 1e-9);
    let steps = rig.run(4.0, |_| 0.2, unchanged);
    let shares: Vec<f64> = steps.iter().map(|s| s.action.share().get()).collect();
    assert!((shares[2] - 0.31).abs() < 1e-9, "{shares:?}");
}
