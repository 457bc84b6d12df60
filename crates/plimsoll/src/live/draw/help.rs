//! What the keys do and the signs mean.

use super::strip::Mark;
use super::{put, style};
use crate::live::state::State;
use plimsoll_report::chart::Charset;
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear, Widget};

const KEYS: [(&str, &str); 5] = [
    ("q", "end cleanly: all that was measured is kept"),
    ("Ctrl-C", "the same; a second time ends at once"),
    ("p", "pause after this trial, or resume"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "show or hide this"),
];

const NOTES: &str = "A dot on a chart is a trial, dim if it is invalid. Latency runs from the \
                     intended start of a request. The time left excludes pauses. The CPU time \
                     of this view is in the record (view_cpu_ns).";

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

/// Columns for a key or a sign.
const KEY: u16 = 8;

/// A row: a key or a sign with its colour, and words with theirs.
type Row = (&'static str, Ink, String, Ink);

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let charset = state.about.charset;
    let width = WIDTH.min(area.width);
    let rows = rows(charset, width, area.height.saturating_sub(2));
    let height = (rows.len() as u16 + 2).min(area.height);
    let left = (area.width - width) / 2;
    let top = (area.height - height) / 2;
    let framed = Rect::new(left, top, width, height);
    Clear.render(framed, buffer);
    let block = Block::bordered()
        .title(" Keys and signs ")
        .border_set(charset.pick(border::ROUNDED, ASCII))
        .border_style(style(Ink::Dim));
    block.render(framed, buffer);
    let inner = framed.inner(Margin::new(2, 1));
    for ((key, of_key, words, ink), row) in rows.into_iter().zip(inner.rows()) {
        let from = if ink == Ink::Dim { 0 } else { KEY };
        put(buffer, row, 0, key, of_key);
        put(buffer, row, from, &words, ink);
    }
}

/// What there is room for: all of it, or without the notes, or the keys alone.
fn rows(charset: Charset, width: u16, most: u16) -> Vec<Row> {
    let beside = usize::from(width.saturating_sub(4 + KEY));
    let keys = KEYS.map(|(key, words)| lines(key, Ink::Bold, words, beside));
    let signs = Mark::ALL.map(|mark| lines(mark.symbol(charset), mark.ink(), mark.words(), beside));
    let notes = wrap(NOTES, usize::from(width.saturating_sub(4)));
    let notes: Vec<Row> = notes
        .into_iter()
        .map(|line| ("", Ink::Plain, line, Ink::Dim))
        .collect();
    let gap = || ("", Ink::Plain, String::new(), Ink::Plain);
    let mut rows = keys.concat();
    for part in [signs.concat(), notes] {
        if rows.len() + 1 + part.len() > usize::from(most) {
            break;
        }
        rows.push(gap());
        rows.extend(part);
    }
    rows
}

/// A key or a sign and its words, in as many rows as they need.
fn lines(key: &'static str, of_key: Ink, words: &str, width: usize) -> Vec<Row> {
    let keys = std::iter::once(key).chain(std::iter::repeat(""));
    let lines = wrap(words, width).into_iter().zip(keys);
    lines
        .map(|(line, key)| (key, of_key, line, Ink::Plain))
        .collect()
}
