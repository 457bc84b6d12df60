use super::*;
use crate::testing::sample;
use crate::{Guard, Missing, Reading};
use plimsoll_model::CpuTime;

const SECOND: Duration = Duration::from_secs(1);

fn with_guard(sample: Sample, reading: Reading) -> Sample {
    let name = "run_delay_ms".to_owned();
    Sample {
        guards: vec![Guard { name, reading }],
        ..sample
    }
}

fn law() -> Plimsoll {
    Plimsoll::new(Headroom::default())
}

/// Running with `pct` percent, for long and without a cause to shrink.
fn running(pct: f64) -> PlimsollState {
    PlimsollState {
        mode: Mode::Running {
            share: share(pct / 100.0),
            ran_for: Duration::from_secs(100),
        },
        calm: Duration::from_secs(100),
        blind_periods: 0,
        hold: Duration::from_secs(2),
    }
}

/// The decided share, in percent.
fn pct(state: &PlimsollState, sample: &Sample) -> f64 {
    let share = law().decide(state, sample).1.share();
    (share.pct() * 1e6).round() / 1e6
}

#[test]
fn share_follows_use_and_idle_time() {
    let calm = frozen(Duration::from_secs(100));
    for (case, state, (service, sideload), expected) in [
        // 30 + 20 idle - 20; 30 + 15 - 20; unused share is not idle time.
        ("use and idle", running(40.0), (50, 30), 30.0),
        ("less idle", running(40.0), (55, 30), 25.0),
        ("less use", running(40.0), (45, 10), 35.0),
        // Below half of the headroom the available share is scaled by what is left
        // of that half: (40 + 5 - 20) * 5 / 10, and 0 on a full machine.
        ("half of the headroom", running(40.0), (50, 40), 30.0),
        ("nearly full", running(40.0), (55, 40), 12.5),
        ("full", running(40.0), (60, 40), 0.0),
        ("grows by a step", running(40.0), (30, 40), 45.0),
        ("grows to what is available", running(40.0), (37, 40), 43.0),
        ("within the band", running(40.0), (39, 40), 40.0),
        ("below floor and band", calm, (74, 0), 0.0),
        ("thaws at the floor", calm, (72, 0), 5.0),
        ("not above the floor", calm, (10, 0), 5.0),
    ] {
        assert_eq!(pct(&state, &sample(service, sideload)), expected, "{case}");
    }
}

#[test]
fn preemptible_sideload_time_counts_as_idle() {
    let given = |service, sideload| Sample {
        gives_way: true,
        ..sample(service, sideload)
    };
    // Its own clock counts more than the machine's: the excess adds no time.
    let mut odd = given(0, 50);
    odd.sideload = Some(CpuTime(Duration::from_secs(70)));
    for (given, service) in [(given(30, 70), 30), (given(60, 40), 60), (odd, 0)] {
        let without = pct(&running(40.0), &sample(service, 0));
        assert_eq!(pct(&running(40.0), &given), without, "{service}");
    }
    let mut unread = given(30, 20);
    unread.sideload = None;
    let missing = Missing::Sideload;
    let blind = Reason::Blind {
        missing,
        periods: 1,
        freezes_after: Some(5),
    };
    assert_eq!(law().decide(&running(40.0), &unread).2, blind);
}

#[test]
fn growth_waits_until_it_is_settled() {
    let short_of_calm = PlimsollState {
        calm: Duration::ZERO,
        ..running(40.0)
    };
    let (_, action, reason) = law().decide(&short_of_calm, &tenth(30, 40));
    assert_eq!(action, Action::Run { share: share(0.4) });
    assert_eq!(
        reason.to_string(),
        "50 % are available and must stay so for another 0.9 s"
    );
}

/// A sample of 100 ms.
fn tenth(service: u64, sideload: u64) -> Sample {
    Sample {
        period: SECOND / 10,
        cpus: 1000,
        ..sample(service, sideload)
    }
}

fn frozen(calm: Duration) -> PlimsollState {
    let frozen_for = Duration::from_secs(100);
    PlimsollState {
        mode: Mode::Frozen { frozen_for },
        calm,
        ..running(0.0)
    }
}

#[test]
fn any_lower_bound_restarts_settling() {
    let law = law();
    let mut blind = tenth(10, 0);
    blind.machine = None;
    let almost = Duration::from_millis(900);
    for cause in [tenth(90, 0), blind.clone()] {
        let state = law.decide(&frozen(almost), &cause).0;
        let (_, action, reason) = law.decide(&state, &tenth(10, 0));
        assert_eq!(action, Action::Frozen);
        let remaining = almost;
        assert_eq!(reason, Reason::Held { remaining });
    }
    for cause in [tenth(60, 30), blind] {
        let state = law.decide(&running(40.0), &cause).0;
        let (_, _, reason) = law.decide(&state, &tenth(10, 30));
        assert!(
            matches!(reason, Reason::Settling { remaining, .. } if remaining == almost),
            "{reason}"
        );
    }
}

