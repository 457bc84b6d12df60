//! The names that stand in a panel: of lines, of loads not to be exceeded, of
//! goals, of points. None stands on another.

use super::draw::{Drawing, class, line, text, toned};
use super::frame::{Cell, NAME_GAP, NAME_ROW, has_end_names, name_wishes, named_loads, right_room};
use super::layout::{Area, BOLD, FONT, Wish, along, apart, fitting, free, rows, width_of};
use crate::chart::{At, Line, Mark, MarkKind, Series, Tone};
use plimsoll_model::sort_by_number;

/// Where the lowest row of names stands above the plot.
const LOWEST: f64 = 12.0;
/// Beyond this, it is not seen any more which mark a name belongs to.
const NEAR: f64 = 26.0;

pub(super) fn all(chart: &mut Drawing, cell: &Cell<'_>) {
    end_names(chart, cell);
    load_names(chart, cell);
    legend(chart, cell);
    goal_names(chart, cell);
    free_names(chart, cell);
}

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
        Some((y, fitting(&series.name, room), series.tone))
    };
    let labels: Vec<(f64, String, Tone)> = named.filter_map(end).collect();
    let wish = |(y, ..): &(f64, String, Tone)| Wish {
        at: *y,
        size: FONT + 2.0,
        rank: 0,
    };
    let wishes: Vec<Wish> = labels.iter().map(wish).collect();
    let [_, right, top, bottom] = cell.plot.edges();
    let placed = apart(&wishes, top - 6.0, bottom + 6.0, 1.0);
    for ((_, name, tone), y) in labels.iter().zip(placed) {
        if let Some(y) = y {
            chart.put(text((right + 8.0, y + 4.0), &toned("name", *tone), name));
        }
    }
}

fn load_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let (left, top) = (cell.plot.left, cell.plot.top);
    let marks: Vec<&Mark> = named_loads(cell.panel).collect();
    let wishes = name_wishes(cell.panel, |at| cell.x(at));
    let row_of = rows(&wishes, chart.width - 2.0 - left, NAME_GAP);
    for row in 0..=row_of.iter().copied().max().unwrap_or(0) {
        let here = || (0..marks.len()).filter(|i| row_of[*i] == row);
        let of_row: Vec<Wish> = here().map(|i| wishes[i]).collect();
        let placed = apart(&of_row, left, chart.width - 2.0, NAME_GAP);
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
    let Area { left, top, .. } = cell.plot;
    let keys = &cell.panel.legend;
    let wishes = keys.iter().map(|key| {
        let size = BOLD * width_of(&key.name);
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

fn goal_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let Area { left, right, .. } = cell.plot;
    let line_at = |mark: &Mark| match (mark.kind, mark.at, mark.range) {
        (MarkKind::Goal, At::Y(at), _) => Some(cell.y(at)),
        (MarkKind::Area, At::Y(_), Some((low, _))) => Some(cell.y(low)),
        _ => None,
    };
    let named = cell.panel.marks.iter().filter(|m| !m.name.is_empty());
    let mut goals: Vec<(f64, &Mark)> = named.filter_map(|m| Some((line_at(m)?, m))).collect();
    if goals.iter().all(|(_, mark)| mark.kind == MarkKind::Goal) {
        sort_by_number(&mut goals, |one| one.0);
    }
    for &(y, mark) in &goals {
        let width = width_of(&mark.name);
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
        let named = [near, further]
            .iter()
            .find_map(|places| place(chart, cell, places, width, &avoided));
        if let Some(at) = named {
            chart.put(text(at, &class, &mark.name));
        }
    }
    for (_, mark) in goals.iter().filter(|(_, m)| m.kind == MarkKind::Goal) {
        let (from, to) = cell.ends(mark.at);
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
        // Points of a line are named for it.
        let is_line = series.line != Line::None;
        let tone = match (is_line, datum.is_best) {
            (true, _) => series.tone,
            (false, true) => Tone::Best,
            (false, false) => datum.tone.unwrap_or(series.tone),
        };
        Some(Named {
            at: cell.place(series, datum)?,
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
    let guides = panel.marks.iter().filter(|m| m.kind == MarkKind::Guide);
    let guides = guides.filter_map(|mark| match mark.at {
        At::X(at) => Some(Named {
            at: (cell.x(at), top + 14.0),
            name: &mark.name,
            class: class(mark.tone).to_owned(),
            reach: 0.0,
        }),
        At::Y(_) => None,
    });
    let all = rings.chain(points).chain(knees).chain(guides);
    let mut all: Vec<Named<'a>> = all.filter(|named| !named.name.is_empty()).collect();
    all.sort_by_key(|named| named.class != class(Tone::Best));
    all
}

/// Names beside what they name where there is room, else further off with a
/// line to it. None is left out.
fn free_names(chart: &mut Drawing, cell: &Cell<'_>) {
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    for mark in named(cell.plot.top, cell) {
        let width = BOLD * width_of(mark.name);
        let places = places(&cell.plot, &mark, width);
        let areas = places.iter().map(|at| Area::of_text(*at, width));
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
fn places(plot: &Area, mark: &Named<'_>, width: f64) -> Vec<(f64, f64)> {
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
        let near = Area::of_text(*at, width).nearest(mark.at);
        (near.0 - x).hypot(near.1 - y)
    };
    sort_by_number(&mut all, |one| off(one));
    let within = |at: &(f64, f64)| Area::of_text(*at, width).is_within(plot, 0.0);
    near.chain(all).filter(within).collect()
}

/// Takes the first of these places, from where a text runs to the right, that is free.
fn place(
    chart: &mut Drawing,
    cell: &Cell<'_>,
    wishes: &[(f64, f64)],
    width: f64,
    better_free: &[Area],
) -> Option<(f64, f64)> {
    let areas = wishes.iter().map(|at| Area::of_text(*at, width));
    let (areas, wishes): (Vec<Area>, Vec<&(f64, f64)>) = areas
        .zip(wishes)
        .filter(|(area, _)| area.is_within(&cell.plot, 1.0))
        .unzip();
    let i = free(&areas, &chart.taken, better_free)?;
    // What is written down is rounded to tenths of a pixel.
    chart.taken.push(areas[i].wider_by(0.2));
    Some(*wishes[i])
}
