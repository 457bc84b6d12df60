//! The lab on a terminal as a pure function of its state.

mod charts;
mod controls;
mod figures;
mod layout;
mod log;
mod page;

use super::pages::PAGES;
use super::state::State;
use crate::paint::{put, reduce, within};
pub(crate) use layout::{Layout, hit};
use plimsoll_report::chart::Charset;
use plimsoll_report::{Ink, wrap};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What the terminal can show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    pub(crate) charset: Charset,
}

const KEYS: &str = "Tab/arrows sliders   j J c job   m measure   n p page   f findings   l log   r reset   s save   q quit";
const KEYS_SHORT: &str =
    "arrows sliders  j/J/c job  m measure  n/p page  l log  r reset  s save  q quit";
const KEYS_SHORTEST: &str = "arrows  j/J job  m measure  n/p  q quit";

pub(crate) fn draw(state: &State, look: Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    match Layout::of(area) {
        Some(layout) => whole(state, look, &layout, buffer),
        None => too_small(area, buffer),
    }
    reduce(buffer, look.colour, look.charset);
}

fn whole(state: &State, look: Look, layout: &Layout, buffer: &mut Buffer) {
    header(state, look, layout.header, buffer);
    if state.shows_log {
        log::draw(state, layout.log(), buffer);
    } else {
        charts::draw(state, look, layout.charts, buffer);
    }
    if !state.shows_log || !layout.is_narrow() {
        page::draw(state, look, layout.page, buffer);
        figures::draw(state, look, layout.figures, buffer);
    }
    controls::draw(state, look, layout, buffer);
    let keys = [KEYS, KEYS_SHORT, KEYS_SHORTEST];
    let fits = |keys: &&str| keys.len() <= usize::from(layout.keys.width);
    let keys = keys.into_iter().find(fits).unwrap_or(KEYS_SHORTEST);
    put(buffer, layout.keys, 0, keys, Ink::Dim);
}

/// The pages at the right, and what the service carries between the name and them.
fn header(state: &State, look: Look, area: Rect, buffer: &mut Buffer) {
    const NAME: &str = "plimsoll demo";
    put(buffer, area, 0, NAME, Ink::Bold);
    let first = area.width.saturating_sub(3 * PAGES.len() as u16);
    for (page, at) in PAGES.iter().zip((first..).step_by(3)) {
        let is_open = page.letter == state.page().letter;
        let (text, ink) = match is_open {
            true => (format!("[{}]", page.letter), Ink::Bold),
            false => (format!(" {} ", page.letter), Ink::Dim),
        };
        put(buffer, area, at, &text, ink);
    }
    let from = NAME.len() as u16 + 2;
    let room = first.saturating_sub(from + 1);
    let rating = within(&state.about.rating, room, look.charset.pick("…", "~"));
    put(buffer, area, from, &rating, Ink::Dim);
}

fn too_small(area: Rect, buffer: &mut Buffer) {
    let text = format!(
        "The terminal is too small for the lab: it needs {} columns and {} rows.",
        layout::LEAST_WIDTH,
        layout::LEAST_HEIGHT
    );
    for (line, row) in wrap(&text, area.width.into()).iter().zip(area.rows()) {
        put(buffer, row, 0, line, Ink::Plain);
    }
}

#[cfg(test)]
mod tests;
