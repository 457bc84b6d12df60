//! Work per CPU-second against load: the chart below CPU use.

use super::cpu::{ACHIEVED, SIDES, WIDTH, achieved_pct, load_scale};
use super::draw::{Drawing, Shape, Size, band, path, point};
use super::scale::Scale;
use super::{Figure, View, both, load_lines, load_name, pct_tick, rate_ticks};
use crate::html::markup::El;
use crate::levels::known;
use crate::number::{self, MISSING, Written};
use crate::table::Column;
use plimsoll_model::{CpuPoint, Estimate, LevelFinding};

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    let points = points(view);
    let (first, last) = (points.first()?, points.last()?);
    let unit = unit(view);
    let per = |work: Estimate| number::short(work.value);
    let title = format!(
        "{unit} does {} requests at {} % achieved load and {} at {} %",
        per(first.1),
        number::trimmed_pct(first.0),
        per(last.1),
        number::trimmed_pct(last.0)
    );
    let description = format!(
        "Requests per CPU-second over achieved load in percent of the rated rate. {title}."
    );
    let levels = &view.findings().levels;
    Some(Figure {
        id: "work",
        hint: "Good answers per second that a CPU is busy, against achieved load. Level: work is \
               proportional to CPU use. Falling: the last percents of CPU use carry less."
            .to_owned(),
        drawings: both(|size| draw(view, &points, size, &title, &description)),
        title,
        told: levels.iter().map(|l| told(view, l)).collect(),
        table: table(&view.picture.curve),
        rows_are_levels: false,
    })
}

fn unit(view: View<'_>) -> &'static str {
    match view.picture.service_cpus {
        Some(_) => "A CPU-second",
        None => "A second with all CPUs busy",
    }
}

fn points(view: View<'_>) -> Vec<(f64, Estimate)> {
    let curve = view.picture.curve.iter();
    curve
        .filter_map(|p| Some((p.load_pct?, p.work_per_cpu_s?)))
        .collect()
}

/// What a level's own CPU use says.
fn told(view: View<'_>, level: &LevelFinding) -> String {
    let near = |p: &&CpuPoint| {
        let rate = level.achieved_rps.unwrap_or(level.offered_rps);
        (p.rate_rps - rate).abs() <= 0.03 * rate
    };
    let work = view
        .picture
        .curve
        .iter()
        .find(near)
        .and_then(|p| p.work_per_cpu_s);
    match work {
        Some(work) => format!(
            "{}: {} requests per CPU-second",
            load_name(level),
            Written::rate(work).with_ends("")
        ),
        None => format!("{}: work per CPU-second is not known", load_name(level)),
    }
}

fn table(curve: &[CpuPoint]) -> Vec<Column> {
    let written = |p: &CpuPoint| p.work_per_cpu_s.map(Written::rate);
    let value = |p: &CpuPoint| written(p).map_or_else(|| MISSING.to_owned(), |w| w.value);
    let ends = |p: &CpuPoint| {
        written(p)
            .and_then(|w| w.ends())
            .unwrap_or_else(|| MISSING.to_owned())
    };
    vec![
        Column::new(
            "achieved",
            "% of rated",
            0,
            curve.iter().map(|p| known(p.load_pct, number::pct)),
        ),
        Column::new(
            "achieved",
            "/s",
            0,
            curve.iter().map(|p| number::rate(p.rate_rps)),
        ),
        Column::new("work", "/CPU-s", 0, curve.iter().map(value)),
        Column::new("95 % band", "/CPU-s", 0, curve.iter().map(ends)),
    ]
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
    let per = match view.picture.service_cpus {
        Some(_) => "requests per CPU-second",
        None => "requests per second with all CPUs busy",
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
