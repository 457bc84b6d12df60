//! CPU use against load, both in percent on equal axes.

use super::draw::{Drawing, Shape, Size, band, line, load_mark, path, point, speck, text};
use super::label::{HEAD, extra_head};
use super::scale::Scale;
use super::{Figure, View, both, leads, load_lines, load_name, pct_tick};
use crate::capacity::leading;
use crate::headroom::{Beyond, advice};
use crate::html::markup::El;
use crate::levels::{self, known};
use crate::number::{self, MISSING, Written};
use crate::table::Column;
use plimsoll_model::{CpuPoint, Headroom, LevelFinding, Phase, TrialPicture};

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    view.picture.curve.iter().find(|p| p.load_pct.is_some())?;
    let levels = &view.findings().levels;
    let title = title(view);
    let description = format!(
        "CPU use in percent over achieved load in percent of the rated rate, with the diagonal on \
         which both are equal. {title}."
    );
    let banded = view
        .picture
        .curve
        .iter()
        .any(|p| p.cpu_pct.interval().is_some());
    let band = if banded {
        " Shaded: its 95 % band; small dots: single trials."
    } else {
        ""
    };
    Some(Figure {
        id: "cpu",
        hint: format!(
            "CPU use against achieved load on equal axes. On the dotted diagonal CPU use would tell \
             the load; below it, CPU use lags behind.{band}"
        ),
        drawings: both(|size| draw(view, size, &title, &description)),
        title,
        told: levels.iter().map(told).collect(),
        table: table(view),
        rows_are_levels: false,
    })
}

