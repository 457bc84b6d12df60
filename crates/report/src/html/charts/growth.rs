//! The counters that grow faster than the load.

use super::draw::{Drawing, FONT, Shape, Size, line, point, text};
use super::layout::{BOLD, fitting};
use super::scale::Scale;
use super::{Figure, View, both};
use crate::escape::safe;
use crate::html::markup::El;
use crate::number::{self, Written, per_second};
use crate::table::Column;
use plimsoll_model::HintFinding;

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    let hints = &view.findings().hints;
    let fastest = hints.first()?;
    let title = format!(
        "Per request, {} rose from {} to {} {}",
        safe(&fastest.counter),
        number::short(fastest.at_lowest),
        number::short(fastest.at_highest),
        fastest.unit
    );
    let description =
        format!("How many times as much per request as at the lowest load, per counter. {title}.");
    Some(Figure {
        id: "growth",
        hint: format!(
            "What grew faster than the load: per request at {}, in multiples of what it was at \
             {}. At 1 it grew with the load.",
            per_second(fastest.to_rps),
            per_second(fastest.from_rps)
        ),
        drawings: both(|size| draw(hints, size, &title, &description)),
        title,
        told: Vec::new(),
        table: table(hints),
        rows_are_levels: false,
    })
}

fn table(hints: &[HintFinding]) -> Vec<Column> {
    let slope = |h: &HintFinding| Written::of(h.slope, 2).with_ends("");
    vec![
        Column::new("counter", "", 0, hints.iter().map(|h| safe(&h.counter))),
        Column::new("unit", "", 0, hints.iter().map(|h| h.unit.to_owned())),
        Column::new(
            "at lowest",
            "per request",
            0,
            hints.iter().map(|h| number::short(h.at_lowest)),
        ),
        Column::new(
            "at highest",
            "per request",
            0,
            hints.iter().map(|h| number::short(h.at_highest)),
        ),
        Column::new("slope", "log-log", 0, hints.iter().map(slope)),
    ]
}

/// How many counters there is room for.
const MOST: usize = 8;
/// Height of a counter's row.
const ROW: f64 = 42.0;

fn times(hint: &HintFinding) -> Option<f64> {
    (hint.at_lowest > 0.0).then(|| hint.at_highest / hint.at_lowest)
}

fn draw(hints: &[HintFinding], size: Size, title: &str, description: &str) -> El {
    let rows: Vec<(&HintFinding, f64)> = hints
        .iter()
        .filter_map(|h| Some((h, times(h)?)))
        .take(MOST)
        .collect();
    let width = size.pick(640.0, 360.0);
    let height = 18.0 + 42.0 + ROW * rows.len().max(1) as f64;
    let mut chart = Drawing::new(size, width, height, [18.0, 70.0, 42.0, 12.0]);
    let (least, most) = rows
        .iter()
        .fold((1.0f64, 2.0f64), |(least, most), (_, times)| {
            (least.min(*times), most.max(*times))
        });
    let x = Scale::log(least, most, chart.plot.x());
    chart.x_axis(&x, "per request, times that at the lowest load", |t| {
        format!("{}×", number::trimmed(t))
    });
    let one = x.at(1.0);
    chart.put(line(
        (one, chart.plot.top),
        (one, chart.plot.bottom),
        "axis",
    ));
    for (i, (hint, times)) in rows.iter().enumerate() {
        let y = chart.plot.top + ROW * (i as f64 + 0.5) + 7.0;
        let end = x.at(*times);
        chart.put(line((one, y), (end, y), "growth"));
        chart.put(point((end, y), Shape::Circle, "pt growth"));
        let label = format!("{}×", number::short(*times));
        chart.put(text((one.max(end) + 9.0, y + 4.0), "value", &label));
        let name = fitting(&safe(&hint.counter), (width - 20.0) / BOLD, FONT);
        chart.put(text((chart.plot.left + 2.0, y - 11.0), "counter", &name));
    }
    chart.finish("growth", title, description)
}
