//! The page: its question, its text or its findings, and its buttons.

use super::Look;
use super::layout::in_rows;
use crate::demo::state::{Button, State};
use crate::demo::words;
use crate::paint::put;
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn draw(state: &State, look: Look, area: Rect, buffer: &mut Buffer) {
    let mut rows = area.rows();
    for line in question(state, area.width) {
        if let Some(row) = rows.next() {
            put(buffer, row, 0, &line, Ink::Bold);
        }
    }
    let place = below_question(state, area);
    if let Some(findings) = state.findings() {
        draw_findings(state, findings, look, place, buffer);
        return;
    }
    let room = place.height.saturating_sub(button_rows(state, place) + 1);
    let lines = lines(state, place.width, room);
    let cut = lines.len() > usize::from(room);
    for (line, row) in lines.iter().zip(place.rows().take(room.into())) {
        put(buffer, row, 0, line, Ink::Plain);
    }
    if cut && room > 0 {
        let last = Rect::new(place.x, place.y + room - 1, place.width, 1);
        let end = look.charset.pick("…", "~");
        put(buffer, last, place.width - 1, end, Ink::Dim);
    }
    for (place, _, label) in buttons(state, area) {
        put(buffer, place, 0, &label, Ink::Cyan);
    }
}

fn draw_findings(state: &State, findings: &[String], look: Look, area: Rect, buffer: &mut Buffer) {
    let cut = look.charset.pick("…", "~");
    let shown = findings.iter().skip(state.scrolled);
    let room = usize::from(area.height.saturating_sub(1));
    for (line, row) in shown.zip(area.rows().take(room)) {
        put(buffer, row, 0, line, Ink::Plain);
        if line.chars().count() > usize::from(row.width) {
            put(buffer, row, row.width - 1, cut, Ink::Dim);
        }
    }
    if let Some(last) = area.rows().next_back() {
        let first = state.scrolled + 1;
        let to = (state.scrolled + room).min(findings.len());
        let of = findings.len();
        let text = format!("{first} to {to} of {of}  [ and ] scroll  Esc text");
        put(buffer, last, 0, &text, Ink::Dim);
    }
}

fn question(state: &State, width: u16) -> Vec<String> {
    let page = state.page();
    wrap(&format!("{}  {}", page.letter, page.question), width.into())
}

fn below_question(state: &State, area: Rect) -> Rect {
    let taken = question(state, area.width).len() as u16;
    // A blank line where there is room.
    let taken = (taken + u16::from(area.height > 8)).min(area.height);
    Rect::new(area.x, area.y + taken, area.width, area.height - taken)
}

/// What a measurement does, and the paragraphs: with blank lines between them if all of it fits into
/// `room`.
fn lines(state: &State, width: u16, room: u16) -> Vec<String> {
    let mut parts: Vec<Vec<String>> = Vec::new();
    if let Some(what) = words::measuring(state, "; l shows how far, Esc stops it") {
        parts.push(wrap(&what, width.into()));
    }
    let texts = state.page().text.iter();
    parts.extend(texts.map(|text| wrap(text, width.into())));
    let spaced = parts.join(&String::new());
    match spaced.len() <= usize::from(room) {
        true => spaced,
        false => parts.concat(),
    }
}

fn labels(state: &State) -> impl Iterator<Item = (Button, String)> {
    state.page().buttons.iter().map(|&button| {
        let key = match button {
            Button::Sideload => 'j',
            Button::Sysload => 'J',
            Button::OtherJob => 'c',
            Button::Measure => 'm',
            Button::Save => 's',
        };
        (button, format!("{key} {}", words::button(state, button)))
    })
}

fn button_rows(state: &State, area: Rect) -> u16 {
    let placed = in_rows(area, labels(state));
    placed.last().map_or(0, |(place, ..)| place.y - area.y + 1)
}

/// Below the text, with a blank line between.
pub(super) fn buttons(state: &State, area: Rect) -> Vec<(Rect, Button, String)> {
    let place = below_question(state, area);
    let rows = button_rows(state, place);
    if state.findings().is_some() || place.height < rows + 1 {
        return Vec::new();
    }
    let text = lines(state, place.width, place.height - rows - 1).len() as u16;
    let from = (text + 1).min(place.height - rows);
    let place = Rect::new(place.x, place.y + from, place.width, rows);
    in_rows(place, labels(state))
}
