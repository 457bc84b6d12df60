//! Latency of each arm, the service alone on top.

use super::{Arms, alone, known, listed, rows};
use crate::chart::{
    At, Axis, Bar, Chart, Datum, Key, Mark as Line, MarkKind, Panel, Series, Shape, Tone, Width,
};
use crate::number::time_us;
use plimsoll_model::{ArmFinding, LatencyUs, Quantile};

type Mark = (&'static str, Tone, Shape, fn(&LatencyUs) -> Option<f64>);

const MARKS: [Mark; 4] = [
    ("p50", Tone::P50, Shape::Circle, |l| l.p50),
    ("p95", Tone::P95, Shape::Triangle, |l| l.p95),
    ("p99", Tone::P99, Shape::Square, |l| l.p99),
    ("p99.9", Tone::P999, Shape::Diamond, |l| l.p999),
];

fn asked(quantile: Quantile) -> Mark {
    let name = quantile.to_string();
    let found = MARKS.into_iter().find(|mark| mark.0 == name);
    found.unwrap_or(MARKS[2])
}

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let arms = known(view, |arm| arm.latency_us);
    arms.first().filter(|_| view.compares())?;
    let (name, _, _, of) = asked(view.findings().budget.quantile);
    let values = view.of_interest(|arm| arm.latency_us.as_ref().and_then(of));
    let hint = format!(
        "Each row is an arm, its marks are latencies from the intended start of a request. Dashed: \
         {name} of the service alone. Changes are found pass by pass, so that they may differ from \
         what lies between two marks here."
    );
    let description = "Latency at p50, p95, p99 and p99.9, logarithmic, a row per arm, the service \
                       alone on top.";
    let title = match values.is_empty() {
        true => format!("No trials show {name}"),
        false => format!("{name} is {}", listed(&values, time_us)),
    };
    Some(Chart {
        description: description.to_owned(),
        width: Width::Full,
        details: view.details(detail),
        table: view.columns(&["arm", "p50", "p95", "p99", "p99.9"]),
        rows_are_picks: true,
        ..Chart::of(panel(view, &arms), "latency", title, hint)
    })
}

fn detail(arm: &ArmFinding) -> Option<String> {
    let latency = arm.latency_us.as_ref()?;
    let one = |(name, _, _, of): &Mark| Some(format!("{name} {}", time_us(of(latency)?)));
    Some(MARKS.iter().filter_map(one).collect::<Vec<_>>().join(", "))
}

fn panel(view: Arms<'_>, arms: &[(usize, &ArmFinding)]) -> Panel {
    let known = || {
        arms.iter().enumerate().filter_map(|(row, (place, arm))| {
            Some((row as f64 + 0.5, *place, arm.latency_us.as_ref()?))
        })
    };
    let span = |(middle, _, latency): (f64, usize, &LatencyUs)| {
        let mut shown = latency.in_order().into_iter().flatten();
        let least = shown.next()?;
        Some(Bar {
            x: (least, shown.last().unwrap_or(least)),
            y: (middle - 0.06, middle + 0.06),
            tone: Tone::Span,
            ..Bar::default()
        })
    };
    let series = MARKS.map(|(_, tone, shape, of)| {
        let data = known().filter_map(|(middle, place, latency)| {
            Some(Datum::at(of(latency)?, middle, Some(place)))
        });
        Series::points(tone, shape, data.collect())
    });
    let (_, tone, _, of) = asked(view.findings().budget.quantile);
    let limit = alone(arms).and_then(|arm| of(arm.latency_us.as_ref()?));
    let limit = limit.map(|alone| Line {
        tone,
        ..Line::new(MarkKind::Goal, At::X(alone))
    });
    // Which mark is which, above those of the first row.
    let first = known().next();
    let legend = first.into_iter().flat_map(|(_, _, latency)| {
        let shown = MARKS.into_iter().filter_map(|(name, tone, _, of)| {
            Some(Key {
                name: name.to_owned(),
                tone,
                at: Some(of(latency)?),
            })
        });
        shown.collect::<Vec<_>>()
    });
    let values = known().flat_map(|(_, _, latency)| latency.in_order().into_iter().flatten());
    let (x, bars) = (
        Axis::latency("latency", values),
        known().filter_map(span).collect(),
    );
    Panel {
        marks: limit.into_iter().collect(),
        series: series.into(),
        legend: legend.collect(),
        ..Panel::of_rows(x, rows(view, arms), bars)
    }
}
