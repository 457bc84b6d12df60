//! Work per CPU-second against load: the chart below CPU use.

use super::cpu::{ACHIEVED, SIDES, WIDTH, achieved_pct, load_scale, loads_of_points};
use super::draw::{Drawing, Shape, Size, band, path, point};
use super::scale::Scale;
use super::{Figure, View, both, load_lines, load_name, pct_tick, rate_ticks};
use crate::html::markup::El;
use crate::number::{self, MISSING, Written};
use crate::table::Column;
use plimsoll_model::{CpuPoint, Estimate, LevelFinding, WorkOf};

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    let points = points(view);
    points.first()?;
    let title = title(view, &points);
    let description = format!(
        "Requests per CPU-second over achieved load in percent of the rated rate. {title}."
    );
    let levels = &view.findings().levels;
    Some(Figure {
        id: "work",
        hint: hint(view).to_owned(),
        drawings: both(|size| draw(view, &points, size, &title, &description)),
        title,
        told: levels.iter().map(|l| told(view, l)).collect(),
        table: table(view),
        rows_are_levels: false,
    })
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

/// The work at the lowest and at the highest level; where no level tells it, at
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
    let levels = &view.findings().levels;
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
    let curve = view.picture.curve.iter();
    curve
        .filter_map(|p| Some((p.load_pct?, p.work_per_cpu_s?)))
        .collect()
}

/// What a level's own CPU time says.
fn told(view: View<'_>, level: &LevelFinding) -> String {
    match of_level(view, level) {
        Some(work) => format!(
            "{}: {} requests per CPU-second",
            load_name(level),
            Written::rate(work).with_ends("")
        ),
        None => format!("{}: work per CPU-second is not known", load_name(level)),
    }
}

fn table(view: View<'_>) -> Vec<Column> {
    let points = || view.picture.curve.iter();
    let written = |p: &CpuPoint| p.work_per_cpu_s.map(Written::rate);
    let value = |p: &CpuPoint| written(p).map_or_else(|| MISSING.to_owned(), |w| w.value);
    let ends = |p: &CpuPoint| {
        written(p)
            .and_then(|w| w.ends())
            .unwrap_or_else(|| MISSING.to_owned())
    };
    let mut columns = Vec::from(loads_of_points(view));
    columns.extend([
        Column::new("work", "/CPU-s", 0, points().map(value)),
        Column::new("95 % band", "/CPU-s", 0, points().map(ends)),
    ]);
    columns
}

fn draw(
    view: View<'_>,
    points: &[(f64, Estimate)],
    size: Size,
    title: &str,
    description: &str,
) -> El {
    let width = size.pick(WIDTH.0, WIDTH.1);
    let mut chart = Drawing::new(size, width, 230.0, [34.0, SIDES.1, 42.0, SIDES.0]);
    let x = load_scale(view, chart.plot.x());
    // From 0, so that a small difference looks small.
    let highest =
        |(_, work): &(f64, Estimate)| work.high.unwrap_or(work.value).min(2.0 * work.value);
    let most = points.iter().map(highest).fold(0.0, f64::max);
    let y = Scale::from_zero(most, chart.plot.y(), 4);
    chart.x_axis(&x, ACHIEVED, pct_tick);
    let per = match is_per_cpu(view) {
        true => "requests per CPU-second",
        false => "requests per second with all CPUs busy",
    };
    chart.y_axis(&y, per, rate_ticks(y.most()));
    let level_at = |l: &LevelFinding| l.cpu_pct.map(|_| x.at(achieved_pct(view, l)));
    chart.levels_at(view.findings().levels.iter().map(level_at).collect());
    let rated = view.findings().rated.as_ref().map(|r| r.rate_rps);
    let lines = load_lines(view.findings(), |rate| {
        rated.map(|rated| 100.0 * rate / rated)
    });
    let unnamed = lines.into_iter().map(|line| super::label::LoadLine {
        name: String::new(),
        ..line
    });
    chart.load_lines(&unnamed.collect::<Vec<_>>(), &x);
    let ends = |end: fn((f64, f64)) -> f64| -> Option<Vec<(f64, f64)>> {
        let place =
            |(load, work): &(f64, Estimate)| Some((x.at(*load), y.at(end(work.interval()?))));
        points.iter().map(place).collect()
    };
    if let (Some(low), Some(high)) = (ends(|e| e.0), ends(|e| e.1)) {
        chart.put(band(&low, &high, "band work"));
    }
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|(load, w)| (x.at(*load), y.at(w.value)))
        .collect();
    chart.put(path(&places, "line work"));
    for at in places {
        chart.put(point(at, Shape::Circle, "pt work"));
    }
    chart.finish("work", title, description)
}
