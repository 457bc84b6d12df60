//! One panel: its axes, and what is drawn between them.

use super::draw::{
    Drawing, Size, band, class, line, load_mark, path, picked, point, rect, text, toned,
};
use super::frame::Cell;
use super::label;
use super::layout::{Area, BOLD, FONT, along, fitting, thinned, width_of};
use crate::chart::{
    At, Axis, Bar, Datum, Line, Mark, MarkKind, Ranges, Ring, RowStyle, Series, Shape, Tone,
};
use crate::markup::{El, el};

/// Draws a panel. Areas lie under lines, lines under points, and names stand
/// where the rest leaves room.
pub(super) fn draw(chart: &mut Drawing, cell: &Cell<'_>) {
    chart.taken.clear();
    chart.crossed.clear();
    let panel = cell.panel;
    x_axis(chart, cell);
    match panel.y.rows.is_empty() {
        true => y_axis(chart, cell),
        false => rows(chart, cell),
    }
    let of = |ranges| panel.series.iter().filter(move |s| s.ranges == ranges);
    panel.marks.iter().for_each(|mark| area(chart, cell, mark));
    panel.bars.iter().for_each(|bar| bar_of(chart, cell, bar));
    panel
        .marks
        .iter()
        .for_each(|mark| mark_line(chart, cell, mark));
    of(Ranges::Band).for_each(|series| ranges_band(chart, cell, series));
    panel
        .series
        .iter()
        .for_each(|series| joined(chart, cell, series));
    of(Ranges::Bars).for_each(|series| range_bars(chart, cell, series));
    panel
        .series
        .iter()
        .for_each(|series| points(chart, cell, series));
    panel.rings.iter().for_each(|mark| ring(chart, cell, mark));
    titles(chart, cell);
    label::all(chart, cell);
    letters(chart, cell);
}

/// About how many ticks have room on a stretch of the x axis.
fn tick_count(plot: &Area) -> usize {
    (((plot.right - plot.left) / 68.0) as usize).clamp(3, 10)
}

/// Ticks and their names below, what it is and its unit under them.
fn x_axis(chart: &mut Drawing, cell: &Cell<'_>) {
    let [left, right, top, bottom] = cell.plot.edges();
    let edge = chart.width - 1.0;
    let ticks = cell.panel.x.ticks(tick_count(&cell.plot));
    let place = |(value, name): &(f64, String)| {
        let size = width_of(name);
        (cell.x(*value).min(edge - size / 2.0), size)
    };
    let places: Vec<(f64, f64)> = ticks.iter().map(place).collect();
    let row = bottom + cell.letters;
    let shown = thinned(&places, 8.0);
    for (((value, name), (at, _)), shown) in ticks.iter().zip(&places).zip(shown) {
        let x = cell.x(*value);
        chart.put(line((x, top), (x, bottom), "grid"));
        if shown && cell.x_ticks {
            chart.put(text((*at, row + 17.0), "tick mid", name));
        }
    }
    chart.put(line((left, bottom), (right, bottom), "axis"));
    if cell.x_label {
        let middle = (left + right) / 2.0;
        let label = fitting_label(&cell.panel.x, chart.width - 4.0, right - left);
        axis_name(chart, label, middle, row + 34.0);
    }
}

/// The label of an axis, or the shorter one where that is too long.
fn fitting_label(axis: &Axis, most: f64, room: f64) -> &str {
    let is_long = width_of(&axis.label) > most.min(1.1 * room);
    match is_long && !axis.short_label.is_empty() {
        true => &axis.short_label,
        false => &axis.label,
    }
}

/// The name of an x axis around `middle`, as far as it has room there.
pub(super) fn axis_name(chart: &mut Drawing, label: &str, middle: f64, y: f64) {
    let half = width_of(label) / 2.0;
    let middle = middle.min(chart.width - 2.0 - half).max(2.0 + half);
    chart.put(text((middle, y), "axis-name mid", label));
}

/// Ticks and their names at the left, what it is and its unit above them,
/// where it reads without turning the head.
fn y_axis(chart: &mut Drawing, cell: &Cell<'_>) {
    let [left, right, top, bottom] = cell.plot.edges();
    let room = (bottom - top) / 30.0;
    let ticks = cell.panel.y.ticks((room as usize).clamp(2, 6));
    // Upwards, as the ticks rise.
    let places = ticks.iter().map(|(value, _)| (-cell.y(*value), FONT));
    let places: Vec<(f64, f64)> = places.collect();
    for ((value, name), shown) in ticks.iter().zip(thinned(&places, 4.0)) {
        let y = cell.y(*value);
        chart.put(line((left, y), (right, y), "grid"));
        if shown && cell.y_ticks {
            chart.put(text((left - 6.0, y + 4.0), "tick end", name));
        }
    }
    if cell.y_label {
        let above = top - cell.label_lift();
        let label = fitting_label(&cell.panel.y, chart.width - 4.0, chart.width);
        chart.put(text((2.0, above), "axis-name", label));
    }
}

