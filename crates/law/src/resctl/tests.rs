use super::*;
use crate::{Guard, Reading, testing};

/// A tenth of the machine waits for its disk, which counts as idle here.
fn sample(service: u64, sideload: u64) -> Sample {
    testing::sample_with_iowait(service, sideload, 10)
}

/// The decision of each second, in percent; `None` when frozen.
fn decide(state: &mut ResctlState, samples: &[Sample]) -> Vec<Option<f64>> {
    let law = ResctlDemo::new(Headroom::default());
    let one = |sample| {
        let (next, action, _) = law.decide(state, sample);
        *state = next;
        match action {
            Action::Run { share } => Some((share.pct() * 1e6).round() / 1e6),
            Action::Frozen => None,
        }
    };
    samples.iter().map(one).collect()
}

/// After the initial overload.
fn warm() -> ResctlState {
    let mut state = ResctlState::default();
    decide(&mut state, &vec![sample(20, 30); 60]);
    assert_eq!(state.hold, Duration::ZERO, "it has decayed");
    state
}

#[test]
fn share_uses_minimum_idle_and_maximum_use_of_two_windows() {
    let mut state = warm();
    assert_eq!(decide(&mut state, &[sample(20, 30)]), [Some(60.0)]);
    // Idle: now 30, on average 46; used: now 40, on average 32.
    assert_eq!(decide(&mut state, &[sample(30, 40)]), [Some(50.0)]);
    // Idle: now 50, on average 46; used: now 30, on average 32.
    assert_eq!(decide(&mut state, &[sample(20, 30)]), [Some(58.0)]);
}

#[test]
fn overload_is_held_and_relapse_is_held_longer() {
    let mut state = warm();
    let busy = vec![sample(100 - 10, 0); 20];
    let decided = decide(&mut state, &busy);
    // The margin falls from 80 % to 10 %: the mean of ten seconds falls below
    // 30 % of idle and use after the eighth.
    let first = decided.iter().position(Option::is_none);
    assert_eq!(first, Some(7));
    assert_eq!(state.hold, Duration::from_secs(10));
    let quiet = vec![sample(20, 0); 40];
    let decided = decide(&mut state, &quiet);
    // The mean recovers in the third second. The hold of ten seconds starts
    // after the second, the last with a cause.
    let back = decided.iter().position(Option::is_some);
    assert_eq!(back, Some(12));
    assert!(decided[12..].iter().all(Option::is_some));
    // 28 seconds of decay at half a second each, not below zero.
    assert_eq!(state.hold, Duration::ZERO);
    decide(&mut state, &busy);
    decide(&mut state, &quiet[..15]);
    assert_eq!(state.hold, Duration::from_millis(8_500));
    // Seven more seconds of decay, then ten are added.
    decide(&mut state, &busy);
    assert_eq!(state.hold, Duration::from_secs(15));
}

#[test]
fn memory_pressure_guard_freezes_at_once() {
    let mut state = warm();
    let mut now = sample(20, 30);
    now.guards = vec![Guard {
        name: "memory_full_avg60_pct".to_owned(),
        reading: Reading::of(51.0, 50.0),
    }];
    assert_eq!(decide(&mut state, &[now]), [None]);
}

#[test]
fn missing_input_keeps_the_last_share() {
    let mut state = warm();
    let mut now = sample(60, 30);
    now.machine = None;
    assert_eq!(decide(&mut state, &vec![now; 30]), vec![Some(60.0); 30]);
}
