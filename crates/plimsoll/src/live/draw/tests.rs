//! Whole screens, compared with files to the letter. `BLESS=1` writes the
//! files anew; read the difference before you commit it.

use super::*;
use crate::live::state::{Event, Key, State, Tick};
use crate::live::tests::sample::{LEVELS, begins, begins_idle, copies, done, tick, under_way};
use crate::paint::snapshot;
use plimsoll_model::{CpusOf, Invalid, LoadLevel, Phase, Share};
use plimsoll_report::chart::Charset;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use std::time::Duration;

/// The file of a screen, which ends in its size, and the state that it shows.
type Snapshot = (&'static str, fn() -> State);

const SCREENS: [Snapshot; 16] = [
    ("help-40x10", help),
    ("begins-80x24", fresh),
    ("begins-60x20", fresh),
    ("disturbed-80x24", disturbed),
    ("disturbed-40x10", disturbed),
    ("disturbed-120x40", disturbed),
    ("busy-80x24", busy),
    ("sweep-60x20", under_way),
    ("sweep-80x24", under_way),
    ("sweep-200x60", under_way),
    ("small-40x10", under_way),
    ("ascii-80x24", ascii),
    ("help-80x24", help),
    ("paused-80x24", paused),
    ("long-80x24", long),
    ("copies-80x24", copies),
];

/// The first second: the idle machine is watched.
fn fresh() -> State {
    let mut state = State::new(under_way().about, vec![]);
    state.fold(begins_idle(0, 76), Duration::ZERO);
    state.fold(Event::Clock, Duration::from_secs(1));
    state
}

/// The first two trials under load are disturbed by others.
fn busy() -> State {
    let mut state = fresh();
    let share = |share| Share::new(share).unwrap();
    for second in [3, 6] {
        let mut ended = done(Phase::Calibration, 8_000.0, true);
        ended.invalid = vec![Invalid::OtherLoad {
            used: share(0.97),
            bound: share(0.05),
            on: CpusOf::Machine,
        }];
        state.fold(Event::Ended(ended), Duration::from_secs(second));
    }
    state.fold(
        begins(Phase::Calibration, 8_000, 0, 70),
        Duration::from_secs(6),
    );
    state
}

/// The last trial is invalid for two reasons.
fn disturbed() -> State {
    let mut state = under_way();
    let share = |share| Share::new(share).unwrap();
    let mut ended = done(LEVELS, 8_000.0, false);
    ended.invalid.push(Invalid::OtherLoad {
        used: share(0.669),
        bound: share(0.05),
        on: CpusOf::Machine,
    });
    let at = Duration::from_secs(41);
    state.fold(Event::Ended(ended), at);
    let level = LoadLevel::percent(40.0);
    let phase = Phase::Level { level };
    state.fold(begins(phase, 4_000, 11, 45), at);
    state
}

fn ascii() -> State {
    let mut state = under_way();
    state.about.charset = Charset::Ascii;
    state
}

fn help() -> State {
    let mut state = under_way();
    state.fold(Event::Key(Key::Help), Duration::from_secs(40));
    state
}

fn paused() -> State {
    let mut state = under_way();
    let at = Duration::from_secs(41);
    state.fold(Event::Key(Key::Pause), at);
    let ended = state.done[12].clone();
    state.fold(Event::Ended(ended), at);
    state.fold(Event::Paused, at);
    state.fold(Event::Clock, Duration::from_secs(53));
    state
}

/// More trials than the strip has room for.
fn long() -> State {
    let mut state = under_way();
    for _ in 0..150 {
        let again = state.done[12].clone();
        state.fold(Event::Ended(again), Duration::from_secs(40));
    }
    state
}

pub(crate) fn screen(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, frame)).unwrap();
    snapshot::lines(terminal.backend().buffer())
}

#[test]
fn screens_look_as_they_should() {
    for (name, state) in SCREENS {
        let (width, height) = snapshot::size(name);
        let got = screen(&state(), width, height);
        snapshot::is_as_in("src/live/draw/tests", name, &got);
    }
}

#[test]
fn any_size_can_be_drawn_in_any_state() {
    let states = [under_way(), ascii(), help(), paused(), long(), copies()];
    let before = State::new(under_way().about, vec![]);
    for state in states.iter().chain([&before, &fresh(), &disturbed()]) {
        for (width, height) in [
            (1, 1),
            (2, 50),
            (59, 20),
            (60, 19),
            (61, 21),
            (150, 20),
            (60, 90),
        ] {
            screen(state, width, height);
        }
    }
}

#[test]
fn why_a_trial_does_not_count_is_seen_in_every_window_of_some_size() {
    let state = disturbed();
    for (width, height) in [(40, 10), (60, 20), (80, 24), (120, 40), (200, 60)] {
        let shown = screen(&state, width, height);
        let text = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
        for reason in ["invalid: hypervisor", "5.0 % CPU"] {
            assert!(text.contains(reason), "{width}x{height}:\n{shown}");
        }
    }
}

#[test]
fn a_warm_up_leaves_the_last_latency_where_it_was() {
    let mut state = under_way();
    let figure = |state: &State| {
        let shown = screen(state, 80, 24);
        let line = shown.lines().find(|line| line.starts_with("p99 "));
        line.unwrap().split_whitespace().last().unwrap().to_owned()
    };
    let before = figure(&state);
    assert_ne!(before, "-");
    let warm_up = Tick {
        p99: None,
        ..tick(500.0)
    };
    state.fold(Event::Second(warm_up), Duration::from_secs(41));
    assert_eq!(figure(&state), before);
}

#[test]
fn the_time_of_a_search_is_a_bound() {
    let mut state = under_way();
    assert!(screen(&state, 80, 24).contains("gone, about 49 s left"));
    let at = Duration::from_secs(41);
    state.fold(begins(Phase::Search, 8_000, 22, 18), at);
    assert!(screen(&state, 80, 24).contains("gone, at most 18 s left"));
    state.fold(Event::Ended(done(Phase::Search, 8_000.0, true)), at);
    assert!(screen(&state, 80, 24).contains("gone, at most 18 s left"));
}

#[test]
fn a_letter_is_all_that_ascii_needs() {
    assert!(screen(&ascii(), 80, 24).is_ascii());
    assert!(!screen(&under_way(), 80, 24).is_ascii());
}

#[test]
fn names_from_outside_do_not_drive_the_terminal() {
    let hostile = "a\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\n";
    let mut state = under_way();
    hostile.clone_into(&mut state.about.workload);
    hostile.clone_into(&mut state.about.record);
    state.about.limit_us = Some((10_000.0, hostile.to_owned()));
    for stage in &mut state.about.stages {
        hostile.clone_into(&mut stage.words);
    }
    let mut ended = done(LEVELS, 8_000.0, true);
    hostile.clone_into(&mut ended.what);
    state.fold(Event::Ended(ended), Duration::from_secs(41));
    for (width, height) in [(40, 10), (120, 40)] {
        let shown = screen(&state, width, height);
        assert!(shown.contains("a\\u{1b}[2J"), "{shown}");
        let line = shown.replace('\n', "");
        assert!(!line.contains(plimsoll_model::is_unsafe), "{shown:?}");
    }
}

#[test]
fn without_colours_there_are_none() {
    let colours = |state: &State| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(state, frame)).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        cells
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
            .count()
    };
    let mut state = under_way();
    assert!(colours(&state) > 0);
    state.about.colour = false;
    assert_eq!(colours(&state), 0);
}