/// The names of rows, and a line under each but the last.
fn rows(chart: &mut Drawing, cell: &Cell<'_>) {
    let Area { left, right, .. } = cell.plot;
    let axis = &cell.panel.y;
    for (i, row) in axis.rows.iter().enumerate() {
        let (top, middle) = (cell.y(i as f64), cell.y(i as f64 + 0.5));
        match axis.row_style {
            RowStyle::Above => {
                let name = fitting(&row.name, (chart.width - 20.0) / BOLD);
                chart.put(text((left + 2.0, top + 15.0), "counter", &name));
            }
            RowStyle::Beside if cell.y_ticks => {
                let name = fitting(&row.name, (left - 12.0) / BOLD);
                let class = match row.tone {
                    Tone::Plain => "row-name end".to_owned(),
                    tone => toned("name end", tone),
                };
                chart.put(text((left - 8.0, middle + 4.0), &class, &name));
            }
            RowStyle::Beside => {}
        }
        if i > 0 && axis.row_style == RowStyle::Beside {
            let from = if cell.y_ticks { 0.0 } else { left };
            chart.put(line((from, top), (right, top), "grid"));
        }
    }
}

fn area(chart: &mut Drawing, cell: &Cell<'_>, mark: &Mark) {
    let [left, right, top, bottom] = cell.plot.edges();
    let Some((low, high)) = mark.range else {
        return;
    };
    let name = match mark.kind {
        MarkKind::Load => "load-band".to_owned(),
        MarkKind::Area => "noise".to_owned(),
        MarkKind::Knee => toned("band", mark.tone),
        MarkKind::Moment => {
            // One without an upper end may lie beyond what was watched.
            let (low, high) = (cell.x(low), cell.x(high.min(f64::MAX)));
            let class = toned("back-span", mark.tone);
            chart.put(rect(
                (low, bottom - 5.0),
                (high.max(low + 1.0), bottom),
                &class,
            ));
            return;
        }
        // Several bands on each other show none of them.
        MarkKind::OtherLoad | MarkKind::Goal | MarkKind::Guide | MarkKind::Zero => return,
    };
    chart.put(match mark.at {
        At::X(_) => {
            let (low, high) = (cell.x(low), cell.x(high));
            rect((low, top), (high.max(low + 1.0), bottom), &name)
        }
        At::Y(_) => rect((left, cell.y(low)), (right, cell.y(high)), &name),
    });
}

fn mark_line(chart: &mut Drawing, cell: &Cell<'_>, mark: &Mark) {
    let name = match mark.kind {
        MarkKind::Load => "load-line".to_owned(),
        MarkKind::OtherLoad => "load-line other".to_owned(),
        MarkKind::Goal => toned("goal", mark.tone),
        MarkKind::Guide => "diagonal".to_owned(),
        MarkKind::Zero => "axis".to_owned(),
        MarkKind::Knee => toned("knee", mark.tone),
        MarkKind::Moment => toned("knee back", mark.tone),
        MarkKind::Area => return,
    };
    let (from, to) = cell.ends(mark.at);
    chart.put(line(from, to, &name));
    if mark.kind == MarkKind::Zero {
        chart.crossed.extend(along(&[from, to]));
    }
}

fn bar_of(chart: &mut Drawing, cell: &Cell<'_>, bar: &Bar) {
    let (from, to) = (cell.x(bar.x.0), cell.x(bar.x.1));
    let (low, high) = (cell.y(bar.y.0), cell.y(bar.y.1));
    if let Some(window) = bar.window {
        chart.put(trial(chart.size, cell, bar, window));
        return;
    }
    if to > from {
        let part = rect((from, low), (to, high), &toned("part", bar.tone));
        chart.put(picked(part, bar.pick));
    }
    let middle = (low + high) / 2.0;
    let mut end = to.max(from);
    if let Some((low, high)) = bar.interval {
        end = end.max(cell.x(high));
        chart.put(line(
            (cell.x(low), middle),
            (cell.x(high), middle),
            "whisker ends",
        ));
    }
    if !bar.value.is_empty() {
        chart.put(text((end + 8.0, middle + 4.0), "value halo", &bar.value));
    }
}

