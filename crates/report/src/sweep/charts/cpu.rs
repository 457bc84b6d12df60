//! CPU use against load, both in percent on equal axes.

use super::{View, leads, load_marks, load_name};
use crate::capacity::{self, Subject, is_decided, leading};
use crate::chart::{
    Axis, Chart, Datum, Height, Line, Panel, Ranges, Ring, Scale, Series, Tone, Unit,
};
use crate::number::{self, Written};
use crate::sentence::{words_if, words_of};
use crate::sweep::headroom::{Tells, advice, is_beyond_goal, tells};
use crate::sweep::levels::achieved_pct;
use crate::table::{Column, ColumnsOf, ends, known};
use plimsoll_model::{
    CapacityFinding, CapacityStatus, CpuPoint, Headroom, LevelFinding, Phase, TrialPicture,
    sort_by_number,
};

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    let levels = view.levels();
    levels.iter().find(|l| l.cpu_pct.is_some())?;
    let curve = &view.picture.curve;
    let trials = Subject::of(&view.report.plan.workload).trials;
    let band = format!(" Shaded: its 95 % band; small dots: single {trials}.");
    let has_band = curve.iter().any(|p| p.cpu_pct.interval().is_some());
    let left_out = words_if(
        table_rows(view).iter().any(|row| row.point.is_none()),
        " Not fitted: saturated levels that carry less than the most.",
    );
    let hint = format!(
        "CPU use against achieved load on equal axes. On the dotted diagonal CPU use equals the \
         load; below it, CPU use lags behind.{}{left_out}",
        words_if(has_band, &band)
    );
    let description = "CPU use in percent over achieved load in percent of the rated rate, with the \
                       diagonal on which both are equal.";
    Some(Chart {
        short_titles: short_titles(view),
        description: description.to_owned(),
        picks: picks(view),
        details: levels.iter().map(detail).collect(),
        table: table(view),
        ..Chart::of(panel(view), "cpu", title(view), hint)
    })
}

fn title(view: View<'_>) -> String {
    match &view.findings().headroom {
        Headroom::Known(index) => {
            let most = Written::rate(index.max_rate_rps).value;
            let (at, rate, ratio) = match (index.half_rate_rps, index.interpolated_ratio) {
                (Some(half), Some(ratio)) => ("At 50 % CPU use", half, ratio),
                _ => (
                    "In proportion to CPU use",
                    index.linear_expectation_rps,
                    index.nearest_level_ratio,
                ),
            };
            format!(
                "{at} it does {}/s and at most {most}/s, {}",
                Written::rate(rate).value,
                advice(ratio, is_beyond_goal(view.findings(), index))
            )
        }
        Headroom::Unknown { .. } => {
            let points = &view.picture.curve;
            let (Some(first), Some(last)) = (points.first(), points.last()) else {
                return "CPU use is not known".to_owned();
            };
            format!(
                "CPU use goes from {} % at {} to {} % at {}",
                number::pct(first.measured_cpu_pct),
                number::per_second(first.rate_rps),
                number::pct(last.measured_cpu_pct),
                number::per_second(last.rate_rps)
            )
        }
    }
}

/// Whether CPU use lags, and what it is when the goal breaks.
fn short_titles(view: View<'_>) -> Vec<String> {
    let findings = view.findings();
    let first = leading(&findings.capacity).map(|first| first.finding);
    // That of a cliff is CPU use between its two ends.
    let found = first.filter(|c| c.status == CapacityStatus::Found);
    let at_line = found.and_then(|c| c.cpu_pct);
    let at_line = words_of(at_line, |cpu| {
        format!(": {} % at the load line", Written::pct(cpu).value)
    });
    match (lag(&findings.headroom), at_line.is_empty()) {
        (Some(lag), _) => vec![format!("CPU use {lag}{at_line}"), format!("CPU use {lag}")],
        (None, false) => vec![format!("CPU use{at_line}")],
        (None, true) => vec!["CPU use against load".to_owned()],
    }
}

