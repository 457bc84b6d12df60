//! The fold, event by event.

use super::sample::{about, begins, done, tick};
use crate::live::state::{Event, Group, Key, REMEMBERED, State};
use plimsoll_model::Phase;
use std::time::Duration;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fresh() -> State {
    State::new(about(), vec![])
}

#[test]
fn a_trial_is_begun_measured_and_done() {
    let mut state = fresh();
    assert_eq!((state.left(), state.now.is_none()), (None, true));
    state.fold(begins(Phase::Search, 900, 0, 60), at(1));
    assert_eq!(state.group_now(), Some(Group::Search));
    assert_eq!(state.now.as_ref().unwrap().warm_since, None);
    state.fold(Event::Second(tick(890.0)), at(2));
    assert_eq!(state.now.as_ref().unwrap().warm_since, Some(at(2)));
    state.fold(Event::Second(tick(900.0)), at(3));
    assert_eq!(state.now.as_ref().unwrap().warm_since, Some(at(2)));
    let firsts: Vec<bool> = state.seconds.iter().map(|tick| tick.is_first).collect();
    assert_eq!(firsts, [true, false]);
    state.fold(Event::Ended(done(Phase::Search, 900.0, true)), at(4));
    assert_eq!((state.done.len(), state.now.is_none()), (1, true));
}

#[test]
fn the_time_left_runs_down_with_the_trial_and_not_below_nothing() {
    let mut state = fresh();
    state.fold(begins(Phase::Search, 900, 0, 5), at(10));
    assert_eq!(state.left(), Some(at(5)));
    state.fold(Event::Clock, at(13));
    assert_eq!(state.left(), Some(at(2)));
    state.fold(Event::Clock, at(30));
    assert_eq!(state.left(), Some(at(0)));
}

#[test]
fn pauses_are_no_part_of_the_time_gone_or_left() {
    let mut state = fresh();
    state.fold(begins(Phase::Search, 900, 0, 60), at(10));
    state.fold(Event::Key(Key::Pause), at(11));
    assert!(state.pause_asked, "asked for, and the trial goes on");
    assert_eq!(state.paused_since, None);
    state.fold(Event::Ended(done(Phase::Search, 900.0, true)), at(12));
    state.fold(Event::Paused, at(12));
    state.fold(Event::Clock, at(500));
    assert_eq!((state.gone(), state.left()), (at(12), Some(at(58))));
    state.fold(Event::Key(Key::Pause), at(500));
    state.fold(Event::Continued, at(500));
    state.fold(begins(Phase::Search, 900, 0, 57), at(500));
    state.fold(Event::Clock, at(501));
    assert_eq!((state.gone(), state.left()), (at(13), Some(at(56))));
    assert_eq!(state.paused_since, None);
}

#[test]
fn a_run_that_is_ending_cannot_be_paused() {
    let mut state = fresh();
    state.fold(Event::Key(Key::End), at(1));
    state.fold(Event::Key(Key::Pause), at(1));
    assert!(state.is_ending && !state.pause_asked);
}

#[test]
fn help_comes_and_goes() {
    let mut state = fresh();
    for (key, shows) in [
        (Key::Help, true),
        (Key::Help, false),
        (Key::Back, false),
        (Key::Help, true),
        (Key::Back, false),
    ] {
        state.fold(Event::Key(key), at(1));
        assert_eq!(state.shows_help, shows);
    }
}

#[test]
fn a_long_run_does_not_grow_its_memory_of_seconds() {
    let mut state = fresh();
    state.fold(begins(Phase::Search, 900, 0, 60), at(1));
    for second in 0..2000 {
        state.fold(Event::Second(tick(second.into())), at(2));
    }
    assert_eq!(state.seconds.len(), REMEMBERED);
    assert_eq!(state.seconds.back().map(|tick| tick.rate), Some(1999.0));
}

#[test]
fn a_second_of_no_trial_is_left_out() {
    let mut state = fresh();
    state.fold(Event::Second(tick(1.0)), at(1));
    assert!(state.seconds.is_empty());
}
