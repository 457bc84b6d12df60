//! The counters that grow faster than the load.

use super::View;
use crate::chart::{
    At, Axis, Bar, Chart, Datum, Height, Mark, MarkKind, Panel, Row, RowStyle, Scale, Series,
    Shape, Tone, Unit,
};
use crate::escape::safe;
use crate::number::{self, Written, per_second};
use crate::table::Column;
use plimsoll_model::HintFinding;

/// How many counters there is room for.
const MOST: usize = 8;

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    let hints = &view.findings().hints;
    let fastest = hints.first()?;
    Some(Chart {
        id: "growth".to_owned(),
        title: format!(
            "Per request, {} rose from {} to {} {}",
            safe(&fastest.counter),
            number::short(fastest.at_lowest),
            number::short(fastest.at_highest),
            fastest.unit
        ),
        hint: format!(
            "What grew faster than the load: per request at {}, in multiples of what it was at \
             {}. At 1 it grew with the load.",
            per_second(fastest.to_rps),
            per_second(fastest.from_rps)
        ),
        description: "How many times as much per request as at the lowest load, per counter."
            .to_owned(),
        panels: vec![panel(hints)],
        table: table(hints),
        ..Chart::default()
    })
}

fn table(hints: &[HintFinding]) -> Vec<Column> {
    let column = |name, unit, cell: fn(&HintFinding) -> String| {
        Column::new(name, unit, 0, hints.iter().map(cell))
    };
    vec![
        column("counter", "", |h| safe(&h.counter)),
        column("unit", "", |h| h.unit.to_owned()),
        column("at lowest", "per request", |h| number::short(h.at_lowest)),
        column("at highest", "per request", |h| number::short(h.at_highest)),
        column("slope", "log-log", |h| {
            Written::of(h.slope, 2).with_ends("")
        }),
    ]
}

fn times(hint: &HintFinding) -> Option<f64> {
    (hint.at_lowest > 0.0).then(|| hint.at_highest / hint.at_lowest)
}

fn panel(hints: &[HintFinding]) -> Panel {
    let known = hints.iter().filter_map(|h| Some((h, times(h)?)));
    let known: Vec<(&HintFinding, f64)> = known.take(MOST).collect();
    let rows = known.iter().map(|(hint, _)| Row {
        name: safe(&hint.counter),
        tone: Tone::Plain,
    });
    let bar = |(row, (_, times)): (usize, &(&HintFinding, f64))| Bar {
        x: (1.0, *times),
        y: (row as f64 + 0.63, row as f64 + 0.7),
        tone: Tone::Growth,
        value: format!("{}×", number::short(*times)),
        ..Bar::default()
    };
    let point = |(row, (_, times)): (usize, &(&HintFinding, f64))| {
        Datum::at(*times, row as f64 + 0.665, None)
    };
    let all = known.iter().map(|(_, times)| *times).chain([1.0, 2.0]);
    Panel {
        x: Axis::new(
            "per request, times that at the lowest load",
            Scale::log(all),
            Unit::Times,
        ),
        y: Axis {
            row_style: RowStyle::Above,
            ..Axis::of_rows(rows.collect())
        },
        height: Height::Rows,
        marks: vec![Mark::new(MarkKind::Zero, At::X(1.0))],
        bars: known.iter().enumerate().map(bar).collect(),
        series: vec![Series {
            tone: Tone::Growth,
            marker: Some(Shape::Circle),
            data: known.iter().enumerate().map(point).collect(),
            ..Series::default()
        }],
        ..Panel::default()
    }
}
