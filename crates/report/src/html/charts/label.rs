//! The names that stand in a panel: of lines, of loads not to be exceeded, of
//! goals, of points. None stands on another.

use super::draw::{Drawing, FONT, Plot, class, line, text, toned};
use super::frame::{Cell, NAME_ROW, has_end_names, loads, right_room};
use super::layout::{Area, BOLD, Wish, along, apart, fitting, free, rows, width_of};
use super::panel::{aside, ends};
use crate::chart::{At, Line, Mark, MarkKind, Panel, Series, Tone};

/// Where the lowest row of names stands above the plot.
const LOWEST: f64 = 12.0;
/// What parts two names of a row.
const GAP: f64 = 10.0;
/// Beyond this, it is not seen any more which mark a name belongs to.
const NEAR: f64 = 26.0;

/// All names, those first that have the fewest places.
pub(super) fn all(chart: &mut Drawing, cell: &Cell<'_>) {
    end_names(chart, cell);
    load_names(chart, cell);
    legend(chart, cell);
    goal_names(chart, cell);
    free_names(chart, cell);
}

/// What names of loads want, in the rows above the plot.
fn wishes<'a>(marks: impl Iterator<Item = &'a Mark>, x: impl Fn(f64) -> f64) -> Vec<Wish> {
    let wish = |mark: &Mark| Wish {
        at: match mark.at {
            At::X(at) | At::Y(at) => x(at),
        },
        // That of the goal that leads is bold.
        size: match mark.kind {
            MarkKind::Load => BOLD * width_of(&mark.name, FONT),
            _ => width_of(&mark.name, FONT),
        },
        rank: u8::from(mark.kind == MarkKind::OtherLoad),
    };
    marks.map(wish).collect()
}

fn named_loads(panel: &Panel) -> impl Iterator<Item = &Mark> {
    loads(panel).filter(|mark| !mark.name.is_empty())
}

/// How many rows of names stand above the plot, beyond the first.
pub(super) fn extra_rows(panel: &Panel, room: f64) -> f64 {
    let rows = rows(&wishes(named_loads(panel), |at| at), room, GAP);
    rows.into_iter().max().unwrap_or(0) as f64
}

/// How far above the plot the name of the y axis stands.
pub(super) fn lifted(cell: &Cell<'_>) -> f64 {
    let room = cell.plot.top;
    match named_loads(cell.panel).next() {
        Some(_) => room - FONT,
        None => 34.0 - FONT,
    }
}

/// Names at the right end of lines, each in its line's colour.
fn end_names(chart: &mut Drawing, cell: &Cell<'_>) {
    if !has_end_names(cell.panel) {
        return;
    }
    let room = (right_room(cell.panel, chart.size) - 11.0) / BOLD;
    let series = cell.panel.series.iter();
    let named = series.filter(|s| !s.name.is_empty() && s.line != Line::Guide);
    let end = |series: &Series| {
        let mut places = series.data.iter().rev().filter_map(|d| cell.at((d.x, d.y)));
        let (_, y) = places.next()?;
        Some((y, fitting(&series.name, room, FONT), series.tone))
    };
    let labels: Vec<(f64, String, Tone)> = named.filter_map(end).collect();
    let wish = |(y, ..): &(f64, String, Tone)| Wish {
        at: *y,
        size: FONT + 2.0,
        rank: 0,
    };
    let wishes: Vec<Wish> = labels.iter().map(wish).collect();
    let [_, right, top, bottom] = chart.plot.edges();
    let placed = apart(&wishes, top - 6.0, bottom + 6.0, 1.0);
    for ((_, name, tone), y) in labels.iter().zip(placed) {
        if let Some(y) = y {
            chart.put(text((right + 8.0, y + 4.0), &toned("name", *tone), name));
        }
    }
}

/// The names of loads above the plot, in as many rows as they need.
fn load_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let (left, top) = (chart.plot.left, chart.plot.top);
    let marks: Vec<&Mark> = named_loads(cell.panel).collect();
    let wishes = wishes(marks.iter().copied(), |at| cell.x(at));
    let row_of = rows(&wishes, chart.width - 2.0 - left, GAP);
    for row in 0..=row_of.iter().copied().max().unwrap_or(0) {
        let here = || (0..marks.len()).filter(|i| row_of[*i] == row);
        let of_row: Vec<Wish> = here().map(|i| wishes[i]).collect();
        let placed = apart(&of_row, left, chart.width - 2.0, GAP);
        for (i, at) in here().zip(placed) {
            let class = match marks[i].kind {
                MarkKind::Load => "load-name mid",
                _ => "load-name other mid",
            };
            if let Some(at) = at {
                let y = top - LOWEST - NAME_ROW * row as f64;
                chart.put(text((at, y), class, &marks[i].name));
            }
        }
    }
}

