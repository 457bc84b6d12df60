//! Every chart as a function from findings to data.

pub(crate) mod arms;
pub(crate) mod compare;
pub(crate) mod copies;
mod cpu;
mod growth;
mod latency;
mod offered;
pub(crate) mod progress;
mod spectrum;
mod time_line;
mod work;

pub(crate) use latency::title::kept;

use super::{
    At, Axis, Chart, Datum, Line, Mark, MarkKind, Panel, Scale, Series, Shape, Tone, Unit,
};
use crate::Report;
use crate::number::{self, Written, time_us};
use crate::sweep::capacity::{is_told, leading, load_line};
use crate::sweep::levels;
use plimsoll_model::{CapacityFinding, CapacityStatus, Findings, Goal, LevelFinding, Picture};

/// What the charts of a run are made from.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) report: &'a Report<'a>,
    pub(crate) picture: &'a Picture,
}

impl<'a> View<'a> {
    fn findings(&self) -> &'a Findings {
        self.report.findings
    }

    fn levels(&self) -> &'a [LevelFinding] {
        &self.findings().levels
    }

    /// 100 % load in requests per second.
    fn rated(&self) -> Option<f64> {
        self.findings().rated.as_ref().map(|rated| rated.rate_rps)
    }

    /// The table of all levels.
    fn level_table(&self) -> Vec<crate::table::Column> {
        levels::columns(self.levels(), self.report.is_imported())
    }

    /// What a chart tells of each level, after its name.
    fn details(&self, tell: impl Fn(&LevelFinding) -> String) -> Vec<String> {
        let one = |l: &LevelFinding| format!("{}: {}", load_name(l), tell(l));
        self.levels().iter().map(one).collect()
    }
}

/// All charts of a sweep that there are data for, in two parts: those before
/// the threshold table, and those after it.
pub(crate) fn figures(view: View<'_>) -> (Vec<Chart>, Vec<Chart>) {
    let before = [latency::chart(view), cpu::chart(view), work::chart(view)];
    let after = [
        spectrum::chart(view),
        offered::chart(view),
        time_line::chart(view),
        growth::chart(view),
    ];
    (
        before.into_iter().flatten().collect(),
        after.into_iter().flatten().collect(),
    )
}

/// The charts of a sweep for a terminal.
pub(crate) fn terminal(report: &Report<'_>) -> Vec<Chart> {
    let picture = &Picture::default();
    let view = View { report, picture };
    let charts = [latency::chart(view), cpu::chart(view)];
    charts.into_iter().flatten().collect()
}

/// `80 % load`, with a decimal where it needs one.
pub(crate) fn load_name(level: &LevelFinding) -> String {
    format!("{} % load", number::trimmed_pct(level.load_pct))
}

/// Points joined by a line.
fn joined(name: &str, tone: Tone, shape: Shape, data: Vec<Datum>) -> Series {
    Series {
        name: name.to_owned(),
        tone,
        line: Line::Solid,
        marker: Some(shape),
        data,
        ..Series::default()
    }
}

/// Single trials as small dots.
fn specks(tone: Tone, points: impl Iterator<Item = (f64, f64)>) -> Series {
    Series {
        tone,
        marker: Some(Shape::Speck),
        data: points.map(|(x, y)| Datum::at(x, y, None)).collect(),
        ..Series::default()
    }
}

/// The line on which both axes are equal.
fn diagonal(name: &str, most: f64) -> Series {
    Series {
        name: name.to_owned(),
        tone: Tone::Dim,
        line: Line::Guide,
        data: [0.0, most].map(|x| Datum::at(x, x, None)).to_vec(),
        ..Series::default()
    }
}

/// Rates that are offered, from 0.
fn offered_axis(rates: impl IntoIterator<Item = f64>) -> Axis {
    Axis {
        short_label: "offered load, requests/s".to_owned(),
        ..Axis::new(
            "offered load, requests per second",
            Scale::up_to(rates),
            Unit::Rate,
        )
    }
}