/// A trial with what it measured, hatched if it is invalid.
fn trial(size: Size, cell: &Cell<'_>, bar: &Bar, window: (f64, f64)) -> El {
    let low = cell.y(bar.y.0);
    let high = match cell.panel.y.rows.is_empty() {
        // A trial without a load is seen too.
        true => cell.y(bar.y.1).min(low - 2.0),
        false => cell.y(bar.y.1),
    };
    let part = |(from, to): (f64, f64), class| {
        let from = cell.x(from);
        rect((from, low), ((cell.x(to) - 0.4).max(from), high), class)
    };
    let class = match bar.invalid {
        None => "trial",
        Some(_) => "trial bad",
    };
    // Of a bar as thin as a line no parts can be seen.
    let parts = match cell.x(bar.x.1) - cell.x(bar.x.0) < 3.0 {
        true => vec![part(bar.x, "window")],
        false => vec![part(bar.x, "whole"), part(window, "window")],
    };
    // On a phone there is no pointer that could ask.
    let title = size.pick(Some(el("title").with(bar.tooltip.as_str())), None);
    let trial = el("g").class(class).with(title).with_all(parts);
    picked(trial, bar.pick)
}

fn ranges_band(chart: &mut Drawing, cell: &Cell<'_>, series: &Series) {
    if series.data.iter().all(|datum| datum.y_range.is_none()) {
        return;
    }
    let edge = |datum: &Datum| {
        let (x, _) = cell.place(series, datum)?;
        let (low, high) = datum.y_range.unwrap_or((datum.y, datum.y));
        Some([(x, cell.y(low)), (x, cell.y(high))])
    };
    let edges: Vec<_> = series.data.iter().map(edge).collect();
    chart.put(band(&edges, &toned("band", series.tone)));
}

fn joined(chart: &mut Drawing, cell: &Cell<'_>, series: &Series) {
    let name = match (series.line, series.pick, series.tone) {
        (Line::None, _, _) => return,
        (Line::Guide, _, _) => "diagonal".to_owned(),
        (Line::Thin, _, tone) => toned("line alone", tone),
        (Line::Solid, None, tone) => toned("line", tone),
        (Line::Solid, Some(_), Tone::Plain) => "line level".to_owned(),
        (Line::Solid, Some(_), tone) => toned("line course", tone),
    };
    let every = thinning(chart.size, cell, series);
    let last = series.data.len().saturating_sub(1);
    let data = series.data.iter().enumerate();
    let seen = data.filter(|(i, _)| i % every == 0 || *i == last);
    let places: Vec<_> = seen.map(|(_, datum)| cell.place(series, datum)).collect();
    chart.put(picked(path(&places, &name), series.pick));
    let known: Vec<(f64, f64)> = places.into_iter().flatten().collect();
    if series.line == Line::Guide {
        guide_name(chart, &series.name, &known);
    } else {
        chart.crossed.extend(along(&known));
    }
}

/// Every how-manieth point of a line is drawn: of many lines on a phone half
/// of the points are all that can be seen.
fn thinning(size: Size, cell: &Cell<'_>, series: &Series) -> usize {
    match series.pick.is_some() && series.data.len() > 24 && cell.panel.series.len() > 3 {
        true => size.pick(1, 2) << usize::from(cell.panel.series.len() > 60),
        false => 1,
    }
}

/// The name of a rising guide, below it and to its right: there no line is
/// that stays near it.
fn guide_name(chart: &mut Drawing, name: &str, ends: &[(f64, f64)]) {
    let [from, to] = ends else { return };
    let part = |a: f64, b: f64| a + 0.2 * (b - a);
    let at = (part(from.0, to.0) + 6.0, part(from.1, to.1) + 14.0);
    if !name.is_empty() {
        chart.put(text(at, "diagonal-name", name));
    }
}