fn legend(chart: &mut Drawing, cell: &Cell<'_>) {
    let Plot { left, top, .. } = chart.plot;
    let keys = &cell.panel.legend;
    let wishes = keys.iter().map(|key| {
        let size = BOLD * width_of(&key.name, FONT);
        let at = key.at.map_or(left, |at| cell.x(at));
        Wish { at, size, rank: 0 }
    });
    let wishes: Vec<Wish> = wishes.collect();
    let placed = apart(&wishes, left, chart.width - 2.0, 10.0);
    for (key, at) in keys.iter().zip(placed) {
        if let Some(at) = at {
            let class = toned("name mid", key.tone);
            chart.put(text((at, top - 8.0), &class, &key.name));
        }
    }
}

/// The names of goals, above or below their lines.
fn goal_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let Plot { left, right, .. } = chart.plot;
    let line_at = |mark: &Mark| match (mark.kind, mark.at, mark.range) {
        (MarkKind::Goal, At::Y(at), _) => Some(cell.y(at)),
        (MarkKind::Area, At::Y(_), Some((low, _))) => Some(cell.y(low)),
        _ => None,
    };
    let named = cell.panel.marks.iter().filter(|m| !m.name.is_empty());
    let mut goals: Vec<(f64, &Mark)> = named.filter_map(|m| Some((line_at(m)?, m))).collect();
    if goals.iter().all(|(_, mark)| mark.kind == MarkKind::Goal) {
        goals.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    for &(y, mark) in &goals {
        let width = width_of(&mark.name, FONT);
        let last = right - 6.0 - width;
        let at = |part: u32| left + 6.0 + f64::from(part) / 8.0 * (last - left - 6.0);
        // Beside its line from the left end on; else beyond the marks on it.
        let row = |away: f64| (0..=8).map(move |part| (at(part), y + away));
        let near: Vec<(f64, f64)> = [-5.0, 13.0].into_iter().flat_map(row).collect();
        let further =
            (1..=16).flat_map(|i| [-5.0, 13.0].map(|y: f64| y + y.signum() * 4.0 * f64::from(i)));
        let further: Vec<(f64, f64)> = further.flat_map(row).collect();
        // Its own line is beside it; those of others are better not crossed.
        let others = goals.iter().filter(|(other, _)| *other != y);
        let lines = others.map(|(other, _)| Area {
            left,
            right,
            top: other - 1.0,
            bottom: other + 1.0,
        });
        let avoided: Vec<Area> = chart.crossed.iter().copied().chain(lines).collect();
        let class = toned("goal-name", mark.tone);
        if !put(chart, &near, &class, &mark.name, width, &avoided) {
            put(chart, &further, &class, &mark.name, width, &avoided);
        }
    }
    for (_, mark) in goals.iter().filter(|(_, m)| m.kind == MarkKind::Goal) {
        let (from, to) = ends(chart, cell, mark.at);
        chart.crossed.extend(along(&[from, to]));
    }
}

/// A ring, a point or a knee that is named wherever there is room.
struct Named<'a> {
    at: (f64, f64),
    name: &'a str,
    class: String,
    /// How much of the drawing it takes, to each side.
    reach: f64,
}

