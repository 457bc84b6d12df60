//! Runs that tests look at.

use crate::live::state::{About, Event, State, Tick};
use plimsoll_engine::{Ended, Progress, Started};
use plimsoll_experiments::copies::CopiesOfCommand;
use plimsoll_experiments::{Experiment, Stage, sweep};
use plimsoll_model::{CpusOf, Invalid, LoadLevel, Phase, Rate, Setting, Share, TrialSpec};
use plimsoll_report::chart::{Charset, LiveCharts};
use std::time::Duration;

/// The phase of the visits of levels.
pub(crate) const LEVELS: Phase = Phase::Level { level: None };

fn stage(phase: Phase, words: &str) -> Stage {
    Stage {
        phase,
        words: words.to_owned(),
    }
}

pub(crate) fn about() -> About {
    About {
        workload: "GET http://localhost:8080/".to_owned(),
        record: "plimsoll-runs/20261121-154529-sweep.plimsoll".to_owned(),
        limit_us: Some((10_000.0, "p99<10ms".to_owned())),
        charts: LiveCharts::LATENCY,
        stages: vec![
            stage(Phase::Idle, "the machine without load, for 2 s"),
            stage(
                Phase::Calibration,
                "load doubles until no more is carried: the rated rate",
            ),
            stage(
                LEVELS,
                "11 loads from 5 % to 100 %, each 2 times, in shuffled order",
            ),
            stage(
                Phase::Search,
                "the highest load that keeps p99<10ms, for 25 s at most",
            ),
        ],
        colour: true,
        charset: Charset::Unicode,
    }
}

/// A trial at `rate` begins, `done` of 22 visits done, so many seconds left.
pub(crate) fn begins(phase: Phase, rate: u64, done: usize, left_s: u64) -> Event {
    let second = Duration::from_secs(1);
    let rate = Rate::of(rate, second);
    started(
        TrialSpec::blank(phase, Setting::offer(rate), 3 * second),
        done,
        left_s,
    )
}

/// The machine without load.
pub(crate) fn begins_idle(done: usize, left_s: u64) -> Event {
    let spec = TrialSpec::blank(Phase::Idle, Setting::Idle, Duration::from_secs(3));
    started(spec, done, left_s)
}

fn started(spec: TrialSpec, done: usize, left_s: u64) -> Event {
    Event::Started {
        trial: Started::of(&spec, sweep::describe(&spec)),
        progress: Progress {
            done,
            visits: 22,
            left: Duration::from_secs(left_s),
        },
    }
}

pub(crate) fn tick(rate: f64) -> Tick {
    Tick {
        rate,
        p99: Some(Duration::from_micros(rate as u64)),
        cpu: Some((rate / 100.0).min(100.0)),
        is_first: false,
    }
}

/// A trial that has ended, on a machine whose latency doubles at 5,000/s.
pub(crate) fn done(phase: Phase, rate: f64, is_valid: bool) -> Ended {
    let p50 = 500.0 * (1.0 + (rate / 5_000.0).powi(3));
    let steal = Invalid::Steal {
        stolen: Share::new(0.05).unwrap(),
        bound: Share::new(0.02).unwrap(),
        on: CpusOf::Machine,
    };
    Ended {
        phase,
        attempt: 0,
        what: format!("load {:.0} %, {rate:.0}/s", rate / 100.0),
        measured: format!("{rate:.0}/s · p99 {:.1}ms · CPUs 50 % busy", p50 / 250.0),
        invalid: if is_valid { vec![] } else { vec![steal] },
        x: Some(rate),
        times_us: vec![p50, 4.0 * p50, 7.0 * p50],
        cpu_pct: Some(rate / 100.0),
    }
}

/// Halfway through the levels, 40 s after the start.
pub(crate) fn under_way() -> State {
    let mut idle = done(Phase::Idle, 0.0, true);
    idle.x = None;
    let mut state = State::new(about(), vec![idle]);
    for doubled in 0..7 {
        let rate = 200.0 * f64::from(1 << doubled);
        let is_valid = doubled != 2;
        state.fold(
            Event::Ended(done(Phase::Calibration, rate, is_valid)),
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
            let end = done(LEVELS, rate as f64, pct != 30);
            clock += 3;
            state.fold(Event::Ended(end), Duration::from_secs(clock));
        }
    }
    state.fold(Event::Clock, Duration::from_secs(40));
    state
}

/// Copies of a command, two at once after one alone.
pub(crate) fn copies() -> State {
    let about = About {
        workload: "copies of make -j1".to_owned(),
        limit_us: None,
        charts: CopiesOfCommand::LIVE,
        stages: vec![stage(Phase::Idle, ""), stage(LEVELS, "")],
        ..about()
    };
    let one = |copies: u32| Ended {
        what: format!("{copies} copies"),
        measured: "slowest copy 2.4s · CPUs 50 % busy".to_owned(),
        x: Some(f64::from(copies)),
        times_us: vec![1.1e6 * f64::from(copies), 1.2e6 * f64::from(copies)],
        ..done(LEVELS, 50.0, true)
    };
    let mut state = State::new(about, vec![one(1), one(2)]);
    let begins = Event::Started {
        trial: Started {
            phase: LEVELS,
            attempt: 0,
            what: "3 copies".to_owned(),
            offers_load: false,
            x: Some(3.0),
            window: Duration::from_secs(3),
        },
        progress: Progress {
            done: 20,
            visits: 22,
            left: Duration::from_secs(30),
        },
    };
    state.fold(begins, Duration::from_secs(12));
    state.fold(Event::Clock, Duration::from_secs(14));
    state
}
