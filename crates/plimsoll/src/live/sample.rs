//! Runs that tests look at.

use super::agenda::Step;
use super::done::{Ended, Group};
use super::state::{About, Event, State, Tick};
use plimsoll_experiment::Progress;
use plimsoll_model::{Invalid, LoadLevel, Phase, Rate, Setting, Share, TrialSpec, WarmUp};
use plimsoll_report::chart::Charset;
use std::time::Duration;

fn step(group: Group, words: &str) -> Step {
    Step {
        group,
        words: words.to_owned(),
    }
}

pub(super) fn about() -> About {
    About {
        workload: "GET http://localhost:8080/".to_owned(),
        record: "plimsoll-runs/20261121-154529-sweep.plimsoll".to_owned(),
        limit_us: Some((10_000.0, "p99<10ms".to_owned())),
        agenda: vec![
            step(Group::Idle, "the machine without load, for 2 s"),
            step(
                Group::Calibration,
                "ever more load until no more is carried: that is 100 %",
            ),
            step(
                Group::Levels,
                "11 loads from 5 % to 100 %, each 2 times, in shuffled order",
            ),
            step(
                Group::Search,
                "the highest load that keeps p99<10ms, for 25 s at most",
            ),
        ],
        is_copies: false,
        colour: true,
        charset: Charset::Unicode,
    }
}

/// A trial at `rate` begins, `done` of 22 visits done, so many seconds left.
pub(super) fn begins(phase: Phase, rate: u64, done: usize, left_s: u64) -> Event {
    let second = Duration::from_secs(1);
    let rate = Rate::of(rate, second);
    Event::Begins {
        spec: TrialSpec {
            warm_up: WarmUp {
                min: second,
                max: second,
            },
            ..TrialSpec::blank(phase, Setting::Offer { rate }, 3 * second)
        },
        progress: Progress {
            done,
            visits: 22,
            left: Duration::from_secs(left_s),
        },
    }
}

pub(super) fn tick(rate: f64) -> Tick {
    Tick {
        rate,
        p99: Some(Duration::from_micros(rate as u64)),
        cpu: Some((rate / 100.0).min(100.0)),
        is_first: false,
    }
}

/// A trial that has ended, on a machine whose latency doubles at 5,000/s.
pub(super) fn done(group: Group, rate: f64, is_valid: bool) -> Ended {
    let p50 = 500.0 * (1.0 + (rate / 5_000.0).powi(3));
    let steal = Invalid::Steal {
        stolen: Share::new(0.05).unwrap(),
        bound: Share::new(0.02).unwrap(),
    };
    Ended {
        group,
        is_retry: false,
        what: format!("load {:.0} %, {rate:.0}/s", rate / 100.0),
        measured: format!("{rate:.0}/s · p99 {:.1}ms · CPU 50 %", p50 / 250.0),
        invalid: if is_valid { vec![] } else { vec![steal] },
        load: Some(rate),
        times_us: vec![p50, 4.0 * p50, 7.0 * p50],
        cpu_pct: Some(rate / 100.0),
    }
}

/// Halfway through the levels, 40 s after the start.
pub(super) fn under_way() -> State {
    let mut idle = done(Group::Idle, 0.0, true);
    idle.load = None;
    let mut state = State::new(about(), vec![idle]);
    for doubled in 0..7 {
        let rate = 200.0 * f64::from(1 << doubled);
        let counts = doubled != 2;
        state.fold(
            Event::Ended(done(Group::Calibration, rate, counts)),
            Duration::from_secs(10),
        );
    }
    let mut clock = 11;
    for (visit, pct) in [50, 90, 10, 30, 100, 70, 20, 60, 5, 80]
        .into_iter()
        .enumerate()
    {
        let level = LoadLevel::percent(f64::from(pct));
        let rate = 100 * pct as u64;
        let phase = Phase::Level { level };
        state.fold(
            begins(phase, rate, visit, 90 - clock),
            Duration::from_secs(clock),
        );
        for second in 0..3 {
            let at = Duration::from_secs(clock + 1 + second);
            state.fold(Event::Second(tick(rate as f64 - 7.0 * second as f64)), at);
        }
        if visit < 9 {
            let end = done(Group::Levels, rate as f64, pct != 30);
            clock += 3;
            state.fold(Event::Ended(end), Duration::from_secs(clock));
        }
    }
    state.fold(Event::Clock, Duration::from_secs(40));
    state
}

/// Copies of a command, two at once after one alone.
pub(super) fn copies() -> State {
    let about = About {
        workload: "copies of make -j1".to_owned(),
        limit_us: None,
        is_copies: true,
        agenda: vec![step(Group::Idle, ""), step(Group::Levels, "")],
        ..about()
    };
    let one = |copies: u32| Ended {
        what: format!("{copies} copies"),
        measured: "slowest copy 2.4s · CPU 50 %".to_owned(),
        load: Some(f64::from(copies)),
        times_us: vec![1.1e6 * f64::from(copies), 1.2e6 * f64::from(copies)],
        ..done(Group::Levels, 50.0, true)
    };
    let mut state = State::new(about, vec![one(1), one(2)]);
    let mut begins = begins(Phase::Level { level: None }, 0, 20, 30);
    if let Event::Begins { spec, .. } = &mut begins {
        spec.setting = Setting::Copies { copies: 3 };
    }
    state.fold(begins, Duration::from_secs(12));
    state.fold(Event::Clock, Duration::from_secs(14));
    state
}
