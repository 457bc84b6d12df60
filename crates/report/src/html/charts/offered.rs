//! Offered against achieved rate, and below it what the generator itself was
//! late by.

use super::draw::{Drawing, Plot, Shape, Size, line, path, point, text};
use super::scale::Scale;
use super::{Figure, View, both, load_name, rate_ticks, room_beyond, time_tick};
use crate::html::markup::El;
use crate::levels::known;
use crate::number::{self, per_second, time_us};
use crate::table::Column;
use plimsoll_model::LevelFinding;

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    if view.report.is_imported() {
        return None;
    }
    let levels = &view.findings().levels;
    levels.iter().find(|l| l.achieved_rps.is_some())?;
    let title = title(view);
    let description = format!(
        "Achieved over offered rate, with the diagonal on which both are equal; below it the \
         generator's own lateness, logarithmic. {title}."
    );
    Some(Figure {
        id: "offered",
        hint: "Above: good answers per second against what was offered; on the diagonal all is \
               answered. Below: what the load generator itself was late by (slip, p99)."
            .to_owned(),
        drawings: both(|size| draw(view, size, &title, &description)),
        title,
        told: levels.iter().map(told).collect(),
        table: table(levels),
        rows_are_levels: true,
    })
}

/// Up to which load the service keeps up.
fn title(view: View<'_>) -> String {
    let rows = || view.findings().levels.iter().zip(&view.picture.levels);
    let behind = rows().find(|(_, more)| more.carried == Some(false));
    let kept = rows().rfind(|(_, more)| more.carried == Some(true));
    let achieved = |l: &LevelFinding| per_second(l.achieved_rps.unwrap_or_default());
    match (kept, behind) {
        (Some((last, _)), None) => {
            format!("What is offered is answered, up to {}", achieved(last))
        }
        (Some((last, _)), Some((first, _))) if last.offered_rps < first.offered_rps => format!(
            "Up to {} offered all is answered; of {}, {}",
            per_second(last.offered_rps),
            per_second(first.offered_rps),
            achieved(first)
        ),
        (_, Some((first, _))) => format!(
            "Of {} offered, {} are answered",
            per_second(first.offered_rps),
            achieved(first)
        ),
        (None, None) => "What was answered is not known".to_owned(),
    }
}

fn told(level: &LevelFinding) -> String {
    let slip = level.slip_us.as_ref();
    match (level.achieved_rps, slip) {
        (Some(achieved), Some(slip)) => format!(
            "{}: {} offered, {} answered, generator late by {} (p99)",
            load_name(level),
            per_second(level.offered_rps),
            per_second(achieved),
            time_us(slip.p99)
        ),
        (Some(achieved), None) => format!(
            "{}: {} offered, {} answered",
            load_name(level),
            per_second(level.offered_rps),
            per_second(achieved)
        ),
        _ => format!("{}: no trial counts", load_name(level)),
    }
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    let slip = |l: &LevelFinding| known(l.slip_us.as_ref().map(|s| s.p99), number::short);
    vec![
        Column::new(
            "load",
            "%",
            0,
            levels.iter().map(|l| number::trimmed_pct(l.load_pct)),
        ),
        Column::new(
            "offered",
            "/s",
            0,
            levels.iter().map(|l| number::rate(l.offered_rps)),
        ),
        Column::new(
            "achieved",
            "/s",
            0,
            levels.iter().map(|l| known(l.achieved_rps, number::rate)),
        ),
        Column::new("slip p99", "us", 0, levels.iter().map(slip)),
        Column::new(
            "errors",
            "%",
            0,
            levels.iter().map(|l| known(l.error_pct, number::small_pct)),
        ),
        Column::new(
            "unfinished",
            "",
            0,
            levels
                .iter()
                .map(|l| number::grouped(l.unfinished as f64, 0)),
        ),
    ]
}

/// Height of the panel of the slip.
const SLIP: f64 = 78.0;

fn draw(view: View<'_>, size: Size, title: &str, description: &str) -> El {
    let levels = &view.findings().levels;
    let margins = [34.0, 18.0, 42.0, size.pick(58.0, 50.0)];
    let mut chart = Drawing::new(
        size,
        size.pick(640.0, 360.0),
        size.pick(400.0, 380.0),
        margins,
    );
    let whole = chart.plot;
    let most = levels.iter().map(|l| l.offered_rps).fold(0.0, f64::max);
    let x = Scale::linear((0.0, room_beyond(most)), whole.x());
    let at = |l: &LevelFinding| x.at(l.offered_rps);
    // The lower panel first: it has the axis.
    chart.plot = Plot {
        top: whole.bottom - SLIP,
        ..whole
    };
    slip(&mut chart, levels, &at);
    chart.x_axis(
        &x,
        "offered load, requests per second",
        rate_ticks(x.most()),
    );
    chart.plot = Plot {
        bottom: whole.bottom - SLIP - 34.0,
        ..whole
    };
    let y = Scale::linear((0.0, x.most()), chart.plot.y());
    chart.y_axis(&y, "answered, requests per second", rate_ticks(y.most()));
    for tick in x.ticks(size.pick(7, 4)) {
        let upright = line(
            (x.at(tick), chart.plot.top),
            (x.at(tick), chart.plot.bottom),
            "grid",
        );
        chart.put(upright);
    }
    chart.put(line(
        (x.at(0.0), y.at(0.0)),
        (x.at(x.most()), y.at(x.most())),
        "diagonal",
    ));
    let name_at = (x.at(0.2 * x.most()) + 6.0, y.at(0.2 * x.most()) + 14.0);
    chart.put(text(name_at, "diagonal-name", "all answered"));
    let achieved = |l: &LevelFinding| Some((at(l), y.at(l.achieved_rps?)));
    let points: Vec<(f64, f64)> = levels.iter().filter_map(achieved).collect();
    chart.put(path(&points, "line rate"));
    for (i, level) in levels.iter().enumerate() {
        if let Some(at) = achieved(level) {
            chart.put(point(at, Shape::Circle, "pt rate").level(i));
        }
    }
    chart.plot = whole;
    chart.levels_at(levels.iter().map(|l| Some(at(l))).collect());
    chart.finish("offered", title, description)
}

fn slip(chart: &mut Drawing, levels: &[LevelFinding], at: &impl Fn(&LevelFinding) -> f64) {
    let plot = chart.plot;
    let values = || {
        levels
            .iter()
            .filter_map(|l| l.slip_us.as_ref())
            .map(|s| s.p99)
    };
    let least = values().fold(f64::INFINITY, f64::min);
    let y = Scale::log(least, values().fold(0.0, f64::max), plot.y());
    chart.y_ticks(&y, 2, time_tick);
    chart.put(text(
        (2.0, plot.top - 9.0),
        "axis-name",
        "generator late by, p99",
    ));
    let places: Vec<_> = levels
        .iter()
        .enumerate()
        .filter_map(|(i, l)| Some((i, (at(l), y.at(l.slip_us.as_ref()?.p99)))))
        .collect();
    let route: Vec<(f64, f64)> = places.iter().map(|(_, at)| *at).collect();
    chart.put(path(&route, "line slip"));
    for (level, at) in places {
        chart.put(point(at, Shape::Square, "pt slip").level(level));
    }
}
