//! What the keys do and the signs mean.

use super::strip::Mark;
use super::{put, style};
use crate::live::state::State;
use plimsoll_report::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear, Widget};

const KEYS: [(&str, &str); 5] = [
    ("q", "end cleanly: all that was measured is kept"),
    ("Ctrl-C", "the same; a second time ends at once"),
    ("p", "pause after this trial, and go on again"),
    ("Ctrl-L", "draw the screen anew"),
    ("?", "show or hide this"),
];

const NOTES: [&str; 4] = [
    "A dot on a chart is a trial, dim if it does not count.",
    "Latency runs from the intended start of a request. A",
    "pause is no part of the promised time. What drawing",
    "costs is in the record (view_cpu_ns).",
];

const WIDTH: u16 = 58;

const ASCII: border::Set<'_> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let lines = KEYS.len() + 1 + Mark::ALL.len() + 1 + NOTES.len();
    let width = WIDTH.min(area.width);
    let height = (lines as u16 + 2).min(area.height);
    let left = (area.width - width) / 2;
    let top = (area.height - height) / 2;
    let framed = Rect::new(left, top, width, height);
    Clear.render(framed, buffer);
    let charset = state.about.charset;
    let block = Block::bordered()
        .title(" Keys and signs ")
        .border_set(charset.pick(border::ROUNDED, ASCII))
        .border_style(style(Ink::Dim));
    block.render(framed, buffer);
    let mut rows = framed.inner(Margin::new(2, 1)).rows();
    for (key, what) in KEYS {
        let Some(row) = rows.next() else { return };
        put(buffer, row, 0, key, Ink::Bold);
        put(buffer, row, 8, what, Ink::Plain);
    }
    rows.next();
    for mark in Mark::ALL {
        let Some(row) = rows.next() else { return };
        put(buffer, row, 0, mark.symbol(charset), mark.ink());
        put(buffer, row, 8, mark.words(), Ink::Plain);
    }
    rows.next();
    for (row, note) in rows.zip(NOTES) {
        put(buffer, row, 0, note, Ink::Dim);
    }
}
