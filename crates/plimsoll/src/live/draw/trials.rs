//! The trial under way and those that have ended, in words.

use super::{LABEL, put};
use crate::live::reasons;
use crate::live::state::State;
use plimsoll_engine::Ended;
use plimsoll_model::human_minutes;
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const INVALID: &str = "invalid: ";

type Line = (String, Ink);

/// What is now, in as many rows as it needs, and below it what came last: the
/// latest first.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width.saturating_sub(LABEL)).max(1);
    let rows: Vec<Rect> = area.rows().collect();
    let mut rows = rows.into_iter();
    // What came last keeps a third, and its place while nothing is under way.
    let most = usize::from(area.height) * 2 / 3;
    let now = now(state).map(|(text, ink)| lines(&text, width, most.max(1), ink));
    let now = now.unwrap_or_else(|| vec![(String::new(), Ink::Plain)]);
    let label = if now[0].0.is_empty() { "" } else { "now" };
    write(buffer, &mut rows, label, now);
    let mut latest = state.done.iter().rev();
    if let Some(last) = latest.next() {
        let shown = ended(last, width, rows.len(), Ink::Plain);
        write(buffer, &mut rows, "last", shown);
    }
    for before in latest {
        let shown = ended(before, width, usize::MAX, Ink::Dim);
        // A trial of which there is only a part would say too little.
        if shown.len() > rows.len() {
            break;
        }
        write(buffer, &mut rows, "", shown);
    }
}

fn write(
    buffer: &mut Buffer,
    rows: &mut impl Iterator<Item = Rect>,
    label: &str,
    lines: Vec<Line>,
) {
    for (at, (text, ink)) in lines.into_iter().enumerate() {
        let Some(row) = rows.next() else { return };
        if at == 0 {
            put(buffer, row, 0, label, Ink::Bold);
        }
        put(buffer, row, LABEL, &text, ink);
    }
}

/// The trial under way, or why there is none.
fn now(state: &State) -> Option<Line> {
    if let Some(since) = state.paused_since {
        let held = human_minutes(state.clock.saturating_sub(since));
        let text = format!("paused for {held}, which is not measured; p resumes");
        return Some((text, Ink::Yellow));
    }
    let now = state.now.as_ref()?;
    let trial = &now.trial;
    let step = match (trial.offers_load, now.warm_since) {
        (true, None) => "warming up".to_owned(),
        (true, Some(since)) => {
            let measured = state.clock.saturating_sub(since);
            if measured > trial.window {
                "waiting for the last answers".to_owned()
            } else {
                format!(
                    "measuring, {} s of {:.1} s",
                    measured.as_secs(),
                    trial.window.as_secs_f64()
                )
            }
        }
        _ => format!(
            "for {}",
            human_minutes(state.clock.saturating_sub(now.began))
        ),
    };
    let pause = if state.pause_asked {
        "; then pause"
    } else {
        ""
    };
    Some((format!("{}: {step}{pause}", trial.what), Ink::Plain))
}

/// A trial that has ended: what was measured, and why it is invalid. In
/// little room the reason comes first, because it asks for something.
fn ended(trial: &Ended, width: usize, most: usize, ink: Ink) -> Vec<Line> {
    let measured = match trial.measured.as_str() {
        "" => trial.what.clone(),
        measured => format!("{}: {measured}", trial.what),
    };
    if trial.is_valid() {
        return lines(&measured, width, most, ink);
    }
    let beside = measured.chars().count() + INVALID.len() + " · ".chars().count();
    let reason = |room| INVALID.to_owned() + &reasons::in_short(&trial.invalid, room);
    let whole = format!("{measured} · {}", reason(usize::MAX));
    if beside < width && whole.chars().count() <= width {
        return vec![(whole, Ink::Red)];
    }
    let reason = reason(width.saturating_sub(INVALID.len()));
    let reason = lines(&reason, width, most, Ink::Red);
    let room = most.saturating_sub(reason.len());
    let mut shown = lines(&measured, width, room, ink);
    shown.extend(reason);
    shown
}

/// Text in no more than so many rows.
fn lines(text: &str, width: usize, most: usize, ink: Ink) -> Vec<Line> {
    let rows = wrap(text, width).into_iter().take(most);
    rows.map(|row| (row, ink)).collect()
}