/// What the chart shows: how far CPU use tells the truth.
fn title(view: View<'_>) -> String {
    match &view.findings().headroom {
        Headroom::Known(index) => {
            let promise = leading(&view.findings().capacity).map(|first| first.finding);
            let most = Written::rate(index.max_rate_rps).value;
            let (at, rate, ratio) = match (index.half_rate_rps, index.interpolated_ratio) {
                (Some(half), Some(ratio)) => (
                    "At 50 % CPU use".to_owned(),
                    Written::rate(half).value,
                    ratio,
                ),
                _ => (
                    "In proportion to CPU use".to_owned(),
                    Written::rate(index.linear_expectation_rps).value,
                    index.nearest_level_ratio,
                ),
            };
            format!(
                "{at} it does {rate}/s and at most {most}/s, {}",
                advice(ratio, Beyond::of(index.max_rate_rps, promise))
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

fn told(level: &LevelFinding) -> String {
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

/// What each point of the curve is, in the tables of this chart and of the one
/// below it: the level, by the name that it has everywhere, and what it achieved,
/// which is another number. Rates that the search tried are no level.
pub(super) fn loads_of_points(view: View<'_>) -> [Column; 3] {
    let points = || view.picture.curve.iter();
    let name = |p: &CpuPoint| {
        let same = |l: &&LevelFinding| {
            let achieved = l.achieved_rps.unwrap_or(f64::NAN);
            (achieved - p.rate_rps).abs() <= 1e-6 * p.rate_rps
        };
        let level = view.findings().levels.iter().find(same);
        known(level.map(|l| l.load_pct), number::trimmed_pct)
    };
    let share = |p: &CpuPoint| known(p.load_pct, number::pct);
    let rate = |p: &CpuPoint| number::rate(p.rate_rps);
    [
        Column::new("load", "%", 0, points().map(name)),
        Column::new("achieved", "% of rated", 0, points().map(share)),
        Column::new("achieved", "/s", 0, points().map(rate)),
    ]
}

fn table(view: View<'_>) -> Vec<Column> {
    let points = || view.picture.curve.iter();
    let fitted = |p: &CpuPoint| Written::pct(p.cpu_pct);
    let ends = |p: &CpuPoint| fitted(p).ends().unwrap_or_else(|| MISSING.to_owned());
    let measured = |p: &CpuPoint| number::pct(p.measured_cpu_pct);
    let mut columns = Vec::from(loads_of_points(view));
    columns.extend([
        Column::new("CPU", "%", 0, points().map(measured)),
        Column::new("fitted", "%", 0, points().map(|p| fitted(p).value)),
        Column::new("95 % band", "%", 0, points().map(ends)),
    ]);
    columns
}

/// Trials at a load that count.
pub(super) fn is_point(trial: &TrialPicture) -> bool {
    let phase = !matches!(trial.phase, Phase::Idle | Phase::Calibration);
    phase && trial.invalid.is_empty()
}

/// Loads in percent, for this chart and for the one below it.
pub(super) fn load_scale(view: View<'_>, pixels: (f64, f64)) -> Scale {
    let curve = view.picture.curve.iter().filter_map(|p| p.load_pct);
    let trials = view.picture.trials.iter().filter(|t| is_point(t));
    let most = curve
        .chain(trials.filter_map(|t| t.load_pct))
        .fold(100.0, f64::max);
    Scale::linear((0.0, (most / 10.0 - 0.1).ceil() * 10.0), pixels)
}

/// What stands at the axis of both: CPU time is used by what was answered, and
/// beyond saturation that is less than what was offered.
pub(super) const ACHIEVED: &str = "achieved load, % of the rated rate";

/// How wide the two charts are.
pub(super) const WIDTH: (f64, f64) = (520.0, 360.0);
/// Their left and right margins.
pub(super) const SIDES: (f64, f64) = (46.0, 20.0);

fn draw(view: View<'_>, size: Size, title: &str, description: &str) -> El {
    let width = size.pick(WIDTH.0, WIDTH.1);
    let across = load_scale(view, (0.0, 1.0)).most();
    // As many pixels per percent upwards as sideways.
    let rated = view.findings().rated.as_ref().map(|r| r.rate_rps);
    let place = |rate: f64| rated.map(|rated| 100.0 * rate / rated);
    let loads = load_lines(view.findings(), place);
    let head = extra_head(&loads, width - 2.0 - SIDES.0);
    let (top, bottom) = (HEAD + head, 42.0);
    let height = top + bottom + (width - SIDES.0 - SIDES.1) * 100.0 / across;
    let mut chart = Drawing::new(size, width, height, [top, SIDES.1, bottom, SIDES.0]);
    let x = load_scale(view, chart.plot.x());
    let y = Scale::linear((0.0, 100.0), chart.plot.y());
    chart.x_axis(&x, ACHIEVED, pct_tick);
    chart.y_axis(&y, "CPU use, %", pct_tick);
    let levels = view.findings().levels.iter();
    let level_at = |l: &LevelFinding| l.cpu_pct.map(|_| x.at(achieved_pct(view, l)));
    chart.levels_at(levels.clone().map(level_at).collect());
    chart.put(line(
        (x.at(0.0), y.at(0.0)),
        (x.at(100.0), y.at(100.0)),
        "diagonal",
    ));
    chart.load_lines(&loads, &x);
    curve(&mut chart, view, &x, &y);
    for (i, level) in levels.enumerate() {
        if let Some(cpu) = level.cpu_pct {
            let at = (x.at(achieved_pct(view, level)), y.at(cpu));
            chart.put(point(at, Shape::Circle, "pt cpu").level(i));
        }
    }
    for capacity in view
        .findings()
        .capacity
        .iter()
        .filter(|c| super::is_told(c))
    {
        let rate = capacity.rate_rps.and_then(|rate| place(rate.value));
        if let (Some(load), Some(cpu)) = (rate, capacity.cpu_pct) {
            let class = if leads(view.findings(), capacity) {
                ""
            } else {
                "other"
            };
            chart.put(load_mark((x.at(load), y.at(cpu.value)), class));
        }
    }
    // Below the diagonal and to its right: there it never crosses it.
    let name_at = (x.at(20.0) + 4.0, y.at(20.0) + 14.0);
    chart.put(text(name_at, "diagonal-name", "CPU use = load"));
    chart.finish("cpu", title, description)
}

/// The load that a level really was.
pub(super) fn achieved_pct(view: View<'_>, level: &LevelFinding) -> f64 {
    let rated = view.findings().rated.as_ref();
    levels::achieved_pct(level, rated.map(|r| r.rate_rps))
}

fn curve(chart: &mut Drawing, view: View<'_>, x: &Scale, y: &Scale) {
    let points = view
        .picture
        .curve
        .iter()
        .filter_map(|p| Some((x.at(p.load_pct?), p)));
    let fitted: Vec<(f64, f64)> = points
        .clone()
        .map(|(x, p)| (x, y.at(p.cpu_pct.value)))
        .collect();
    let ends = |end: fn((f64, f64)) -> f64| -> Option<Vec<(f64, f64)>> {
        points
            .clone()
            .map(|(x, p)| Some((x, y.at(end(p.cpu_pct.interval()?)))))
            .collect()
    };
    if let (Some(low), Some(high)) = (ends(|e| e.0), ends(|e| e.1)) {
        chart.put(band(&low, &high, "band cpu"));
    }
    chart.put(path(&fitted, "line cpu"));
    for trial in view.picture.trials.iter().filter(|t| is_point(t)) {
        if let (Some(load), Some(cpu)) = (trial.load_pct, trial.cpu_pct) {
            chart.put(speck((x.at(load), y.at(cpu)), "speck cpu"));
        }
    }
}
