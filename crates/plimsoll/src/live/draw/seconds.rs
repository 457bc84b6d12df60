//! Second by second: rate, latency and CPU use, the latest at the right.

use super::{put, style};
use crate::live::state::{State, Tick};
use plimsoll_model::{Rate, human_duration};
use plimsoll_report::Ink;
use plimsoll_report::chart::bar;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::time::Duration;

/// Columns for the figure at the right.
const FIGURE: u16 = 12;
/// The height of the shortest bar of latencies, which have no nought on a
/// logarithmic scale.
const LEAST: f64 = 0.1;

/// A row of bars: its name, its figure now, and its bars.
struct Row {
    name: &'static str,
    figure: Figure,
    shares: Vec<Option<f64>>,
    ink: Ink,
}

/// The value of the latest second that has one (a warm-up has no latency): a
/// figure that comes and goes cannot be read.
struct Figure {
    text: Option<String>,
    is_old: bool,
}

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let width = area.width.saturating_sub(super::LABEL + FIGURE);
    let skipped = state.seconds.len().saturating_sub(usize::from(width));
    let seconds: Vec<&Tick> = state.seconds.iter().skip(skipped).collect();
    let each = area.height / 3;
    if each == 0 {
        return;
    }
    for (row, top) in rows(&seconds)
        .into_iter()
        .zip((area.y..).step_by(each.into()))
    {
        let part = Rect::new(area.x, top, area.width, each);
        put(buffer, part, 0, row.name, Ink::Bold);
        let ink = if row.figure.is_old {
            Ink::Dim
        } else {
            Ink::Plain
        };
        let figure = row.figure.text.as_deref().unwrap_or("-");
        let figure_at = area.width - figure.chars().count() as u16;
        put(buffer, part, figure_at, figure, ink);
        let left = area.x + super::LABEL;
        for ((share, tick), x) in row.shares.iter().zip(&seconds).zip(left..) {
            // Warm-ups are seen, and seen to be something else.
            let ink = if tick.is_first { Ink::Dim } else { row.ink };
            for (line, y) in (0..each).rev().zip(top..) {
                let symbol = bar(*share, line.into(), each.into(), state.about.charset);
                buffer[(x, y)].set_char(symbol).set_style(style(ink));
            }
        }
    }
}

fn rows(seconds: &[&Tick]) -> [Row; 3] {
    let most = seconds.iter().map(|tick| tick.rate).fold(0.0, f64::max);
    [
        Row {
            name: "rate",
            figure: figure(seconds, |t| Some(Rate::per_second(t.rate)?.to_string())),
            shares: each(seconds, |tick| (most > 0.0).then(|| tick.rate / most)),
            ink: Ink::Green,
        },
        Row {
            name: "p99",
            figure: figure(seconds, |t| t.p99.map(human_duration)),
            shares: logarithms(seconds),
            ink: Ink::Yellow,
        },
        Row {
            name: "CPU",
            figure: figure(seconds, |t| Some(format!("{:.0} %", t.cpu?))),
            shares: each(seconds, |tick| tick.cpu.map(|pct| pct / 100.0)),
            ink: Ink::Cyan,
        },
    ]
}

fn figure(seconds: &[&Tick], of: impl Fn(&Tick) -> Option<String>) -> Figure {
    let text = |(ago, tick): (usize, &&Tick)| Some((ago, of(tick)?));
    let latest = seconds.iter().rev().enumerate().find_map(text);
    Figure {
        is_old: latest.as_ref().is_some_and(|(ago, _)| *ago > 0),
        text: latest.map(|(_, text)| text),
    }
}

fn each(seconds: &[&Tick], share: impl Fn(&Tick) -> Option<f64>) -> Vec<Option<f64>> {
    seconds.iter().map(|tick| share(tick)).collect()
}

/// Latencies between the least and the most of them, by their logarithms.
fn logarithms(seconds: &[&Tick]) -> Vec<Option<f64>> {
    let log = |time: Duration| time.as_secs_f64().max(1e-9).ln();
    let all: Vec<f64> = seconds.iter().filter_map(|t| t.p99.map(log)).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = (most - least).max(f64::MIN_POSITIVE);
    let share = |tick: &Tick| {
        let above = (log(tick.p99?) - least) / span;
        Some(LEAST + (1.0 - LEAST) * above)
    };
    each(seconds, share)
}
