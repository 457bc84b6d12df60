//! Work per CPU-second against load: the chart below CPU use.

use super::cpu::{TableRow, load_axis, picks, place, row_columns, table_rows};
use super::{View, load_marks, load_name};
use crate::chart::{Axis, Chart, Datum, Height, Mark, Panel, Ranges, Scale, Series, Tone, Unit};
use crate::number::{self, Written};
use crate::table::{Column, ColumnsOf, ends, or_dash};
use plimsoll_model::{CpuPoint, Estimate, LevelFinding, WorkOf};

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    let points = points(view);
    points.first()?;
    let description = "Requests per CPU-second over achieved load in percent of the rated rate.";
    Some(Chart {
        description: description.to_owned(),
        picks: picks(view),
        details: view.details(|level| match of_level(view, level) {
            Some(work) => {
                let work = Written::rate(work).with_ends("");
                format!("{work} requests per CPU-second")
            }
            None => "work per CPU-second is not known".to_owned(),
        }),
        table: table(view),
        ..Chart::of(
            panel(view, &points),
            "work",
            title(view, &points),
            hint(view),
        )
    })
}

fn panel(view: View<'_>, points: &[(f64, Estimate)]) -> Panel {
    let label = match is_per_cpu(view) {
        true => "requests per CPU-second",
        false => "requests per second with all CPUs busy",
    };
    // From 0, so that a small difference looks small.
    let highest =
        |(_, work): &(f64, Estimate)| work.high.unwrap_or(work.value).min(2.0 * work.value);
    let scale = Scale::from_zero(points.iter().map(highest), 4);
    let data = points
        .iter()
        .map(|(load, work)| Datum::estimate(*load, *work));
    let series = Series {
        ranges: Ranges::Band,
        ..Series::line("", Tone::Work, data.collect())
    };
    let unnamed = |mark| Mark {
        name: String::new(),
        ..mark
    };
    let marks = load_marks(view.findings(), place(view)).into_iter();
    let y = Axis::new(label, scale, Unit::Rate);
    Panel {
        height: Height::Fixed(180.0),
        marks: marks.map(unnamed).collect(),
        ..Panel::of(load_axis(view), y, vec![series])
    }
}

fn hint(view: View<'_>) -> &'static str {
    match view.picture.work_of {
        WorkOf::Service => {
            "Good answers per second of the service's own CPU time, against achieved load. Level: \
             a request costs the same at any load. Falling: the more load, the more CPU time a \
             request costs. CPU use, above, has in it all else that ran on these CPUs."
        }
        WorkOf::Cpus => {
            "Good answers per second that a CPU is busy, against achieved load. Level: work is \
             proportional to CPU use. Falling: the last percents of CPU use carry less."
        }
    }
}

/// Whether what is counted is seconds of one CPU, and not of the machine.
fn is_per_cpu(view: View<'_>) -> bool {
    view.picture.service_cpus.is_some() || view.picture.work_of == WorkOf::Service
}

/// The work at the lowest and at the highest level; where no level has it, at
/// the lowest and the highest rate.
fn title(view: View<'_>, points: &[(f64, Estimate)]) -> String {
    let unit = match is_per_cpu(view) {
        true => "A CPU-second",
        false => "A second with all CPUs busy",
    };
    let per = |work: Estimate| match view.picture.work_of {
        // To the nanosecond, and as the level table has it.
        WorkOf::Service => number::short(work.value),
        WorkOf::Cpus => Written::rate(work).with_ends(""),
    };
    let levels = view.levels();
    let of_level = |l: &LevelFinding| Some((load_name(l), of_level(view, l)?));
    let mut known: Vec<(String, Estimate)> = levels.iter().filter_map(of_level).collect();
    if known.is_empty() {
        let name = |pct: f64| format!("{} % achieved load", number::trimmed_pct(pct));
        known = points.iter().map(|(at, work)| (name(*at), *work)).collect();
    }
    match (known.first(), known.last()) {
        (Some(first), Some(last)) if first.0 != last.0 => format!(
            "{unit} does {} requests at {} and {} at {}",
            per(first.1),
            first.0,
            per(last.1),
            last.0
        ),
        (Some(only), _) => format!("{unit} does {} requests at {}", per(only.1), only.0),
        _ => "Work per CPU-second is not known".to_owned(),
    }
}

/// The work of a level: of the same CPU time as in the level table, where that
/// has one, with the band of the curve there.
fn of_level(view: View<'_>, level: &LevelFinding) -> Option<Estimate> {
    let rate = level.achieved_rps?;
    let off = |p: &CpuPoint| (p.rate_rps - rate).abs();
    let near = view.picture.curve.iter().filter(|p| off(p) <= 0.03 * rate);
    let near = near.min_by(|a, b| off(a).total_cmp(&off(b)));
    let drawn = near.and_then(|p| p.work_per_cpu_s);
    let own = level.cpu_us_per_request.filter(|us| *us > 0.0);
    match (view.picture.work_of, own) {
        (WorkOf::Service, Some(us)) => {
            let own = 1e6 / us;
            let held = |(low, high): &(f64, f64)| (*low..=*high).contains(&own);
            let ends = drawn.and_then(|e| e.interval()).filter(held);
            Some(ends.map_or(Estimate::alone(own), |(low, high)| {
                Estimate::within(own, low, high)
            }))
        }
        _ => drawn,
    }
}

fn points(view: View<'_>) -> Vec<(f64, Estimate)> {
    let known = |p: &CpuPoint| Some((p.load_pct?, p.work_per_cpu_s?));
    view.picture.curve.iter().filter_map(known).collect()
}

fn table(view: View<'_>) -> Vec<Column> {
    let rows = table_rows(view);
    let of = ColumnsOf(&rows);
    let work = |row: &TableRow<'_>| match row.point {
        Some(point) => point.work_per_cpu_s,
        None => of_level(view, row.level?),
    };
    let written = |row: &TableRow<'_>| work(row).map(Written::rate);
    let mut columns = Vec::from(row_columns(view, &rows));
    columns.extend([
        of.column("work", "/CPU-s", |row| or_dash(written(row), |w| w.value)),
        of.column("95 % band", "/CPU-s", |row| ends(written(row))),
    ]);
    columns
}
