//! The two charts of a run: what is paid for load in time, and in CPU use.

use super::of_cpu::{against_load, percent};
use super::{At, Axis, Charset, Chart, Line, Mark, Picture, Scale, Series};
use crate::Report;
use crate::capacity;
use crate::number::{self, Written};
use crate::table::{Ink, Paint};
use plimsoll_model::{
    CapacityFinding, CapacityStatus, CopiesFinding, Goal, LatencyLimit, LatencySummary,
    LevelFinding,
};

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
    let limit = capacity.and_then(limit_us);
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
    match (capacity.status, capacity.rate_rps) {
        (CapacityStatus::NotReached, Some(rate)) => {
            let rate = Written::rate(rate).value;
            format!("Latency: {goal} is kept up to {rate}/s at least")
        }
        _ => match capacity::load_line(capacity) {
            Some((_, rate)) => format!("Latency: {goal} is kept up to {rate}"),
            None => "Latency against load".to_owned(),
        },
    }
}

/// Where a goal on latency is broken.
fn limit_us(capacity: &CapacityFinding) -> Option<f64> {
    match capacity.goal {
        Goal::Latency {
            limit: LatencyLimit::Absolute(limit),
            ..
        } => Some(limit.as_secs_f64() * 1e6),
        Goal::Latency { .. } => capacity.limit_us,
        Goal::Errors { .. } | Goal::Cpu { .. } => None,
    }
}

pub(super) fn load(
    label: &str,
    rates: impl Iterator<Item = f64>,
    capacity: Option<&CapacityFinding>,
) -> Axis {
    let line = capacity.and_then(capacity::load_line).map(|line| line.0);
    Axis {
        label: label.to_owned(),
        scale: Scale::from_zero(rates.filter(|rate| rate.is_finite()).chain(line)),
        show: number::tick,
    }
}

/// The ship's mark: how deep it may be loaded.
pub(super) fn load_line(capacity: Option<&CapacityFinding>) -> Option<Mark> {
    let (at, rate) = capacity::load_line(capacity?)?;
    Some(Mark {
        name: format!("load line {rate}"),
        ink: Ink::Green,
        at: At::X(at),
    })
}

pub(super) fn solid(name: &str, ink: Ink, glyph: char, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        ink,
        glyph,
        line: Line::Solid,
        points,
    }
}

fn of_copies(rows: &[CopiesFinding]) -> Vec<Chart> {
    let rows: Vec<&CopiesFinding> = rows.iter().filter(|r| r.trials > 0).collect();
    // Of one number of copies there is no curve.
    if rows.len() < 2 {
        return Vec::new();
    }
    let copies = || Axis {
        label: "copies at once".to_owned(),
        scale: Scale::from_zero(rows.iter().map(|r| f64::from(r.copies))),
        show: super::whole_tick,
    };
    let of = |value: fn(&CopiesFinding) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |r: &&CopiesFinding| Some((f64::from(r.copies), value(r)?));
        rows.iter().filter_map(point).collect()
    };
    let mean = solid("mean", Ink::Cyan, '*', of(|r| Some(r.seconds)));
    let slowest = solid("slowest", Ink::Yellow, '+', of(|r| Some(r.slowest_seconds)));
    let times = Chart {
        title: "How long a copy takes".to_owned(),
        x: copies(),
        y: Axis {
            label: "time, s".to_owned(),
            scale: Scale::from_zero(slowest.points.iter().map(|p| p.1)),
            show: number::tick,
        },
        series: vec![mean, slowest],
        marks: vec![],
    };
    let cpu = of(|r| r.cpu_pct);
    let mut charts = vec![times];
    if !cpu.is_empty() {
        charts.push(Chart {
            title: "CPU use meanwhile".to_owned(),
            x: copies(),
            y: percent(),
            series: vec![solid("CPU", Ink::Cyan, '*', cpu)],
            marks: vec![],
        });
    }
    charts
}
