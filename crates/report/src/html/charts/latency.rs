//! Latency against load.

mod said;

pub(crate) use said::kept;

use super::draw::{Drawing, Shape, Size, band, path, point, speck};
use super::label::{EndLabel, GoalLine, HEAD, LoadLine, MetMark, along, extra_head};
use super::layout::Area;
use super::scale::Scale;
use super::{
    Figure, View, both, goal_class, goal_name, leads, level_table, load_lines, rate_ticks,
    room_beyond, time_tick,
};
use crate::capacity::seen_broken;
use crate::html::markup::El;
use crate::number::per_second;
use plimsoll_model::{
    CapacityFinding, Goal, LatencySpread, LatencySummary, LevelFinding, Phase, Setting, Span,
    TrialPicture,
};

/// A percentile as it is drawn.
#[derive(Clone, Copy)]
struct Line {
    class: &'static str,
    name: &'static str,
    shape: Shape,
    of: fn(&LatencySummary) -> f64,
    spread: fn(&LatencySpread) -> Span,
}

/// From the top down.
const LINES: [Line; 3] = [
    Line::new("p999", "p99.9", Shape::Diamond, |l| l.p999, |s| s.p999),
    Line::new("p99", "p99", Shape::Square, |l| l.p99, |s| s.p99),
    Line::new("p50", "p50", Shape::Circle, |l| l.p50, |s| s.p50),
];

/// Of a table it is not known which percentile its latency is.
const TABLE: Line = Line::new("p99", "latency", Shape::Square, |l| l.p99, |s| s.p99);

impl Line {
    const fn new(
        class: &'static str,
        name: &'static str,
        shape: Shape,
        of: fn(&LatencySummary) -> f64,
        spread: fn(&LatencySpread) -> Span,
    ) -> Self {
        Self {
            class,
            name,
            shape,
            of,
            spread,
        }
    }
}

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    let levels = &view.findings().levels;
    levels.iter().find(|l| l.latency_us.is_some())?;
    let title = said::title(view);
    let lines = lines(view);
    let told = levels.iter().map(|l| said::told(l, &lines)).collect();
    let description = format!(
        "Latency over the offered rate, from {} to {}, latency on a logarithmic axis. {title}.",
        per_second(levels.first()?.offered_rps),
        per_second(levels.last()?.offered_rps),
    );
    Some(Figure {
        id: "latency",
        hint: said::hint(view),
        drawings: both(|size| draw(view, &lines, size, &title, &description)),
        title,
        told,
        table: level_table(view),
        rows_are_levels: true,
    })
}

fn lines(view: View<'_>) -> Vec<Line> {
    if view.report.is_imported() {
        vec![TABLE]
    } else {
        LINES.into()
    }
}

/// A trial that no level has, and that counts.
fn is_search(trial: &TrialPicture) -> bool {
    let phase = matches!(trial.phase, Phase::Search | Phase::Confirmation);
    phase && trial.invalid.is_empty()
}

fn draw(view: View<'_>, lines: &[Line], size: Size, title: &str, description: &str) -> El {
    let levels = &view.findings().levels;
    let loads = load_lines(view.findings(), Some);
    let (width, left) = (size.pick(900.0, 360.0), size.pick(58.0, 50.0));
    let head = extra_head(&loads, width - 2.0 - left);
    let height = size.pick(400.0, 330.0) + head;
    let mut chart = Drawing::new(size, width, height, [HEAD + head, 62.0, 42.0, left]);
    let x = Scale::linear((0.0, room_beyond(most_load(view, &loads))), chart.plot.x());
    let y = latency_scale(view, lines, chart.plot.y());
    chart.x_axis(
        &x,
        "offered load, requests per second",
        rate_ticks(x.most()),
    );
    chart.y_axis(&y, "latency", time_tick);
    let at = |l: &LevelFinding| x.at(l.offered_rps);
    chart.levels_at(levels.iter().map(|l| Some(at(l))).collect());
    chart.load_lines(&loads, &x);
    let goals = goals(&view.findings().capacity, &y);
    chart.goal_lines(&goals);
    let mut drawn: Vec<Area> = Vec::new();
    for one in lines {
        drawn.extend(along(&draw_line(&mut chart, view, *one, &at, &y)));
    }
    for trial in view.picture.trials.iter().filter(|t| is_search(t)) {
        if let (Setting::Offer { rate }, Some(us)) = (trial.setting, trial.p99_us) {
            chart.put(speck((x.at(rate.get()), y.at(us)), "speck p99"));
        }
    }
    end_labels(&mut chart, levels, lines, &y);
    let marks = marks(view, &x, &y);
    chart.marks(&marks);
    chart.goal_names(&goals, &drawn);
    chart.mark_names(&marks, &drawn);
    chart.finish("latency", title, description)
}

