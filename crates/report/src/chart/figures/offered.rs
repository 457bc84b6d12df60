//! Offered against achieved rate, and below it the generator's own send delay.

use super::{View, diagonal, joined, latency_axis, offered_axis};
use crate::chart::{Axis, Chart, Datum, Facets, Height, Panel, Scale, Shape, Tone, Unit};
use crate::levels::known;
use crate::number::{self, per_second, time_us};
use crate::table::{Cell, Column};
use plimsoll_model::LevelFinding;

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    if view.report.is_imported() {
        return None;
    }
    let levels = view.levels();
    levels.iter().find(|l| l.achieved_rps.is_some())?;
    Some(Chart {
        id: "offered".to_owned(),
        title: title(view),
        hint: "Above: good answers per second against what was offered; on the diagonal all is \
               answered. Below: what the load generator itself was late by (slip, p99)."
            .to_owned(),
        description:
            "Achieved over offered rate, with the diagonal on which both are equal; below \
                      it the generator's own lateness, logarithmic."
                .to_owned(),
        panels: panels(levels),
        facets: Facets {
            shares_x: true,
            ..Facets::default()
        },
        picks: levels.iter().map(|l| Some(l.offered_rps)).collect(),
        details: view.details(detail),
        table: table(levels),
        rows_are_picks: true,
        ..Chart::default()
    })
}

/// Up to which load the service keeps up.
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
        return "no trial counts".to_owned();
    };
    let slip = level.slip_us.as_ref().map_or_else(String::new, |slip| {
        format!(", generator late by {} (p99)", time_us(slip.p99))
    });
    let offered = per_second(level.offered_rps);
    format!("{offered} offered, {} answered{slip}", per_second(achieved))
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    let column = |name, unit, cell: fn(&LevelFinding) -> Cell| {
        Column::new(name, unit, 0, levels.iter().map(cell))
    };
    let slip = |l: &LevelFinding| l.slip_us.as_ref().map(|s| s.p99);
    vec![
        column("load", "%", |l| number::trimmed_pct(l.load_pct).into()),
        column("offered", "/s", |l| number::rate(l.offered_rps).into()),
        column("achieved", "/s", |l| known(l.achieved_rps, number::rate)),
        Column::new(
            "slip p99",
            "us",
            0,
            levels.iter().map(|l| known(slip(l), number::short)),
        ),
        column("errors", "%", |l| known(l.error_pct, number::small_pct)),
        column("unfinished", "", |l| {
            number::grouped(l.unfinished as f64, 0).into()
        }),
    ]
}

fn panels(levels: &[LevelFinding]) -> Vec<Panel> {
    let x = offered_axis(levels.iter().map(|l| l.offered_rps));
    let data = |of: &dyn Fn(&LevelFinding) -> Option<f64>| -> Vec<Datum> {
        let datum = |(i, l): (usize, &LevelFinding)| {
            Datum::at(l.offered_rps, of(l).unwrap_or(f64::NAN), Some(i))
        };
        levels.iter().enumerate().map(datum).collect()
    };
    let most = x.scale.high();
    let answered = Panel {
        y: Axis::new(
            "answered, requests per second",
            Scale::linear(0.0, most),
            Unit::Rate,
        ),
        x: x.clone(),
        series: vec![
            diagonal("all answered", most),
            joined("", Tone::Rate, Shape::Circle, data(&|l| l.achieved_rps)),
        ],
        ..Panel::default()
    };
    let slip = data(&|l| Some(l.slip_us.as_ref()?.p99));
    let late = Panel {
        x,
        y: Axis {
            label: "generator late by, p99".to_owned(),
            ..latency_axis(slip.iter().map(|d| d.y))
        },
        height: Height::Fixed(78.0),
        series: vec![joined("", Tone::Slip, Shape::Square, slip)],
        ..Panel::default()
    };
    vec![answered, late]
}