fn lag(headroom: &Headroom) -> Option<&'static str> {
    let Headroom::Known(index) = headroom else {
        return None;
    };
    let half = index.interpolated_ratio;
    match tells(half.unwrap_or(index.nearest_level_ratio)) {
        Tells::Less => Some("lags behind load"),
        Tells::Truth => Some("equals the load"),
        Tells::More => Some("runs ahead of load"),
        Tells::SeemsLess => Some("seems to lag behind load"),
        Tells::SeemsMore => Some("seems to run ahead of load"),
        Tells::Either => None,
    }
}

fn detail(level: &LevelFinding) -> String {
    match level.cpu_pct {
        Some(cpu) => format!(
            "{}, {} achieved: CPU use {} %",
            load_name(level),
            number::per_second(level.achieved_rps.unwrap_or(level.offered_rps)),
            number::pct(cpu)
        ),
        None => format!("{}: CPU use is not known", load_name(level)),
    }
}

/// A point of the curve, a level, or both: of rates that the search tried there is
/// no level, and the curve leaves out saturated levels that carry less than the most.
pub(super) struct TableRow<'a> {
    rate_rps: f64,
    pub(super) level: Option<&'a LevelFinding>,
    pub(super) point: Option<&'a CpuPoint>,
}

/// The rows of the tables behind the charts of the curve, by what they achieved.
pub(super) fn table_rows(view: View<'_>) -> Vec<TableRow<'_>> {
    let is_same = |level: &LevelFinding, rate: f64| {
        let achieved = level.achieved_rps.unwrap_or(f64::NAN);
        (achieved - rate).abs() <= 1e-6 * rate
    };
    let curve = &view.picture.curve;
    let on_curve = curve.iter().map(|point| TableRow {
        rate_rps: point.rate_rps,
        level: view.levels().iter().find(|l| is_same(l, point.rate_rps)),
        point: Some(point),
    });
    let off_curve = view.levels().iter().filter_map(|level| {
        level.cpu_pct?;
        let is_on = curve.iter().any(|point| is_same(level, point.rate_rps));
        Some(TableRow {
            rate_rps: level.achieved_rps.filter(|_| !is_on)?,
            level: Some(level),
            point: None,
        })
    });
    let mut rows: Vec<TableRow<'_>> = on_curve.chain(off_curve).collect();
    sort_by_number(&mut rows, |one| one.rate_rps);
    rows
}

/// The columns that say what each row is: the level, by the name that it has everywhere,
/// and what it achieved, which is another number.
pub(super) fn row_columns(view: View<'_>, rows: &[TableRow<'_>]) -> [Column; 3] {
    let of = ColumnsOf(rows);
    let load = |row: &TableRow<'_>| row.level.map(|level| level.load_pct);
    let achieved = |row: &TableRow<'_>| Some(100.0 * row.rate_rps / view.rated()?);
    [
        of.column("load", "%", |row| known(load(row), number::trimmed_pct)),
        of.column("achieved", "% of rated", |row| {
            known(achieved(row), number::pct)
        }),
        of.column("achieved", "/s", |row| number::rate(row.rate_rps)),
    ]
}

fn table(view: View<'_>) -> Vec<Column> {
    let rows = table_rows(view);
    let of = ColumnsOf(&rows);
    let measured = |row: &TableRow<'_>| match row.point {
        Some(point) => Some(point.measured_cpu_pct),
        None => row.level?.cpu_pct,
    };
    let fitted = |row: &TableRow<'_>| row.point.map(|point| Written::pct(point.cpu_pct));
    let mut columns = Vec::from(row_columns(view, &rows));
    columns.extend([
        of.column("CPU", "%", |row| known(measured(row), number::pct)),
        of.column("fitted", "%", |row| {
            known(fitted(row), |fitted| fitted.value)
        }),
        of.column("95 % band", "%", |row| ends(fitted(row))),
    ]);
    columns
}

