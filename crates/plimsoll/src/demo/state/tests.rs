//! What events do to the lab, and what they ask for.

use super::*;

pub(crate) fn about() -> About {
    let goal: plimsoll_model::Goal = "p95<75ms".parse().unwrap();
    About {
        rating: "rated 1,952/s on CPUs 0-1 (1,940/s to 1,960/s in 5 rounds)".to_owned(),
        goal: goal.try_into().unwrap(),
        job: "burn".to_owned(),
        budget: "p99+5%".to_owned(),
    }
}

pub(crate) fn fresh() -> State {
    State::new(about(), 'a', &Scenario::default())
}

/// Folds an event so many seconds after the start.
fn at(state: &mut State, seconds: u64, event: Event) -> Vec<Effect> {
    state.fold(event, Duration::from_secs(seconds))
}

fn load(pct: f64) -> Effect {
    Effect::SetTarget(Target::Load(LoadLevel::percent(pct).unwrap()))
}

const NOTHING: [Effect; 0] = [];
const IDLE: Effect = Effect::SetTarget(Target::Rate(Rate::ZERO));
const SIDELOAD: Event = Event::Press(Button::Sideload);
const SYSLOAD: Event = Event::Press(Button::Sysload);
const MEASURE: Event = Event::Press(Button::Measure);

fn started(care: Care, headroom_pct: f64) -> Effect {
    Effect::StartJob {
        care,
        headroom_pct,
        job: "burn".to_owned(),
    }
}

fn ended() -> Event {
    Event::JobEnded("The job ended.".to_owned())
}

/// A second without open requests.
fn idle(seconds: u64) -> Event {
    Event::Second(Second {
        at: Duration::from_secs(seconds),
        ..Second::default()
    })
}

#[test]
fn sliders_move_in_steps_within_their_ranges_and_set_the_target() {
    let mut state = fresh();
    assert_eq!(at(&mut state, 1, Event::Change(1)), [load(65.0)]);
    assert_eq!(at(&mut state, 1, Event::Change(-100)), [IDLE]);
    assert_eq!(at(&mut state, 1, Event::Change(-1)), NOTHING);
    assert_eq!(at(&mut state, 1, Event::Set(Knob::Load, 0.5)), [load(60.0)]);
    assert_eq!(at(&mut state, 1, Event::Change(100)), [load(120.0)]);
    at(&mut state, 1, Event::Choose { forward: true });
    assert_eq!(at(&mut state, 1, Event::Change(-100)), NOTHING);
    assert_eq!(state.knobs.headroom_pct, 1.0, "side takes no less");
    at(&mut state, 1, Event::Change(1));
    assert_eq!(state.knobs.headroom_pct, 5.0);
    at(&mut state, 1, Event::Set(Knob::Headroom, 7.0));
    assert_eq!(state.knobs.headroom_pct, 50.0);
    at(&mut state, 1, Event::Set(Knob::Headroom, f64::NAN));
    assert_eq!(state.knobs.headroom_pct, 1.0);
    assert_eq!(at(&mut state, 1, Event::Reset), [load(60.0)]);
    assert_eq!(state.knobs.headroom_pct, 20.0);
}

#[test]
fn goal_takes_the_place_of_the_load_and_gives_it_back() {
    let mut state = fresh();
    let goal = Effect::SetTarget(Target::Until(state.about.goal));
    assert_eq!(at(&mut state, 1, Event::Set(Knob::Goal, 1.0)), [goal]);
    let reached = Second {
        load_pct: 87.4,
        phase: Some(SettlePhase::Settled),
        ..Second::default()
    };
    at(&mut state, 2, Event::Second(reached));
    assert_eq!(state.phase(), Some(SettlePhase::Settled));
    assert_eq!(state.scenario().load_pct, 87.0, "what was reached");
    assert_eq!(at(&mut state, 3, Event::Change(-1)), [load(60.0)]);
    assert_eq!(state.phase(), None);
    assert_eq!(state.scenario().load_pct, 60.0);
}

