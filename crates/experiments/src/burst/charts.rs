//! The time line of a cycle. Pure.

use super::findings::MeanLine;
use super::plan::BurstPlan;
use plimsoll_report::chart::{
    At, Axis, Chart, Datum, Mark, MarkKind, Panel, Scale, Series, Tone, Unit, Width,
};

pub(super) fn time_line(plan: &BurstPlan, lines: &[MeanLine]) -> Option<Chart> {
    lines.iter().find(|line| !line.points.is_empty())?;
    let of = |(nth, line): (usize, &MeanLine)| {
        let points = line.points.iter();
        let data = points.map(|(x, y)| Datum::at(*x, *y, None)).collect();
        let (name, tone) = match (lines.len(), nth) {
            (1, _) => ("", Tone::Cpu),
            (_, 0) => ("A", Tone::Nth(0)),
            _ => ("B", Tone::Nth(1)),
        };
        Series {
            marker: None,
            ..Series::line(name, tone, data)
        }
    };
    let series: Vec<Series> = lines.iter().enumerate().map(of).collect();
    let all = || series.iter().flat_map(|s| &s.data);
    let end = all().map(|d| d.x).fold(0.0, f64::max);
    let x = Axis::new("time in a cycle, s", Scale::linear(0.0, end), Unit::Number);
    let most = all().map(|d| d.y).fold(1.0, f64::max);
    let y = Axis::new("CPU use, % of a CPU", Scale::up_to([most]), Unit::Number);
    let panel = Panel {
        marks: marks(plan),
        ..Panel::of(x, y, series)
    };
    let hint = "Mean CPU use of the service over the valid cycles; the lines are the ends of bursts and breaks.";
    let mut chart = Chart::of(panel, "timeline", "CPU use in bursts and breaks", hint);
    chart.width = Width::Full;
    Some(chart)
}

/// Where a phase begins, but for the first.
fn marks(plan: &BurstPlan) -> Vec<Mark> {
    let mut at = 0.0;
    let begins = plan.pattern.iter().chain(&plan.head).map(|phase| {
        let name = match phase.is_break() {
            true => "break".to_owned(),
            false => phase.rate.to_string(),
        };
        let begins = at;
        at += phase.length.as_secs_f64();
        Mark {
            name: name.clone(),
            short_name: name,
            tone: Tone::Dim,
            ..Mark::new(MarkKind::Guide, At::X(begins))
        }
    });
    begins.skip(1).collect()
}