fn range_bars(chart: &mut Drawing, cell: &Cell<'_>, series: &Series) {
    for datum in &series.data {
        let Some((x, y)) = cell.place(series, datum) else {
            continue;
        };
        let tone = datum.tone.unwrap_or(series.tone);
        let mut bars = Vec::new();
        match datum.x_range {
            Some((low, high)) if high.is_infinite() => {
                // Open to the right: at least so much.
                let end = cell.plot.right + 14.0;
                let tip = [(end - 6.0, y - 4.0), (end, y), (end - 6.0, y + 4.0)].map(Some);
                chart.put(path(&tip, &toned("line", tone)));
                bars.push(((cell.x(low), y), (end, y)));
            }
            Some((low, high)) => bars.push(((cell.x(low), y), (cell.x(high), y))),
            None => {}
        }
        bars.extend(
            datum
                .y_range
                .map(|(low, high)| ((x, cell.y(low)), (x, cell.y(high)))),
        );
        for (from, to) in bars {
            chart.put(picked(line(from, to, &toned("reach", tone)), datum.pick));
            chart.crossed.extend(along(&[from, to]));
        }
    }
}

/// The points of a series, that to take over the others.
fn points(chart: &mut Drawing, cell: &Cell<'_>, series: &Series) {
    let Some(marker) = series.marker else { return };
    let (best, others): (Vec<_>, Vec<_>) = series.data.iter().partition(|d| d.is_best);
    let are_named = cell
        .panel
        .series
        .iter()
        .flat_map(|s| &s.data)
        .any(|d| !d.name.is_empty());
    for datum in others.into_iter().chain(best) {
        let Some(at) = cell.place(series, datum) else {
            continue;
        };
        let tone = datum.tone.unwrap_or(series.tone);
        if datum.is_best {
            // Of several tones, that of the point is to be seen.
            let is_open = series.line != Line::None;
            chart.put(load_mark(at, if is_open { "best open" } else { "best" }));
            chart.taken.push(Area::around(at, 15.0, 9.5));
        }
        let (name, shape) = match datum.shape.unwrap_or(marker) {
            Shape::Speck => ("speck", Shape::Speck),
            shape => ("pt", shape),
        };
        let hollow = if datum.hollow { " hollow" } else { "" };
        let class = toned(name, tone) + hollow;
        chart.put(picked(point(at, shape, &class), datum.pick));
        if are_named {
            chart.taken.push(Area::around(at, 5.0, 5.0));
        }
    }
}

fn ring(chart: &mut Drawing, cell: &Cell<'_>, ring: &Ring) {
    let Some(at) = cell.at(ring.at) else { return };
    let other = if ring.is_other { " other" } else { "" };
    let tone = format!("{}{other}", class(ring.tone));
    if let Some((low, high)) = ring.x_range {
        let (low, high, y) = (cell.x(low), cell.x(high), at.1);
        let class = format!("met-span {tone}");
        chart.put(line((low, y), (high, y), &class));
        for end in [low, high] {
            chart.put(line((end, y - 5.0), (end, y + 5.0), &class));
        }
    }
    chart.put(load_mark(at, tone.trim_start()));
    chart.taken.push(Area::around(at, 15.0, 9.5));
}

fn titles(chart: &mut Drawing, cell: &Cell<'_>) {
    let panel = cell.panel;
    let [left, right, top, _] = cell.plot.edges();
    if panel.title.is_empty() {
        return;
    }
    let room = right - left;
    let subtitle = &panel.subtitle;
    let lift = if subtitle.text.is_empty() { 10.0 } else { 21.0 };
    let title = fitting(&panel.title, room / BOLD);
    chart.put(text((left, top - lift), "name row-name", &title));
    let words = match width_of(&subtitle.text) > room {
        true => &subtitle.short,
        false => &subtitle.text,
    };
    if !words.is_empty() {
        let class = toned("status", subtitle.tone);
        chart.put(text((left, top - 6.0), &class, &fitting(words, room)));
    }
}

/// The reasons of invalid trials, in a row under their bars, where no other
/// bar is; a stroke where there is no room for a letter.
fn letters(chart: &mut Drawing, cell: &Cell<'_>) {
    let invalid = cell
        .panel
        .bars
        .iter()
        .filter_map(|bar| Some((bar, bar.invalid?.to_string())));
    let invalid: Vec<(&Bar, String)> = invalid.collect();
    let place = |(bar, letter): &(&Bar, String)| {
        let middle = cell.x((bar.x.0 + bar.x.1) / 2.0);
        (middle, BOLD * width_of(letter))
    };
    let places: Vec<(f64, f64)> = invalid.iter().map(place).collect();
    let top = cell.plot.bottom;
    for (((_, letter), (at, _)), shown) in invalid.iter().zip(&places).zip(thinned(&places, 3.0)) {
        chart.put(match shown {
            true => text((*at, top + 13.0), "reason mid", letter),
            false => line((*at, top + 3.0), (*at, top + 6.0), "reason-tick"),
        });
    }
}
