//! The view as a pure function of its state.

mod charts;
mod coming;
mod help;
mod seconds;
mod strip;
mod trials;

use super::state::{Group, State};
use crate::paint::{put, reduce, style, within};
use plimsoll_model::human_minutes;
use plimsoll_report::{Ink, wrap};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// In less than this the charts say nothing.
const LEAST_WIDTH: u16 = 60;
/// The same, downwards.
const LEAST_HEIGHT: u16 = 20;
const HIGHEST_CHART: u16 = 26;
/// From this height on there is room for trials before the last.
const ROOM_FOR_MORE: u16 = 40;
/// What stands before a line: `now`, `last`.
const LABEL: u16 = 6;
/// Rows for the current trial, the last one, and why it is invalid.
const TRIALS: u16 = 3;
/// Columns for our own name.
const NAME: u16 = 10;
/// A name of what is under test says nothing in less.
const LEAST_TITLE: u16 = 12;

pub(crate) fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT {
        essentials(state, area, buffer);
    } else {
        whole(state, area, buffer);
    }
    if state.shows_help {
        help::draw(state, area, buffer);
    }
    reduce(buffer, state.about.colour, state.about.charset);
}

fn whole(state: &State, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (area.width, area.height);
    let mut rows = Rows { area, next: 0 };
    header(state, rows.take(1), buffer);
    let strip = strip::rows(state, width, by(height, 1, 2, 3));
    strip::draw(state, rows.take(strip), buffer);
    rows.take(1);
    remark(state, &mut rows, buffer);
    let spark = match state.about.charts.x_is_count {
        true => 0,
        false => by(height, 1, 1, 2),
    };
    // Seconds, a gap above them, what is now and was last, and the keys.
    let below = 3 * spark + 1 + TRIALS + 1 + u16::from(height >= 24);
    let charts = height.saturating_sub(rows.next + below).min(HIGHEST_CHART);
    charts::draw(state, rows.take(charts), buffer);
    rows.take(u16::from(spark > 0));
    seconds::draw(state, rows.take(3 * spark), buffer);
    if height >= 24 {
        rows.take(1);
    }
    let more = height.saturating_sub(rows.next + 1);
    let lines = if height >= ROOM_FOR_MORE {
        more
    } else {
        TRIALS
    };
    trials::draw(state, rows.take(lines), buffer);
    keys(state, Rect::new(0, height - 1, width, 1), buffer);
}

/// Why this run may find nothing, in as many rows as it needs.
fn remark(state: &State, rows: &mut Rows, buffer: &mut Buffer) {
    let Some(remark) = &state.remark else { return };
    for line in wrap(remark, usize::from(rows.area.width)) {
        put(buffer, rows.take(1), 0, &line, Ink::Yellow);
    }
    rows.take(1);
}

/// For a small window: how long still, what goes on, and what came last.
fn essentials(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut rows = Rows { area, next: 0 };
    header(state, rows.take(1), buffer);
    let keys_at = area.height.saturating_sub(1).max(rows.next);
    let room = keys_at.saturating_sub(rows.next);
    let strip = strip::rows(state, area.width, (room / 3).max(1));
    strip::draw(state, rows.take(strip.min(room)), buffer);
    trials::draw(state, rows.take(room.saturating_sub(strip)), buffer);
    if area.height > 4 {
        keys(state, Rect::new(0, keys_at, area.width, 1), buffer);
    }
}

/// Rows from the top, handed out one after another.
struct Rows {
    area: Rect,
    next: u16,
}

impl Rows {
    fn take(&mut self, rows: u16) -> Rect {
        let rows = rows.min(self.area.height.saturating_sub(self.next));
        let taken = Rect::new(0, self.next, self.area.width, rows);
        self.next += rows;
        taken
    }
}

/// One of three, by how high the window is.
fn by(height: u16, low: u16, middle: u16, high: u16) -> u16 {
    match height {
        0..24 => low,
        24..40 => middle,
        _ => high,
    }
}

/// Whose run this is on the left, and its time on the right.
fn header(state: &State, area: Rect, buffer: &mut Buffer) {
    let time = match (state.paused_since, state.left()) {
        _ if state.is_ending => "ending".to_owned(),
        (Some(_), Some(left)) => format!("paused, {} left", human_minutes(left)),
        (None, Some(left)) => {
            let gone = human_minutes(state.gone());
            let about = if is_searching(state) {
                "at most"
            } else {
                "about"
            };
            format!("{gone} gone, {about} {} left", human_minutes(left))
        }
        (_, None) => "starting".to_owned(),
    };
    let time_width = time.chars().count() as u16;
    let room = area.width.saturating_sub(time_width + 2);
    if room >= NAME {
        put(buffer, area, 0, "plimsoll", Ink::Bold);
    }
    let title = Rect::new(area.x, area.y, room, area.height);
    if room >= NAME + LEAST_TITLE {
        let cut = state.about.charset.pick("…", "~");
        let workload = within(&state.about.workload, room - NAME, cut);
        put(buffer, title, NAME, &workload, Ink::Plain);
    }
    let ink = if state.is_ending || state.paused_since.is_some() {
        Ink::Yellow
    } else {
        Ink::Bold
    };
    put(
        buffer,
        area,
        area.width.saturating_sub(time_width),
        &time,
        ink,
    );
}

/// Whether the run ends as soon as it knows enough, its time being a bound.
fn is_searching(state: &State) -> bool {
    let group = state
        .group_now()
        .or(state.done.last().map(|done| Group::of(done.phase)));
    matches!(group, Some(Group::Search | Group::Confirmation))
}

fn keys(state: &State, area: Rect, buffer: &mut Buffer) {
    let pause = match (state.pause_asked, area.width < LEAST_WIDTH) {
        (true, _) => "resume",
        (false, true) => "pause",
        (false, false) => "pause after this trial",
    };
    let mut from = 0;
    for (key, what) in [("q", "end"), ("p", pause), ("?", "help")] {
        put(buffer, area, from, key, Ink::Bold);
        put(buffer, area, from + 2, what, Ink::Dim);
        from += 5 + what.chars().count() as u16;
    }
    let record = &state.about.record;
    let width = record.chars().count() as u16;
    if from + width <= area.width {
        put(buffer, area, area.width - width, record, Ink::Dim);
    }
}

#[cfg(test)]
pub(super) mod tests;
