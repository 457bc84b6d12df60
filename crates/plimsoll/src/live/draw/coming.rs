//! What the run is going to do, as long as there is nothing to draw.

use super::put;
use super::strip::Mark;
use crate::live::state::{Group, State};
use plimsoll_experiments::Stage;
use plimsoll_model::human_minutes;
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns for the mark and the name of a part.
const NAMES: u16 = 14;

const NOTES: [&str; 2] = [
    "A disturbed trial is invalid, and is repeated if time is left.",
    "Charts start with the first trial under load; the findings come at the end.",
];

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let rows: Vec<Rect> = area.rows().collect();
    let mut rows = rows.into_iter();
    let head = match state.left() {
        Some(left) => format!("Plan, about {} in all", human_minutes(state.gone() + left)),
        None => "Plan".to_owned(),
    };
    if let Some(row) = rows.next() {
        put(buffer, row, 0, &head, Ink::Bold);
    }
    for stage in &state.about.stages {
        let mark = mark(state, stage);
        let words = wrap(&stage.words, usize::from(area.width.saturating_sub(NAMES)));
        for (at, (words, row)) in words.iter().zip(rows.by_ref()).enumerate() {
            if at == 0 {
                put(buffer, row, 0, mark.symbol(state.about.charset), mark.ink());
                put(buffer, row, 2, Group::of(stage.phase).name(), Ink::Plain);
            }
            let ink = if mark == Mark::Now {
                Ink::Plain
            } else {
                Ink::Dim
            };
            put(buffer, row, NAMES, words, ink);
        }
    }
    rows.next();
    for note in NOTES {
        let lines = wrap(note, usize::from(area.width));
        // Half a sentence is none.
        if lines.len() > rows.len() {
            return;
        }
        for (line, row) in lines.iter().zip(rows.by_ref()) {
            put(buffer, row, 0, line, Ink::Dim);
        }
    }
}

fn mark(state: &State, stage: &Stage) -> Mark {
    let group = Group::of(stage.phase);
    if state.group_now() == Some(group) {
        return Mark::Now;
    }
    // One valid trial is enough.
    let valid = state.done_in(group).find(|done| done.is_valid());
    let any = valid.or_else(|| state.done_in(group).next());
    any.map_or(Mark::ToCome, Mark::of)
}