#[test]
fn hold_doubles_per_relapse_up_to_its_maximum_and_resets_after_a_long_run() {
    let law = law();
    let (full, quiet) = (sample(100, 0), sample(10, 0));
    let mut state = running(40.0);
    let mut holds = Vec::new();
    for _ in 0..6 {
        state = law.decide(&state, &full).0;
        holds.push(state.hold.as_secs());
        let mut seconds = 0;
        while matches!(state.mode, Mode::Frozen { .. }) {
            state = law.decide(&state, &quiet).0;
            seconds += 1;
        }
        assert_eq!(seconds, state.hold.as_secs());
    }
    assert_eq!(holds, [2, 4, 8, 16, 30, 30]);
    for _ in 0..30 {
        state = law.decide(&state, &quiet).0;
    }
    assert_eq!(law.decide(&state, &full).0.hold.as_secs(), 2);
}

#[test]
fn cause_during_a_hold_does_not_restart_it() {
    let law = law();
    let mut state = PlimsollState {
        hold: Duration::from_secs(10),
        ..PlimsollState::default()
    };
    for second in 1..=10 {
        let now = sample(if second == 8 { 90 } else { 10 }, 0);
        let (next, action, _) = law.decide(&state, &now);
        assert_eq!(action == Action::Frozen, second < 10, "{second}");
        state = next;
    }
}

#[test]
fn guard_scales_the_actual_use() {
    let over = || Reading::of(2.0, 1.0);
    let decided = |has, used| pct(&running(has), &with_guard(sample(10, used), over()));
    assert_eq!(decided(60.0, 60), 30.0);
    assert_eq!(decided(60.0, 20), 10.0);
    // Below the floor: frozen.
    assert_eq!(decided(60.0, 8), 0.0);
}

#[test]
fn strictest_bound_gives_the_reason() {
    let over = with_guard(sample(55, 40), Reading::of(2.0, 1.0));
    let (_, _, reason) = law().decide(&running(40.0), &over);
    assert!(matches!(reason, Reason::ServiceNeedsCpu { .. }), "{reason}");
    let over = with_guard(sample(50, 30), Reading::of(2.0, 1.0));
    let (_, _, reason) = law().decide(&running(40.0), &over);
    assert!(matches!(reason, Reason::GuardOver { .. }), "{reason}");
}

#[test]
fn alternating_missing_inputs_count_as_consecutive() {
    let law = law();
    let mut state = running(40.0);
    for periods in 1..=5 {
        let mut now = sample(10, 40);
        let missing = match periods % 2 {
            1 => Missing::Machine,
            _ => Missing::Sideload,
        };
        match missing {
            Missing::Machine => now.machine = None,
            _ => now.sideload = None,
        }
        let (next, action, reason) = law.decide(&state, &now);
        let blind = Reason::Blind {
            missing,
            periods,
            freezes_after: Some(5),
        };
        assert_eq!((action == Action::Frozen, reason), (periods == 5, blind));
        state = next;
    }
}

#[test]
fn cpus_offline_within_the_period_are_not_counted() {
    // Fifty of a hundred CPUs went offline: the forty used are most of the
    // rest.
    let mut now = sample(40, 0);
    now.cpus = 50;
    assert_eq!(pct(&running(40.0), &now), 0.0);
    // A hundred CPUs came online: their idle time was not counted, so it is not
    // given.
    let mut now = sample(40, 0);
    now.cpus = 200;
    assert_eq!(pct(&running(40.0), &now), 10.0);
}

#[test]
fn parameters_out_of_range_are_refused_in_one_sentence() {
    type Change = fn(&mut Parameters);
    let cases: [(Change, &str); 5] = [
        (
            |p| p.floor = Share::ZERO,
            "floor must be 0.1 to 50 %; it is 0.0 %",
        ),
        (
            |p| p.guard_keeps = Share::ONE,
            "guard_keeps must be 0 to 90 %; it is 100.0 %",
        ),
        (
            |p| p.blind_periods = 0,
            "blind_periods must be 1 to 1000; it is 0",
        ),
        (
            |p| p.hold_max = SECOND,
            "hold_max must be at least hold_min; it is 1s",
        ),
        (
            |p| p.settle = SECOND * 61,
            "settle must be 0 to 60 s; it is 61s",
        ),
    ];
    for (change, sentence) in cases {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        let refused = Plimsoll::with(Headroom::default(), parameters).unwrap_err();
        assert_eq!(refused.to_string(), sentence);
    }
}

#[test]
fn law_without_any_usable_share_is_refused() {
    let headroom = Headroom::pct(Headroom::MAX_PCT).unwrap();
    let with_floor = |pct: f64| {
        let floor = share(pct / 100.0);
        let parameters = Parameters {
            floor,
            ..Parameters::default()
        };
        Plimsoll::with(headroom, parameters)
    };
    assert!(with_floor(8.0).is_ok());
    assert_eq!(
        with_floor(9.0).unwrap_err().to_string(),
        "headroom must be at most 89 % for a sideload that runs with at least 9.0 %; it is 90 %"
    );
}

#[test]
fn deserialization_checks_parameters() {
    let text = serde_json::to_string(&law()).unwrap();
    assert_eq!(serde_json::from_str::<Plimsoll>(&text).unwrap(), law());
    let bad = text.replace("\"blind_periods\":5", "\"blind_periods\":0");
    assert_ne!(text, bad);
    assert!(serde_json::from_str::<Plimsoll>(&bad).is_err());
}