#[test]
fn job_starts_stops_and_changes_how_it_runs() {
    let mut state = fresh();
    let sideload = || started(Care::Sideload, 20.0);
    assert_eq!(at(&mut state, 1, SIDELOAD), [sideload()]);
    assert_eq!(at(&mut state, 2, SYSLOAD), [Effect::StopJob]);
    assert_eq!(state.job.care(), Some(Care::Sysload));
    // Pressed again before the job has ended: it does not start.
    assert_eq!(at(&mut state, 2, SYSLOAD), NOTHING);
    assert_eq!(at(&mut state, 3, ended()), NOTHING);
    assert_eq!(state.job, Job::Stopped);
    assert_eq!(state.message(), None, "it was asked for");
    assert_eq!(at(&mut state, 4, SIDELOAD), [sideload()]);
    assert_eq!(at(&mut state, 5, ended()), NOTHING);
    assert_eq!(state.message(), Some("The job ended."));
    at(&mut state, 60, Event::Clock);
    assert_eq!(state.message(), None);
}

#[test]
fn sideload_follows_its_headroom_when_the_slider_rests() {
    let mut state = fresh();
    at(&mut state, 1, SIDELOAD);
    at(&mut state, 1, Event::Choose { forward: true });
    assert_eq!(at(&mut state, 2, Event::Change(1)), NOTHING);
    assert_eq!(at(&mut state, 3, Event::Change(1)), NOTHING);
    assert_eq!(at(&mut state, 3, Event::Clock), NOTHING, "it moves");
    assert_eq!(at(&mut state, 4, Event::Clock), [Effect::StopJob]);
    assert_eq!(at(&mut state, 5, Event::Clock), NOTHING);
    let again = started(Care::Sideload, 30.0);
    assert_eq!(at(&mut state, 6, ended()), [again]);
    assert_eq!(at(&mut state, 9, Event::Clock), NOTHING);
    // A sysload has no headroom.
    at(&mut state, 10, SYSLOAD);
    at(&mut state, 10, ended());
    at(&mut state, 11, Event::Change(1));
    assert_eq!(at(&mut state, 20, Event::Clock), NOTHING);
}

#[test]
fn measurement_has_the_machine_for_itself_and_gives_back_what_ran() {
    let mut state = fresh();
    at(&mut state, 1, Event::Page(2));
    at(&mut state, 1, SIDELOAD);
    assert_eq!(at(&mut state, 2, MEASURE), [Effect::StopJob, IDLE]);
    assert_eq!(at(&mut state, 2, MEASURE), NOTHING);
    assert_eq!(at(&mut state, 3, idle(3)), NOTHING, "the job is there");
    assert_eq!(at(&mut state, 3, ended()), NOTHING);
    let busy = Second {
        at: Duration::from_secs(4),
        in_flight: 7,
        ..Second::default()
    };
    assert_eq!(at(&mut state, 4, Event::Second(busy)), NOTHING);
    let words = PAGES[2].words(&Scenario::default());
    assert_eq!(at(&mut state, 5, idle(5)), [Effect::Measure(words)]);
    assert_eq!(at(&mut state, 6, SIDELOAD), NOTHING, "not meanwhile");
    at(&mut state, 6, Event::Page(0));
    let found = Event::Measured {
        found: vec!["The job cost 3 %.".to_owned()],
        wrong: None,
    };
    let resumed = [started(Care::Sideload, 20.0), load(60.0)];
    assert_eq!(at(&mut state, 90, found), resumed);
    assert_eq!(state.findings(), None, "they are of another page");
    at(&mut state, 91, Event::Page(2));
    assert_eq!(state.findings().unwrap(), ["The job cost 3 %."]);
    at(&mut state, 92, Event::Back);
    assert_eq!(state.findings(), None);
}

