//! The two charts of a run: what is paid for load in time, and in CPU use.

use super::of_copies::of_copies;
use super::of_cpu::against_load;
use super::parts::{load, load_line, solid};
use super::{At, Axis, Charset, Chart, Mark, Picture, Scale, Series};
use crate::Report;
use crate::capacity;
use crate::number::{self, Written};
use crate::table::{Ink, Paint};
use plimsoll_model::{CapacityFinding, CapacityStatus, Goal, LatencySummary, LevelFinding};

/// From this width on, two charts stand side by side.
const TWO_ABREAST: usize = 116;
/// Wider charts show no more.
const WIDEST: usize = 84;
/// In less there is nothing to be seen.
const NARROWEST: usize = 40;
const GAP: usize = 4;
const HEIGHT: usize = 17;

/// A latency of a level: its name, its colour, its letter, and which it is.
type Latency = (&'static str, Ink, char, fn(&LatencySummary) -> f64);

const LATENCIES: [Latency; 3] = [
    ("p50", Ink::Cyan, 'o', |s| s.p50),
    ("p99", Ink::Yellow, '*', |s| s.p99),
    ("p99.9", Ink::Magenta, '+', |s| s.p999),
];

/// Both charts as lines of text, no wider than `width`; nothing where there
/// is no point to draw, or no room.
pub(crate) fn charts(
    report: &Report<'_>,
    width: usize,
    charset: Charset,
    paint: Paint,
) -> Option<String> {
    if width < NARROWEST {
        return None;
    }
    let abreast = (width >= TWO_ABREAST).then(|| ((width - GAP) / 2).min(WIDEST));
    let alone = width.min(WIDEST);
    let charts: Vec<Chart> = if report.is_copies() {
        of_copies(&report.findings.copies)
    } else {
        of_levels(report, abreast.unwrap_or(alone))
    };
    if let (2, Some(each)) = (charts.len(), abreast) {
        let pictures = charts.iter().map(|c| c.draw(each, HEIGHT, charset));
        let both = pictures.reduce(|left, right| left.beside(&right, GAP));
        return both.map(|picture: Picture| picture.text(paint));
    }
    let texts = charts
        .iter()
        .map(|c| c.draw(alone, HEIGHT, charset).text(paint));
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn of_levels(report: &Report<'_>, width: usize) -> Vec<Chart> {
    let capacity = capacity::leading(&report.findings.capacity).map(|l| l.finding);
    let latency = latency(report, capacity);
    let cpu = against_load(report, capacity, width);
    latency.into_iter().chain(cpu).collect()
}

fn latency(report: &Report<'_>, capacity: Option<&CapacityFinding>) -> Option<Chart> {
    let levels = &report.findings.levels;
    // A level of which no trial counts is a gap in the line.
    let points = |of: fn(&LatencySummary) -> f64| -> Vec<(f64, f64)> {
        let latency = |l: &LevelFinding| l.latency_us.as_ref().map_or(f64::NAN, of);
        levels.iter().map(|l| (l.offered_rps, latency(l))).collect()
    };
    // A table has one latency, and it is not known which.
    let series: Vec<Series> = if report.is_imported() {
        vec![solid("latency", Ink::Yellow, '*', points(|s| s.p99))]
    } else {
        let each = |(name, ink, glyph, of): Latency| solid(name, ink, glyph, points(of));
        LATENCIES.map(each).to_vec()
    };
    let limit = capacity.and_then(CapacityFinding::latency_limit_us);
    let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let y = Scale::around(values.chain(limit))?;
    let mut marks: Vec<Mark> = load_line(capacity).into_iter().collect();
    marks.extend(limit.zip(capacity).map(|(limit, capacity)| Mark {
        name: capacity.goal.to_string(),
        ink: Ink::Green,
        at: At::Y(limit),
    }));
    Some(Chart {
        title: title(capacity),
        x: load(
            "offered load, requests/s",
            levels.iter().map(|l| l.offered_rps),
            capacity,
        ),
        y: Axis {
            label: "latency, log scale".to_owned(),
            scale: y,
            show: number::time_us,
        },
        series,
        marks,
    })
}

/// What the chart of latency shows.
fn title(capacity: Option<&CapacityFinding>) -> String {
    let Some(capacity) = capacity else {
        return "Latency against load".to_owned();
    };
    let goal = capacity.goal;
    let what = match goal {
        Goal::Latency { .. } => "Latency:",
        Goal::Errors { .. } | Goal::Cpu { .. } => "Latency against load;",
    };
    match (capacity.status, capacity.rate_rps) {
        (CapacityStatus::NotReached, Some(rate)) => {
            let rate = Written::rate(rate).value;
            format!("{what} {goal} is kept up to {rate}/s at least")
        }
        _ => match capacity::load_line(capacity) {
            Some((_, rate)) => format!("{what} {goal} is kept up to {rate}"),
            None => "Latency against load".to_owned(),
        },
    }
}
