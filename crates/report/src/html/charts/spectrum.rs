//! The percentile spectrum: which part of the requests is answered within
//! which time, one line per level.

use super::draw::{Drawing, Size, path};
use super::label::{GoalLine, MetMark};
use super::scale::Scale;
use super::{Figure, View, both, goal_name, load_name, time_tick};
use crate::html::markup::El;
use crate::levels::known;
use crate::number::{self, TimeUnit, time_us};
use crate::table::Column;
use plimsoll_model::{CapacityFinding, Goal, LatencySummary, LevelFinding, SpectrumPoint};

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    // A single number per row has no spectrum.
    if view.report.is_imported() {
        return None;
    }
    view.picture.levels.iter().find(|l| l.spectrum.len() > 1)?;
    let levels = &view.findings().levels;
    let title = title(levels)?;
    let description = format!(
        "Latency over percentile, both axes logarithmic, one line per level; the picked level is \
         drawn strongly. {title}."
    );
    Some(Figure {
        id: "spectrum",
        hint:
            "One line per load level: to the right, fewer and fewer requests take longer. Pick a \
               level below, or in any chart."
                .to_owned(),
        drawings: both(|size| draw(view, size, &title, &description)),
        title,
        told: levels.iter().map(told).collect(),
        table: table(levels),
        rows_are_levels: true,
    })
}

/// The tail at the lowest and at the highest level.
fn title(levels: &[LevelFinding]) -> Option<String> {
    let has = |l: &&LevelFinding| l.latency_us.is_some();
    let (first, last) = (levels.iter().find(has)?, levels.iter().rfind(has)?);
    let tail = |l: &LevelFinding| l.latency_us.as_ref().map_or(0.0, |s| s.p999);
    Some(format!(
        "One request in 1,000 takes longer than {} at {}, and than {} at {}",
        time_us(tail(first)),
        load_name(first),
        time_us(tail(last)),
        load_name(last)
    ))
}

fn told(level: &LevelFinding) -> String {
    match &level.latency_us {
        Some(l) => format!(
            "{}: half within {}, 90 % within {}, 99 % within {}, 99.9 % within {}, all within {}",
            load_name(level),
            time_us(l.p50),
            time_us(l.p90),
            time_us(l.p99),
            time_us(l.p999),
            time_us(l.max)
        ),
        None => format!("{}: no trial counts", load_name(level)),
    }
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    let column = |name, of: fn(&LatencySummary) -> f64| {
        let values = levels.iter().map(|l| l.latency_us.as_ref().map(of));
        let unit = TimeUnit::of(values.clone().flatten());
        Column::new(
            name,
            unit.name,
            0,
            values.map(|us| known(us, |us| unit.show(us))),
        )
    };
    vec![
        Column::new(
            "load",
            "%",
            0,
            levels.iter().map(|l| number::trimmed_pct(l.load_pct)),
        ),
        column("p50", |l| l.p50),
        column("p90", |l| l.p90),
        column("p99", |l| l.p99),
        column("p99.9", |l| l.p999),
        column("max", |l| l.max),
    ]
}

/// How many requests there are for one that takes longer.
fn rarity(share: f64) -> f64 {
    1.0 / (1.0 - share).max(1e-9)
}

fn draw(view: View<'_>, size: Size, title: &str, description: &str) -> El {
    let margins = [34.0, 30.0, 42.0, size.pick(58.0, 50.0)];
    let mut chart = Drawing::new(
        size,
        size.pick(640.0, 360.0),
        size.pick(360.0, 320.0),
        margins,
    );
    let all = || view.picture.levels.iter().flat_map(|l| &l.spectrum);
    let rarest = all().map(|p| rarity(p.share)).fold(100.0, f64::max);
    let x = Scale::log(2.0, rarest, chart.plot.x());
    let limits = view
        .findings()
        .capacity
        .iter()
        .filter_map(CapacityFinding::latency_limit_us);
    let values = all().map(|p| p.latency_us).chain(limits);
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let y = Scale::log(least, values.fold(0.0, f64::max), chart.plot.y());
    let ticks = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
    let ticks = ticks.into_iter().filter(|share| x.holds(rarity(*share)));
    let ticks: Vec<(f64, String)> = ticks
        .map(|share| {
            (
                rarity(share),
                format!("{} %", number::trimmed(100.0 * share)),
            )
        })
        .collect();
    chart.x_axis_at(&x, "requests answered within this time", &ticks);
    chart.y_axis(&y, "latency", time_tick);
    let (goals, marks) = goals(view, &x, &y);
    chart.goal_lines(&goals);
    for (level, of) in view.picture.levels.iter().enumerate() {
        let place = |p: &SpectrumPoint| (x.at(rarity(p.share)), y.at(p.latency_us));
        // On a phone, and among many lines, half of the points are all that
        // can be seen.
        let crowded = usize::from(view.picture.levels.len() > 60);
        let every = size.pick(1, 2) << crowded;
        let last = of.spectrum.len().saturating_sub(1);
        let seen = of.spectrum.iter().enumerate();
        let seen = seen.filter(|(i, _)| i % every == 0 || *i == last);
        let points: Vec<(f64, f64)> = seen.map(|(_, p)| place(p)).collect();
        if points.len() > 1 {
            chart.put(path(&points, "line level").level(level));
        }
    }
    chart.marks(&marks);
    chart.goal_names(&goals, &[]);
    chart.finish("spectrum", title, description)
}

/// The limits of goals on latency, and each at its percentile. The axis says
/// which percentile that is.
fn goals(view: View<'_>, x: &Scale, y: &Scale) -> (Vec<GoalLine>, Vec<MetMark>) {
    let goal = |capacity: &CapacityFinding| {
        let Goal::Latency { quantile, .. } = capacity.goal else {
            return None;
        };
        let at = y.at(capacity.latency_limit_us()?);
        let line = GoalLine {
            y: at,
            class: "",
            name: goal_name(capacity),
        };
        let mark = MetMark {
            between: None,
            at: (x.at(rarity(quantile.fraction())), at),
            class: String::new(),
            name: String::new(),
        };
        Some((line, mark))
    };
    view.findings().capacity.iter().filter_map(goal).unzip()
}
