//! The counters that grow faster than the load.

use super::View;
use crate::chart::{
    At, Axis, Bar, Chart, Datum, Mark, MarkKind, Panel, Row, RowStyle, Scale, Series, Shape, Tone,
    Unit,
};
use crate::number::{self, Written, per_second};
use crate::table::{Column, ColumnsOf};
use plimsoll_model::HintFinding;
use plimsoll_model::safe;

const MOST_SHOWN: usize = 8;

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    let hints = &view.findings().hints;
    let fastest = hints.first()?;
    let title = format!(
        "Per request, {} rose from {} to {} {}",
        safe(&fastest.counter),
        number::short(fastest.at_lowest),
        number::short(fastest.at_highest),
        fastest.unit
    );
    let hint = format!(
        "What grew faster than the load: per request at {}, in multiples of what it was at {}. At 1 \
         it grew with the load.",
        per_second(fastest.to_rps),
        per_second(fastest.from_rps)
    );
    let description = "How many times as much per request as at the lowest load, per counter.";
    Some(Chart {
        description: description.to_owned(),
        table: table(hints),
        ..Chart::of(panel(hints), "growth", title, hint)
    })
}

fn table(hints: &[HintFinding]) -> Vec<Column> {
    let of = ColumnsOf(hints);
    vec![
        of.column("counter", "", |h| safe(&h.counter)),
        of.column("unit", "", |h| h.unit.to_owned()),
        of.column("at lowest", "per request", |h| number::short(h.at_lowest)),
        of.column("at highest", "per request", |h| number::short(h.at_highest)),
        of.column("slope", "log-log", |h| {
            Written::of(h.slope, 2).with_ends("")
        }),
    ]
}

fn times(hint: &HintFinding) -> Option<f64> {
    (hint.at_lowest > 0.0).then(|| hint.at_highest / hint.at_lowest)
}

fn panel(hints: &[HintFinding]) -> Panel {
    let known = hints.iter().filter_map(|h| Some((h, times(h)?)));
    let known: Vec<(&HintFinding, f64)> = known.take(MOST_SHOWN).collect();
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
    let label = "per request, times that at the lowest load";
    let x = Axis::new(label, Scale::log(all), Unit::Times);
    let y = Axis {
        row_style: RowStyle::Above,
        ..Axis::of_rows(rows.collect())
    };
    let points = known.iter().enumerate().map(point).collect();
    Panel {
        marks: vec![Mark::new(MarkKind::Zero, At::X(1.0))],
        series: vec![Series::points(Tone::Growth, Shape::Circle, points)],
        ..Panel::of_rows(x, y, known.iter().enumerate().map(bar).collect())
    }
}
