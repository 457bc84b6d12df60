//! The view as a pure function of its state.

mod charts;
mod help;
mod seconds;
mod strip;

use super::state::State;
use crate::progress::minutes;
use plimsoll_model::Setting;
use plimsoll_report::Ink;
use plimsoll_report::chart::Charset;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// In less than this the charts say nothing.
const LEAST_WIDTH: u16 = 60;
/// The same, downwards.
const LEAST_HEIGHT: u16 = 20;
/// Higher charts show no more.
const HIGHEST_CHART: u16 = 26;
/// From this height on there is room for trials before the last.
const ROOM_FOR_MORE: u16 = 40;
/// What stands before a line: `now`, `last`.
const LABEL: u16 = 6;

/// Draws all of it.
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
    for cell in &mut buffer.content {
        if !state.about.colour {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
        if state.about.charset == Charset::Ascii && !cell.symbol().is_ascii() {
            cell.set_symbol(if cell.symbol() == "·" { "-" } else { "?" });
        }
    }
}

fn whole(state: &State, area: Rect, buffer: &mut Buffer) {
    let (width, height) = (area.width, area.height);
    let mut rows = Rows { area, next: 0 };
    header(state, rows.take(1), buffer);
    let strip = strip::rows(state, width, by(height, 1, 2, 3));
    strip::draw(state, rows.take(strip), buffer);
    rows.take(1);
    // Copies are commands, of which nothing is heard until they end.
    let spark = if charts::is_copies(state) {
        0
    } else {
        by(height, 1, 1, 2)
    };
    // Seconds, a gap above them, what is now and was last, and the keys.
    let below = 3 * spark + 1 + 2 + 1 + u16::from(height >= 24);
    let charts = height.saturating_sub(rows.next + below).min(HIGHEST_CHART);
    charts::draw(state, rows.take(charts), buffer);
    rows.take(u16::from(spark > 0));
    seconds::draw(state, rows.take(3 * spark), buffer);
    if height >= 24 {
        rows.take(1);
    }
    now(state, rows.take(1), buffer);
    let more = height.saturating_sub(rows.next + 1);
    let lines = if height >= ROOM_FOR_MORE { more } else { 1 };
    last(state, rows.take(lines), buffer);
    keys(state, Rect::new(0, height - 1, width, 1), buffer);
}

/// For a small window: what goes on, how long still, and what came last.
fn essentials(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut rows = Rows { area, next: 0 };
    header(state, rows.take(1), buffer);
    now(state, rows.take(1), buffer);
    last(state, rows.take(1), buffer);
    strip::draw(
        state,
        rows.take(area.height.saturating_sub(5).min(3)),
        buffer,
    );
    if area.height > 4 {
        keys(state, Rect::new(0, area.height - 1, area.width, 1), buffer);
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
    let time = match (state.held_since, state.left()) {
        _ if state.is_ending => "ending".to_owned(),
        (Some(_), Some(left)) => format!("paused, {} left", minutes(left)),
        (None, Some(left)) => {
            let gone = minutes(state.gone());
            format!("{gone} gone, about {} left", minutes(left))
        }
        (_, None) => "starting".to_owned(),
    };
    let time_width = time.chars().count() as u16;
    let room = area.width.saturating_sub(time_width + 2);
    put(buffer, area, 0, "plimsoll", Ink::Bold);
    let title = Rect::new(area.x, area.y, room, area.height);
    put(buffer, title, 10, &state.about.workload, Ink::Plain);
    let ink = if state.is_ending || state.held_since.is_some() {
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

/// The trial under way, or why there is none.
fn now(state: &State, area: Rect, buffer: &mut Buffer) {
    if let Some(since) = state.held_since {
        let held = minutes(state.clock.saturating_sub(since));
        let text = format!("paused for {held}, which does not count; p goes on");
        put(buffer, area, 0, "now", Ink::Bold);
        put(buffer, area, LABEL, &text, Ink::Yellow);
        return;
    }
    let Some(trial) = &state.now else { return };
    let step = match (trial.setting, trial.warm_since) {
        (Setting::Offer { .. }, None) => "warming up".to_owned(),
        (Setting::Offer { .. }, Some(since)) => {
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
        _ => format!("for {}", minutes(state.clock.saturating_sub(trial.began))),
    };
    let pause = if state.pause_asked {
        "; then pause"
    } else {
        ""
    };
    let text = format!("{}: {step}{pause}", trial.words);
    put(buffer, area, 0, "now", Ink::Bold);
    put(buffer, area, LABEL, &text, Ink::Plain);
}

/// The last trials and what came of them, the latest first.
fn last(state: &State, area: Rect, buffer: &mut Buffer) {
    let latest = state.done.iter().rev().take(usize::from(area.height));
    for (row, trial) in area.rows().zip(latest) {
        let ink = match (trial.is_valid, row.y == area.y) {
            (false, _) => Ink::Red,
            (true, true) => Ink::Plain,
            (true, false) => Ink::Dim,
        };
        if row.y == area.y {
            put(buffer, row, 0, "last", Ink::Bold);
        }
        let text = format!("{}: {}", trial.what, trial.outcome);
        put(buffer, row, LABEL, &text, ink);
    }
}

fn keys(state: &State, area: Rect, buffer: &mut Buffer) {
    let pause = if state.pause_asked {
        "go on"
    } else {
        "pause after this trial"
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

/// Writes into the first row of an area, from a column to its end.
fn put(buffer: &mut Buffer, area: Rect, from: u16, text: &str, ink: Ink) {
    if area.height == 0 || from >= area.width {
        return;
    }
    let room = usize::from(area.width - from);
    buffer.set_stringn(area.x + from, area.y, text, room, style(ink));
}

fn style(ink: Ink) -> Style {
    let plain = Style::new();
    match ink {
        Ink::Plain => plain,
        Ink::Bold => plain.add_modifier(Modifier::BOLD),
        Ink::Dim => plain.add_modifier(Modifier::DIM),
        Ink::Red => plain.fg(Color::Red),
        Ink::Green => plain.fg(Color::Green),
        Ink::Yellow => plain.fg(Color::Yellow),
        Ink::Cyan => plain.fg(Color::Cyan),
        Ink::Magenta => plain.fg(Color::Magenta),
    }
}

#[cfg(test)]
mod tests;