/// Latency on a logarithmic scale around all of these microseconds.
fn latency_axis(us: impl IntoIterator<Item = f64>) -> Axis {
    Axis::new("latency", Scale::log(us), Unit::Time)
}

/// CPU use from nothing to all.
fn cpu_axis() -> Axis {
    Axis::new("CPU use, %", Scale::linear(0.0, 100.0), Unit::Number)
}

/// CPU use against load, with the diagonal on which both are equal.
fn cpu_panel(x: Axis, diagonal: Series) -> Panel {
    Panel {
        x,
        y: cpu_axis(),
        series: vec![diagonal],
        ..Panel::default()
    }
}

/// How many goals' loads are known.
fn known_loads(findings: &Findings) -> impl Iterator<Item = &CapacityFinding> + Clone {
    let known = |c: &&CapacityFinding| is_told(c) && c.rate_rps.is_some();
    findings.capacity.iter().filter(known)
}

/// Whether the report leads with this goal.
fn leads(findings: &Findings, capacity: &CapacityFinding) -> bool {
    leading(&findings.capacity).is_some_and(|first| first.is(capacity))
}

/// The loads that are not to be exceeded, as far as they are known, that of
/// the goal that leads last, so that it is drawn over the others. `place` says
/// where on the axis a rate is.
fn load_marks(findings: &Findings, place: impl Fn(f64) -> Option<f64>) -> Vec<Mark> {
    let several = known_loads(findings).count() > 1;
    let mark = |capacity: &CapacityFinding| {
        let rate = capacity.rate_rps?;
        let at_least = match capacity.status {
            CapacityStatus::NotReached => "at least ",
            _ => "",
        };
        // The same rate as in the sentence.
        let line = load_line(capacity);
        let short_name = line.as_ref().map(|(_, rate)| format!("load line {rate}"));
        let (at, written) = line.unwrap_or_else(|| (rate.value, Written::rate(rate).value + "/s"));
        let goal = match several {
            true => format!("{}: ", capacity.goal),
            false => String::new(),
        };
        let leads = leads(findings, capacity);
        let kind = match leads {
            true => MarkKind::Load,
            false => MarkKind::OtherLoad,
        };
        let ends = rate.interval().filter(|_| leads);
        Some(Mark {
            range: ends.and_then(|(low, high)| Some((place(low)?, place(high)?))),
            name: format!("{goal}{at_least}{written}"),
            short_name: short_name.filter(|_| leads).unwrap_or_default(),
            tone: Tone::Budget,
            ..Mark::new(kind, At::X(place(at)?))
        })
    };
    let mut marks: Vec<Mark> = known_loads(findings).filter_map(mark).collect();
    marks.sort_by_key(|mark| mark.kind == MarkKind::Load);
    marks
}

/// The tone of what belongs to a goal: that of the percentile it is about, if
/// that is drawn.
fn goal_tone(capacity: &CapacityFinding) -> Tone {
    let Goal::Latency { quantile, .. } = capacity.goal else {
        return Tone::Plain;
    };
    match quantile.to_string().as_str() {
        "p50" => Tone::P50,
        "p99" => Tone::P99,
        "p99.9" => Tone::P999,
        _ => Tone::Plain,
    }
}

/// The limits of goals on latency.
fn goal_marks(findings: &Findings) -> impl Iterator<Item = Mark> {
    findings.capacity.iter().filter_map(|capacity| {
        let limit = capacity.latency_limit_us()?;
        let name = match capacity.goal {
            Goal::Latency { quantile, .. } => format!("{quantile} < {}", time_us(limit)),
            goal => goal.to_string(),
        };
        let short_name = match leads(findings, capacity) {
            true => capacity.goal.to_string(),
            false => String::new(),
        };
        Some(Mark {
            name: format!("goal: {name}"),
            short_name,
            tone: goal_tone(capacity),
            ..Mark::new(MarkKind::Goal, At::Y(limit))
        })
    })
}
