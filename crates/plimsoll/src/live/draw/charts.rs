//! The charts as they grow: a dot per trial, dim where it does not count.

use super::style;
use crate::live::done::{Done, Group};
use crate::live::state::State;
use plimsoll_model::Setting;
use plimsoll_report::Ink;
use plimsoll_report::chart::{
    At, Axis, Chart, Line, Mark, Scale, Series, tick, time_tick, whole_tick,
};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns between the two.
const GAP: u16 = 3;

/// A line of a chart: its name, its colour, its letter.
type Name = (&'static str, Ink, char);

const LATENCIES: [Name; 3] = [
    ("p50", Ink::Cyan, 'o'),
    ("p99", Ink::Yellow, '*'),
    ("p99.9", Ink::Magenta, '+'),
];
const NOT_COUNTED: Name = ("", Ink::Dim, 'x');
const COPIES: [Name; 2] = [("mean", Ink::Cyan, 'o'), ("slowest", Ink::Yellow, '*')];

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let each = area.width.saturating_sub(GAP) / 2;
    let shown = shown(state);
    if shown.is_empty() {
        super::coming::draw(state, area, buffer);
        return;
    }
    let charts = [times(state, &shown), cpu(state, &shown)];
    for (chart, left) in charts.into_iter().zip([0, each + GAP]) {
        let Some(chart) = chart else { continue };
        let width = usize::from(each);
        let picture = chart.draw(width, usize::from(area.height), state.about.charset);
        for (row, y) in picture.rows().iter().zip(area.y..) {
            for (cell, x) in row.iter().zip(area.x + left..) {
                if cell.symbol != ' ' {
                    buffer[(x, y)]
                        .set_char(cell.symbol)
                        .set_style(style(cell.ink));
                }
            }
        }
    }
}

/// The trials to show: those under load, and once there are levels only those
/// that show the service as it is: not those that sought the rated rate far
/// beyond them, nor those on a part of its threads.
fn shown(state: &State) -> Vec<&Done> {
    let of_levels = |done: &&Done| !matches!(done.group, Group::Calibration | Group::Threads);
    let all: Vec<&Done> = state
        .done
        .iter()
        .filter(|done| done.load.is_some())
        .collect();
    let levels: Vec<&Done> = all.iter().copied().filter(of_levels).collect();
    if levels.is_empty() { all } else { levels }
}

fn times(state: &State, shown: &[&Done]) -> Option<Chart> {
    let names: &[Name] = if state.about.is_copies {
        &COPIES
    } else {
        &LATENCIES
    };
    let of = |which: usize| move |done: &Done| done.times_us.get(which).copied();
    // Of those that do not count, the one that is a promise most often.
    let mut series = vec![dots(NOT_COUNTED, shown, false, of(1))];
    let lines = names.iter().enumerate();
    series.extend(lines.map(|(which, name)| dots(*name, shown, true, of(which))));
    let limit = state.about.limit_us.clone();
    let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let y = Scale::around(values.chain(limit.iter().map(|(us, _)| *us)))?;
    let mut marks: Vec<Mark> = now(state).into_iter().collect();
    marks.extend(limit.map(|(us, name)| Mark {
        name,
        ink: Ink::Green,
        at: At::Y(us),
    }));
    let title = if state.about.is_copies {
        "Time (log) of a copy by copies"
    } else {
        "Latency (log) by offered/s"
    };
    Some(Chart {
        title: title.to_owned(),
        x: load(state, shown),
        y: Axis {
            label: not_counted(state, shown),
            scale: y,
            show: time_tick,
        },
        series,
        marks,
    })
}

fn cpu(state: &State, shown: &[&Done]) -> Option<Chart> {
    let of = |done: &Done| done.cpu_pct;
    let series = vec![
        dots(NOT_COUNTED, shown, false, of),
        dots(("CPU", Ink::Cyan, '*'), shown, true, of),
    ];
    let is_known = series.iter().any(|series| !series.points.is_empty());
    is_known.then(|| Chart {
        title: if state.about.is_copies {
            "CPU use (%) by copies".to_owned()
        } else {
            "CPU use (%) by offered/s".to_owned()
        },
        x: load(state, shown),
        y: Axis {
            label: String::new(),
            scale: Scale::from_zero([100.0].into_iter()),
            show: tick,
        },
        series,
        marks: now(state).into_iter().collect(),
    })
}

/// What a dot is that has no name, where there is one.
fn not_counted(state: &State, shown: &[&Done]) -> String {
    if shown.iter().all(|done| done.is_valid()) {
        return String::new();
    }
    let dot = state.about.charset.pick("dim", "x");
    format!("{dot}: does not count")
}

fn load(state: &State, shown: &[&Done]) -> Axis {
    let now = now(state).map(|mark| match mark.at {
        At::X(at) | At::Y(at) => at,
    });
    Axis {
        label: String::new(),
        scale: Scale::from_zero(shown.iter().filter_map(|done| done.load).chain(now)),
        show: if state.about.is_copies {
            whole_tick
        } else {
            tick
        },
    }
}

/// Where the trial is that is under way.
fn now(state: &State) -> Option<Mark> {
    let at = match state.now.as_ref()?.setting {
        Setting::Idle => return None,
        Setting::Offer { rate } | Setting::Beside { rate, .. } => rate.get(),
        Setting::Copies { copies } => f64::from(copies),
    };
    Some(Mark {
        name: "now".to_owned(),
        ink: Ink::Dim,
        at: At::X(at),
    })
}

/// A dot for each trial that counts, or that does not.
fn dots(
    (name, ink, glyph): Name,
    shown: &[&Done],
    is_valid: bool,
    of: impl Fn(&Done) -> Option<f64>,
) -> Series {
    let of_them = shown.iter().filter(|done| done.is_valid() == is_valid);
    let point = |done: &&Done| Some((done.load?, of(done)?));
    let mut points: Vec<(f64, f64)> = of_them.filter_map(point).collect();
    // The name stands at the highest load.
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Series {
        name: name.to_owned(),
        ink,
        glyph,
        line: Line::None,
        points,
    }
}