fn trial(trial: &TrialPicture) -> Option<(f64, f64)> {
    let is_load = !matches!(
        trial.phase,
        Phase::Idle | Phase::WarmUp | Phase::Calibration
    );
    let counts = is_load && trial.invalid.is_empty();
    trial.load_pct.zip(trial.cpu_pct).filter(|_| counts)
}

/// Loads in percent of the rated rate, or where that is not known in requests
/// per second, for this chart and for that of work. CPU time is used by what
/// was answered, and beyond saturation that is less than what was offered.
pub(super) fn load_axis(view: View<'_>) -> Axis {
    let curve = view.picture.curve.iter().filter_map(|p| p.load_pct);
    let trials = view.picture.trials.iter().filter_map(trial);
    let all = curve.chain(trials.map(|(load, _)| load)).chain(loads(view));
    if view.rated().is_none() {
        let scale = Scale::up_to(loads(view));
        return Axis::new("achieved load, requests/s", scale, Unit::Rate);
    }
    let most = all.fold(100.0, f64::max);
    let scale = Scale::linear(0.0, (most / 10.0 - 0.1).ceil() * 10.0);
    Axis::new("achieved load, % of the rated rate", scale, Unit::Number)
}

fn load(view: View<'_>, level: &LevelFinding) -> f64 {
    match view.rated() {
        None => level.achieved_rps.unwrap_or(level.offered_rps),
        rated => achieved_pct(level, rated),
    }
}

fn loads(view: View<'_>) -> impl Iterator<Item = f64> {
    let known = view.levels().iter().filter(|l| l.cpu_pct.is_some());
    known.map(move |level| load(view, level))
}

pub(super) fn picks(view: View<'_>) -> Vec<Option<f64>> {
    let place = |l: &LevelFinding| l.cpu_pct.map(|_| load(view, l));
    view.levels().iter().map(place).collect()
}

pub(super) fn place(view: View<'_>) -> impl Fn(f64) -> Option<f64> {
    let rated = view.rated();
    move |rate| Some(rated.map_or(rate, |rated| 100.0 * rate / rated))
}

fn panel(view: View<'_>) -> Panel {
    let findings = view.findings();
    let curve: Vec<Datum> = view.picture.curve.iter().filter_map(curve_point).collect();
    let is_rated = view.rated().is_some();
    let point = |(i, level): (usize, &LevelFinding)| {
        let cpu = level.cpu_pct.unwrap_or(f64::NAN);
        Datum::at(load(view, level), cpu, Some(i))
    };
    let levels = view.levels().iter().enumerate().map(point);
    let mut points = Series::line("CPU", Tone::Cpu, levels.collect());
    // The curve is fitted, and so runs beside the points.
    let fitted = Series {
        marker: None,
        ranges: Ranges::Band,
        ..Series::line("", Tone::Cpu, curve)
    };
    if !fitted.data.is_empty() {
        points.line = Line::None;
    }
    let place = place(view);
    let ring = |capacity: &CapacityFinding| {
        let known = is_decided(capacity) && is_rated;
        let rate = capacity.rate_rps.filter(|_| known)?;
        let at = capacity::load_line(capacity).map_or(rate.value, |(at, _)| at);
        Some(Ring {
            at: (place(at)?, capacity.cpu_pct?.value),
            is_other: !leads(findings, capacity),
            ..Ring::default()
        })
    };
    let trials = Series::specks(Tone::Cpu, view.picture.trials.iter().filter_map(trial));
    let diagonal = Series::diagonal("CPU use = load", 100.0);
    let mut panel = Panel::of_cpu(load_axis(view), diagonal);
    panel.height = Height::Equal;
    if !is_rated {
        // A load in percent of nothing that is known would be no load.
        panel.series.clear();
        panel.height = Height::Fixed(320.0);
    }
    panel.series.extend([fitted, trials, points]);
    panel.marks = load_marks(findings, &place);
    panel.rings = findings.capacity.iter().filter_map(ring).collect();
    panel
}

fn curve_point(point: &CpuPoint) -> Option<Datum> {
    Some(Datum::estimate(point.load_pct?, point.cpu_pct))
}
