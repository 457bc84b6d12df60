//! CPU use against load, both in percent, with the diagonal on which CPU use
//! would tell the load: what is below it is lag.

use super::parts::{load, load_line, percent, solid};
use super::{At, Axis, Chart, Line, Mark, Scale, Series};
use crate::Report;
use crate::headroom::{Tells, tells};
use crate::levels::achieved_pct;
use crate::number::{self, Written};
use crate::{capacity, table::Ink};
use plimsoll_model::{CapacityFinding, CapacityStatus, Headroom, LevelFinding};

/// The chart with a title no wider than `width`; `None` where CPU use is not
/// known.
pub(super) fn against_load(
    report: &Report<'_>,
    capacity: Option<&CapacityFinding>,
    width: usize,
) -> Option<Chart> {
    let levels = &report.findings.levels;
    if levels.iter().all(|level| level.cpu_pct.is_none()) {
        return None;
    }
    let cpu = |level: &LevelFinding| level.cpu_pct.unwrap_or(f64::NAN);
    let rated = report.findings.rated.as_ref().map(|rated| rated.rate_rps);
    let Some(rated) = rated else {
        // A load in percent of nothing that is known would be no load.
        let achieved = |l: &LevelFinding| l.achieved_rps.unwrap_or(f64::NAN);
        let points = levels.iter().map(|l| (achieved(l), cpu(l))).collect();
        return Some(Chart {
            title: title(report, capacity, width),
            x: load(
                "achieved load, requests/s",
                levels.iter().map(achieved),
                capacity,
            ),
            y: percent(),
            series: vec![solid("CPU", Ink::Cyan, '*', points)],
            marks: load_line(capacity).into_iter().collect(),
        });
    };
    let points = levels
        .iter()
        .map(|l| (achieved_pct(l, Some(rated)), cpu(l)));
    let points: Vec<(f64, f64)> = points.collect();
    let line = capacity.and_then(capacity::load_line);
    let line = line.map(|(rate, _)| 100.0 * rate / rated);
    let diagonal = Series {
        name: "CPU = load".to_owned(),
        ink: Ink::Dim,
        glyph: '.',
        line: Line::Guide,
        points: vec![(0.0, 0.0), (100.0, 100.0)],
    };
    Some(Chart {
        title: title(report, capacity, width),
        x: Axis {
            label: "achieved load, % of the rated rate".to_owned(),
            scale: Scale::from_zero(points.iter().map(|p| p.0).chain(line).chain([100.0])),
            show: number::tick,
        },
        y: percent(),
        marks: line.map(mark).into_iter().collect(),
        series: vec![diagonal, solid("CPU", Ink::Cyan, '*', points)],
    })
}

fn mark(load_pct: f64) -> Mark {
    Mark {
        name: format!("load line {load_pct:.0} %"),
        ink: Ink::Green,
        at: At::X(load_pct),
    }
}

/// Whether CPU use lags, and where it is when the goal breaks; as much of it
/// as there is room for.
fn title(report: &Report<'_>, capacity: Option<&CapacityFinding>, width: usize) -> String {
    // That of a cliff is CPU use between its two ends.
    let found = capacity.filter(|c| c.status == CapacityStatus::Found);
    let at_line = found.and_then(|c| c.cpu_pct);
    let at_line = at_line.map(|cpu| format!("{} % at the load line", Written::pct(cpu).value));
    let lag = lag(&report.findings.headroom);
    let wanted = match (lag, &at_line) {
        (Some(lag), Some(at_line)) => format!("CPU use {lag}: {at_line}"),
        (Some(lag), None) => format!("CPU use {lag}"),
        (None, Some(at_line)) => format!("CPU use: {at_line}"),
        (None, None) => "CPU use against load".to_owned(),
    };
    match (lag, wanted.chars().count() <= width) {
        (Some(lag), false) => format!("CPU use {lag}"),
        _ => wanted,
    }
}

/// Which way CPU use is wrong, where that can be told.
fn lag(headroom: &Headroom) -> Option<&'static str> {
    let Headroom::Known(index) = headroom else {
        return None;
    };
    let half = index.interpolated_ratio;
    match tells(half.unwrap_or(index.nearest_level_ratio)) {
        Tells::Less => Some("lags behind load"),
        Tells::Truth => Some("tells the load"),
        Tells::More => Some("runs ahead of load"),
        Tells::SeemsLess => Some("seems to lag behind load"),
        Tells::SeemsMore => Some("seems to run ahead of load"),
        Tells::Either => None,
    }
}
