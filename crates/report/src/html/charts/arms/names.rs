//! The names of marks that may stand anywhere: beside their marks where there
//! is room, else further off with a line to them. None stands on another, and
//! none is left out.

use super::super::draw::{Drawing, FONT, Plot, line, text};
use super::super::layout::{Area, BOLD, free, width_of};

/// A mark with its name.
pub(super) struct Named<'a> {
    pub(super) at: (f64, f64),
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    /// How much of the drawing the mark takes, to each side.
    pub(super) reach: f64,
}

/// Beyond this, it is not seen any more which mark a name belongs to.
const NEAR: f64 = 26.0;

/// Names all marks. What `better_free` covers is covered only where nothing
/// else is left.
pub(super) fn put(chart: &mut Drawing, marks: &[Named<'_>], better_free: &[Area]) {
    let mut lines = Vec::new();
    let mut texts = Vec::new();
    for mark in marks {
        let width = BOLD * width_of(mark.name, FONT);
        let places = places(&chart.plot, mark, width);
        let areas: Vec<Area> = places
            .iter()
            .map(|at| Area::of_text(*at, width, FONT))
            .collect();
        let Some(i) = free(&areas, &chart.taken, better_free) else {
            continue;
        };
        // What is written down is rounded to tenths of a pixel.
        chart.taken.push(areas[i].wider_by(0.2));
        let from = nearest(&areas[i], mark.at);
        let (dx, dy) = (from.0 - mark.at.0, from.1 - mark.at.1);
        if dx.hypot(dy) > NEAR {
            lines.push(line(mark.at, from, &format!("leader {}", mark.class)));
        }
        let class = format!("mark-name {}", mark.class);
        texts.push(text(places[i], &class, mark.name));
    }
    lines.into_iter().for_each(|line| chart.put(line));
    texts.into_iter().for_each(|text| chart.put(text));
}

/// Where a name may begin, nearest first: beside its mark, then all over the
/// plot.
fn places(plot: &Plot, mark: &Named<'_>, width: f64) -> Vec<(f64, f64)> {
    let (x, y) = mark.at;
    let r = mark.reach;
    let aside = [(x + r + 4.0, y - r), (x - r - 4.0 - width, y - r)];
    let under = [
        (x + r + 4.0, y + r + 9.0),
        (x - r - 4.0 - width, y + r + 9.0),
    ];
    let beside = [(x + r + 4.0, y + 4.0), (x - r - 4.0 - width, y + 4.0)];
    let above = [
        (x - width / 2.0, y - r - 5.0),
        (x - width / 2.0, y + r + 14.0),
    ];
    let near = [aside, under, beside, above].into_iter().flatten();
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
        let near = nearest(&Area::of_text(*at, width, FONT), mark.at);
        (near.0 - x).hypot(near.1 - y)
    };
    all.sort_by(|a, b| off(a).total_cmp(&off(b)));
    let within = |at: &(f64, f64)| {
        let area = Area::of_text(*at, width, FONT);
        area.left > plot.left
            && area.right < plot.right
            && area.top > plot.top
            && area.bottom < plot.bottom
    };
    near.chain(all).filter(within).collect()
}

/// The point of an area that is nearest to another.
fn nearest(area: &Area, (x, y): (f64, f64)) -> (f64, f64) {
    (
        x.clamp(area.left, area.right),
        y.clamp(area.top, area.bottom),
    )
}