/// The highest load that anything is drawn at: levels, trials of the search, load
/// lines with their intervals. Beyond the end all would stand at the end.
fn most_load(view: View<'_>, loads: &[LoadLine]) -> f64 {
    let levels = view.findings().levels.iter().map(|l| l.offered_rps);
    let searched = view.picture.trials.iter().filter(|t| is_search(t));
    let searched = searched.filter_map(|t| match t.setting {
        Setting::Offer { rate } | Setting::Beside { rate, .. } => Some(rate.get()),
        Setting::Idle | Setting::Copies { .. } => None,
    });
    let ends = loads
        .iter()
        .map(|l| l.between.map_or(l.at, |(_, high)| high.max(l.at)));
    levels.chain(searched).chain(ends).fold(0.0, f64::max)
}

/// All that is drawn lies within: lines, bands, goals.
fn latency_scale(view: View<'_>, lines: &[Line], pixels: (f64, f64)) -> Scale {
    let rows = view.findings().levels.iter();
    let mut values: Vec<f64> = rows
        .filter_map(|l| l.latency_us.as_ref())
        .flat_map(|latency| lines.iter().map(|line| (line.of)(latency)))
        .collect();
    let spreads = view.picture.levels.iter().filter_map(|l| l.spread);
    values.extend(spreads.flat_map(|s| [s.p50.low, s.p50.high, s.p99.high, s.p999.high]));
    values.extend(
        view.findings()
            .capacity
            .iter()
            .filter_map(CapacityFinding::latency_limit_us),
    );
    let searched = view.picture.trials.iter().filter(|t| is_search(t));
    values.extend(searched.filter_map(|t| t.p99_us));
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    Scale::log(least, values.iter().copied().fold(0.0, f64::max), pixels)
}

/// The limits of goals on latency, from the top down.
fn goals(capacity: &[CapacityFinding], y: &Scale) -> Vec<GoalLine> {
    let goal = |c: &CapacityFinding| {
        Some(GoalLine {
            y: y.at(c.latency_limit_us()?),
            class: goal_class(c),
            name: goal_name(c),
        })
    };
    let mut goals: Vec<GoalLine> = capacity.iter().filter_map(goal).collect();
    goals.sort_by(|a, b| a.y.total_cmp(&b.y));
    goals
}

/// Draws a percentile, and says through which places its line goes.
fn draw_line(
    chart: &mut Drawing,
    view: View<'_>,
    one: Line,
    at: &impl Fn(&LevelFinding) -> f64,
    y: &Scale,
) -> Vec<(f64, f64)> {
    let rows = view
        .findings()
        .levels
        .iter()
        .zip(&view.picture.levels)
        .enumerate();
    let mut points = Vec::new();
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (level, (row, more)) in rows {
        let Some(latency) = &row.latency_us else {
            continue;
        };
        let value = (one.of)(latency);
        let span = more.spread.as_ref().map_or(
            Span {
                low: value,
                high: value,
            },
            one.spread,
        );
        lower.push((at(row), y.at(span.low)));
        upper.push((at(row), y.at(span.high)));
        points.push((level, (at(row), y.at(value))));
    }
    if view.picture.levels.iter().any(|l| l.spread.is_some()) {
        chart.put(band(&lower, &upper, &format!("band {}", one.class)));
    }
    let places: Vec<(f64, f64)> = points.iter().map(|(_, at)| *at).collect();
    chart.put(path(&places, &format!("line {}", one.class)));
    for (level, at) in points {
        chart.put(point(at, one.shape, &format!("pt {}", one.class)).level(level));
    }
    places
}

fn end_labels(chart: &mut Drawing, levels: &[LevelFinding], lines: &[Line], y: &Scale) {
    let Some(last) = levels.iter().rev().find_map(|l| l.latency_us.as_ref()) else {
        return;
    };
    let labels: Vec<EndLabel<'_>> = lines
        .iter()
        .map(|line| EndLabel {
            y: y.at((line.of)(last)),
            class: line.class,
            text: line.name,
        })
        .collect();
    chart.end_labels(&labels);
}

/// Whether a rate was found at which a percentile of latency reaches its
/// limit.
fn is_met(finding: &CapacityFinding) -> bool {
    let found = seen_broken(finding) && finding.rate_rps.is_some();
    found && finding.latency_limit_us().is_some()
}

/// The ship's mark, where a goal's percentile reaches its limit: in the colour
/// of that percentile and with its name, because the lines of others may pass
/// by the same place. Goals of something else have no place here.
fn marks(view: View<'_>, x: &Scale, y: &Scale) -> Vec<MetMark> {
    let mark = |finding: &CapacityFinding| {
        let (Goal::Latency { quantile, .. }, Some(us)) = (finding.goal, finding.latency_limit_us())
        else {
            return None;
        };
        let class = match leads(view.findings(), finding) {
            true => goal_class(finding).to_owned(),
            false => format!("{} other", goal_class(finding)),
        };
        // The one latency of a table is named by the axis.
        let name = match view.report.is_imported() {
            true => String::new(),
            false => quantile.to_string(),
        };
        let rate = finding.rate_rps?;
        Some(MetMark {
            at: (x.at(rate.value), y.at(us)),
            between: rate.interval().map(|(low, high)| (x.at(low), x.at(high))),
            class,
            name,
        })
    };
    let capacity = view.findings().capacity.iter();
    capacity.filter(|c| is_met(c)).filter_map(mark).collect()
}