#[test]
fn measurement_is_stopped_before_and_while_it_runs() {
    let mut state = fresh();
    assert_eq!(at(&mut state, 1, MEASURE), [IDLE]);
    assert_eq!(at(&mut state, 1, Event::Back), [load(60.0)]);
    assert_eq!(at(&mut state, 2, MEASURE), [IDLE]);
    assert!(matches!(
        at(&mut state, 3, idle(3))[..],
        [Effect::Measure(_)]
    ));
    assert_eq!(at(&mut state, 4, Event::Back), [Effect::StopMeasuring]);
    assert_eq!(at(&mut state, 4, Event::Back), NOTHING);
    let stopped = Event::Measured {
        found: Vec::new(),
        wrong: Some("It was stopped.".to_owned()),
    };
    assert_eq!(at(&mut state, 5, stopped), [load(60.0)]);
    assert_eq!(state.message(), Some("It was stopped."));
}

#[test]
fn page_about_a_load_is_not_measured_and_no_scenario_is_saved_without_one() {
    let mut state = fresh();
    at(&mut state, 1, Event::Page(1));
    let save = || Event::Press(Button::Save);
    let usual = Effect::Save(Scenario::default());
    assert_eq!(at(&mut state, 1, save()), [usual]);
    at(&mut state, 1, Event::Set(Knob::Load, 0.0));
    assert_eq!(at(&mut state, 2, MEASURE), NOTHING);
    assert!(state.message().unwrap().contains("raise it"));
    assert_eq!(at(&mut state, 2, save()), NOTHING);
    at(&mut state, 3, Event::Page(0));
    at(&mut state, 3, MEASURE);
    assert!(state.measuring.is_some(), "page a finds loads by itself");
}

#[test]
fn pages_turn_round_and_the_log_is_bounded_and_safe() {
    let mut state = fresh();
    at(&mut state, 1, Event::Turn { forward: false });
    assert_eq!(state.page().letter, 'g');
    at(&mut state, 1, Event::Turn { forward: true });
    at(&mut state, 1, Event::Page(99));
    assert_eq!(state.page().letter, 'a');
    for _ in 0..LINES + 9 {
        let line = "\u{1b}[2J".to_owned() + &"x".repeat(9_999);
        at(&mut state, 2, Event::Line(Source::Job, line));
    }
    assert_eq!(state.log.len(), LINES);
    let (_, line) = &state.log[0];
    assert!(line.starts_with("\\u{1b}[2Jx") && line.len() < 2 * LONGEST);
    assert_eq!(at(&mut state, 3, Event::Quit), [Effect::Quit]);
}

#[test]
fn another_job_takes_the_place_of_the_one_that_runs_and_reset_undoes_that() {
    let other = || Event::Press(Button::OtherJob);
    let about = About {
        job: "make".to_owned(),
        ..about()
    };
    let mut state = State::new(about, 'a', &Scenario::default());
    let mut names = Vec::new();
    for _ in 0..4 {
        assert_eq!(at(&mut state, 1, other()), NOTHING);
        names.push(state.job_name().to_owned());
    }
    assert_eq!(names, ["burn", "memory", "disk", "make"]);
    at(&mut state, 2, SIDELOAD);
    assert_eq!(at(&mut state, 3, other()), [Effect::StopJob]);
    assert_eq!(state.job_name(), "make", "until it has ended");
    assert_eq!(
        at(&mut state, 4, ended()),
        NOTHING,
        "it waits to be started"
    );
    assert_eq!(state.job_name(), "burn");
    assert_eq!(state.scenario().job, "burn");
    at(&mut state, 5, Event::Reset);
    at(&mut state, 6, ended());
    assert_eq!(state.job_name(), "make");
    // A page with a job of its own keeps it.
    at(&mut state, 7, Event::Page(5));
    assert_eq!(at(&mut state, 8, other()), NOTHING);
    assert_eq!(state.job_name(), "memory");
    assert!(state.message().unwrap().contains("has the job"));
}
