//! Offered against achieved rate, and below it the generator's own send delay.

use super::View;
use crate::chart::{Axis, Chart, Datum, Facets, Height, Panel, Scale, Series, Shape, Tone, Unit};
use crate::number::{self, per_second, time_us};
use crate::table::{Column, ColumnsOf, known};
use plimsoll_model::LevelFinding;

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    if view.report.is_imported() {
        return None;
    }
    let levels = view.levels();
    levels.iter().find(|l| l.achieved_rps.is_some())?;
    let (hint, description) = match has_slip(levels) {
        true => (
            "Above: good answers per second against what was offered; on the diagonal all is \
             answered. Below: what the load generator itself was late by (slip, p99).",
            "Achieved over offered rate, with the diagonal on which both are equal; below it the \
             generator's own lateness, logarithmic.",
        ),
        false => (
            "Good answers per second against what was offered; on the diagonal all is answered. How \
             late the load generator was (slip) is not known.",
            "Achieved over offered rate, with the diagonal on which both are equal.",
        ),
    };
    Some(Chart {
        description: description.to_owned(),
        panels: panels(levels),
        facets: Facets {
            shares_x: true,
            ..Facets::default()
        },
        picks: levels.iter().map(|l| Some(l.offered_rps)).collect(),
        details: view.details(detail),
        table: table(levels),
        rows_are_picks: true,
        ..Chart::of(Panel::default(), "offered", title(view), hint)
    })
}

fn title(view: View<'_>) -> String {
    let rows = || view.levels().iter().zip(&view.picture.levels);
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

fn detail(level: &LevelFinding) -> String {
    let Some(achieved) = level.achieved_rps else {
        return "no valid trial".to_owned();
    };
    let late = |us| format!(", generator late by {} (p99)", time_us(us));
    let slip = slip(level).map(late).unwrap_or_default();
    let offered = per_second(level.offered_rps);
    format!("{offered} offered, {} answered{slip}", per_second(achieved))
}

fn slip(level: &LevelFinding) -> Option<f64> {
    level.slip_us.as_ref().map(|slip| slip.p99)
}

/// An external generator does not state it.
fn has_slip(levels: &[LevelFinding]) -> bool {
    levels.iter().any(|level| slip(level).is_some())
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    let of = ColumnsOf(levels);
    vec![
        of.column("load", "%", |l| number::trimmed_pct(l.load_pct)),
        of.column("offered", "/s", |l| number::rate(l.offered_rps)),
        of.column("achieved", "/s", |l| known(l.achieved_rps, number::rate)),
        of.column("slip p99", "us", |l| known(slip(l), number::short)),
        of.column("errors", "%", |l| known(l.error_pct, number::small_pct)),
        of.column("unfinished", "", |l| {
            number::grouped(l.unfinished as f64, 0)
        }),
    ]
}

fn panels(levels: &[LevelFinding]) -> Vec<Panel> {
    let x = Axis::offered(levels.iter().map(|l| l.offered_rps));
    let data = |of: fn(&LevelFinding) -> Option<f64>| -> Vec<Datum> {
        let datum = |(i, l): (usize, &LevelFinding)| {
            Datum::at(l.offered_rps, of(l).unwrap_or(f64::NAN), Some(i))
        };
        levels.iter().enumerate().map(datum).collect()
    };
    let most = x.scale.high();
    let (label, scale) = ("answered, requests per second", Scale::linear(0.0, most));
    let answered = vec![
        Series::diagonal("all answered", most),
        Series::line("", Tone::Rate, data(|l| l.achieved_rps)),
    ];
    let slip = data(slip);
    let late = Axis::latency("generator late by, p99", slip.iter().map(|d| d.y));
    let slip = vec![Series::joined("", Tone::Slip, Shape::Square, slip)];
    let lateness = has_slip(levels).then(|| Panel {
        height: Height::Fixed(78.0),
        ..Panel::of(x.clone(), late, slip)
    });
    let answered = Panel::of(x, Axis::new(label, scale, Unit::Rate), answered);
    std::iter::once(answered).chain(lateness).collect()
}
