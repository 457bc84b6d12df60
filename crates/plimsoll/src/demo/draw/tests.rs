//! Whole screens, compared with files to the letter. `BLESS=1` writes the files anew; read the
//! difference before you commit it.

use super::*;
use crate::demo::state::tests::fresh;
use crate::demo::state::{Button, Event, JobWork, Knob, Second, Source};
use crate::paint::snapshot;
use plimsoll_law::SettlePhase;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

const LOOK: Look = Look {
    colour: true,
    charset: Charset::Unicode,
};

/// The file of a screen, which ends in its size, and the state that it shows.
type Snapshot = (&'static str, fn() -> State);

const SCREENS: [Snapshot; 8] = [
    ("fresh-80x24", fresh),
    ("small-40x10", fresh),
    ("narrow-44x14", busy),
    ("busy-80x24", busy),
    ("busy-120x40", busy),
    ("log-80x24", log),
    ("findings-80x24", findings),
    ("measuring-120x40", measuring),
];

fn fold(state: &mut State, seconds: u64, event: Event) {
    state.fold(event, Duration::from_secs(seconds));
}

/// A job beside a load that follows its goal, after a minute.
fn busy() -> State {
    let mut state = fresh();
    fold(&mut state, 1, Event::Page(2));
    fold(&mut state, 1, Event::Set(Knob::Goal, 1.0));
    for second in 1..=60 {
        if second == 30 {
            fold(&mut state, second, Event::Press(Button::Sideload));
        }
        fold(&mut state, second, Event::Second(of(second)));
    }
    state
}

fn of(second: u64) -> Second {
    let along = second as f64 / 60.0;
    Second {
        at: Duration::from_secs(second),
        asked_rps: 1_600.0,
        served_rps: 1_590.4,
        load_pct: 40.0 + 45.0 * along,
        cpu_pct: Some(50.0 + 48.0 * along),
        us: [2.0, 9.0, 30.0].map(|ms| Some(ms * 1_000.0 * (1.0 + along))),
        in_flight: 12,
        phase: Some(SettlePhase::Settling),
        job: (second > 30).then_some(JobWork::Done(9.0 * second as f64)),
        run_delay_pct: Some(3.2),
        pressure_pct: None,
    }
}

fn log() -> State {
    let mut state = busy();
    fold(&mut state, 61, Event::Log);
    for (source, line) in [
        (
            Source::Job,
            "plimsoll: as a sideload by weight, headroom 20 %: a cgroup can have a weight here",
        ),
        (Source::Job, "\u{1b}[2Jhello"),
        (Source::Measurement, "$ plimsoll sweep --quick"),
    ] {
        fold(&mut state, 61, Event::Line(source, line.to_owned()));
    }
    state
}

fn measuring() -> State {
    let mut state = fresh();
    fold(&mut state, 10, Event::Press(Button::Measure));
    let idle = Second {
        at: Duration::from_secs(11),
        ..Second::default()
    };
    fold(&mut state, 11, Event::Second(idle));
    fold(&mut state, 40, Event::Clock);
    state
}

fn findings() -> State {
    let mut state = measuring();
    let lines = (1..=30).map(|n| format!("finding {n} of a page that was measured just now"));
    let found = lines.collect();
    fold(&mut state, 50, Event::Measured { found, wrong: None });
    state
}

fn screen(state: &State, look: Look, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, look, frame)).unwrap();
    snapshot::lines(terminal.backend().buffer())
}

#[test]
fn screens_look_as_they_should() {
    for (name, state) in SCREENS {
        let got = screen(&state(), LOOK, snapshot::size(name));
        snapshot::is_as_in("src/demo/draw/tests", name, &got);
    }
}

#[test]
fn any_size_can_be_drawn_in_any_state() {
    for state in [fresh(), busy(), log(), measuring(), findings()] {
        for width in [1, 2, 20, 39, 40, 41, 47, 75, 76, 77, 90, 121, 500] {
            for height in (1..40).chain([60, 200]) {
                screen(&state, LOOK, (width, height));
            }
        }
    }
}

#[test]
fn small_terminal_shows_a_sentence() {
    let shown = screen(&busy(), LOOK, (20, 10));
    let shown = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert_eq!(
        shown,
        "The terminal is too small for the lab: it needs 40 columns and 12 rows."
    );
}

#[test]
fn ascii_terminal_without_colours_gets_neither() {
    let look = Look {
        colour: false,
        charset: Charset::Ascii,
    };
    let shown = screen(&busy(), look, (80, 24));
    // The page ends its question with the sign that stands for what cannot be shown.
    let signs = shown.matches('?').count();
    assert!(shown.is_ascii() && signs == 1, "{shown}");
}

/// Where a text begins on a screen.
fn find(shown: &str, text: &str) -> (u16, u16) {
    let lines = shown.lines().zip(0..);
    let places = lines.filter_map(|(line, y)| {
        let at = line.find(text)?;
        Some((line[..at].chars().count() as u16, y))
    });
    places.into_iter().next().unwrap()
}

#[test]
fn clicks_are_for_what_is_seen_there() {
    let state = busy();
    for size in [(44, 16), (80, 24), (120, 40), (200, 60)] {
        let shown = screen(&state, LOOK, size);
        let area = Rect::new(0, 0, size.0, size.1);
        let click = |text, right| {
            let (x, y) = find(&shown, text);
            hit(&state, area, (x + right, y))
        };
        assert_eq!(click("[J sysload]", 3), Some(Event::Press(Button::Sysload)));
        assert_eq!(click("[x] p95", 0), Some(Event::Set(Knob::Goal, 0.0)));
        let (x, y) = find(&shown, "  headroom ━");
        assert_eq!(hit(&state, area, (x, y)), None);
        let first = hit(&state, area, (11, y));
        assert_eq!(first, Some(Event::Set(Knob::Headroom, 0.0)));
        assert_eq!(click("[c]", 1), Some(Event::Page(2)));
        assert_eq!(click("[c]", 4), Some(Event::Page(3)));
        assert_eq!(hit(&state, area, (0, size.1 - 1)), None);
    }
    let shown = screen(&state, LOOK, (80, 24));
    let (x, y) = find(&shown, "[m measure]");
    let measure = hit(&state, Rect::new(0, 0, 80, 24), (x, y));
    assert_eq!(measure, Some(Event::Press(Button::Measure)));
}