/// What has a name that may stand anywhere: the point to take has the first
/// choice of a place, then rings, then other points.
fn named<'a>(top: f64, cell: &Cell<'a>) -> Vec<Named<'a>> {
    let panel = cell.panel;
    let rings = panel.rings.iter().filter_map(|ring| {
        let other = if ring.is_other { " other" } else { "" };
        Some(Named {
            at: cell.at(ring.at)?,
            name: &ring.name,
            class: class(ring.tone).to_owned() + other,
            reach: 8.0,
        })
    });
    let data = panel.series.iter();
    let data = data.flat_map(|series| series.data.iter().map(move |datum| (series, datum)));
    let points = data.filter_map(|(series, datum)| {
        let (x, y) = cell.at((datum.x, datum.y))?;
        // Points of a line are named for it.
        let is_line = series.line != Line::None;
        let tone = match (is_line, datum.is_best) {
            (true, _) => series.tone,
            (false, true) => Tone::Best,
            (false, false) => datum.tone.unwrap_or(series.tone),
        };
        Some(Named {
            at: (x + aside(series), y),
            name: &datum.name,
            class: class(tone).to_owned(),
            reach: if tone == Tone::Best { 8.0 } else { 4.0 },
        })
    });
    let knees = panel.marks.iter().filter(|m| m.kind == MarkKind::Knee);
    let knees = knees.enumerate().filter_map(|(nth, mark)| match mark.at {
        // The names of several stand one under the other.
        At::X(at) => Some(Named {
            at: (cell.x(at), top + 14.0 + 18.0 * nth as f64),
            name: &mark.name,
            class: class(mark.tone).to_owned(),
            reach: 0.0,
        }),
        At::Y(_) => None,
    });
    let all = rings.chain(points).chain(knees);
    let mut all: Vec<Named<'a>> = all.filter(|named| !named.name.is_empty()).collect();
    all.sort_by_key(|named| named.class != class(Tone::Best));
    all
}

/// Names beside what they name where there is room, else further off with a
/// line to it. None is left out.
fn free_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    for mark in named(chart.plot.top, cell) {
        let width = BOLD * width_of(mark.name, FONT);
        let places = places(&chart.plot, &mark, width);
        let areas = places.iter().map(|at| Area::of_text(*at, width, FONT));
        let areas: Vec<Area> = areas.collect();
        let Some(i) = free(&areas, &chart.taken, &chart.crossed) else {
            continue;
        };
        // What is written down is rounded to tenths of a pixel.
        chart.taken.push(areas[i].wider_by(0.2));
        let from = areas[i].nearest(mark.at);
        if (from.0 - mark.at.0).hypot(from.1 - mark.at.1) > NEAR {
            lines.push(line(mark.at, from, &format!("leader {}", mark.class)));
        }
        texts.push(text(
            places[i],
            &format!("mark-name {}", mark.class),
            mark.name,
        ));
    }
    let parts = lines.into_iter().chain(texts);
    parts.for_each(|part| chart.put(part));
}

/// Where a name may begin, nearest first: beside its mark, then all over the
/// plot.
fn places(plot: &Plot, mark: &Named<'_>, width: f64) -> Vec<(f64, f64)> {
    let ((x, y), r) = (mark.at, mark.reach);
    let sides = |down: f64| [(x + r + 4.0, y + down), (x - r - 4.0 - width, y + down)];
    let beside = [-r, r + 9.0, 4.0].into_iter().flat_map(sides);
    let middle = x - width / 2.0;
    let near = beside.chain([(middle, y - r - 5.0), (middle, y + r + 14.0)]);
    let step = |from: f64, to: f64, by: f64| {
        let count = ((to - from) / by).max(0.0) as u32;
        (0..=count).map(move |i| from + f64::from(i) * by)
    };
    let rows = step(plot.top + FONT, plot.bottom - 4.0, 6.0);
    let all = rows.flat_map(|y| {
        let columns = step(plot.left + 3.0, plot.right - 3.0 - width, 8.0);
        columns.map(move |x| (x, y))
    });
    let mut all: Vec<(f64, f64)> = all.collect();
    let off = |at: &(f64, f64)| {
        let near = Area::of_text(*at, width, FONT).nearest(mark.at);
        (near.0 - x).hypot(near.1 - y)
    };
    all.sort_by(|a, b| off(a).total_cmp(&off(b)));
    let within = |at: &(f64, f64)| Area::of_text(*at, width, FONT).is_within(plot, 0.0);
    near.chain(all).filter(within).collect()
}

/// Puts a text at the first of these places, from where it runs to the right,
/// that is free; whether there is one.
fn put(
    chart: &mut Drawing,
    wishes: &[(f64, f64)],
    class: &str,
    words: &str,
    width: f64,
    better_free: &[Area],
) -> bool {
    let areas = wishes.iter().map(|at| Area::of_text(*at, width, FONT));
    let (areas, wishes): (Vec<Area>, Vec<&(f64, f64)>) = areas
        .zip(wishes)
        .filter(|(area, _)| area.is_within(&chart.plot, 1.0))
        .unzip();
    let place = free(&areas, &chart.taken, better_free);
    if let Some(i) = place {
        // What is written down is rounded to tenths of a pixel.
        chart.taken.push(areas[i].wider_by(0.2));
        chart.put(text(*wishes[i], class, words));
    }
    place.is_some()
}
