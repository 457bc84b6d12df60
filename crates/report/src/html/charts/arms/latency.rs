//! Latency of each arm, the service alone on top.

use super::super::draw::{Drawing, FONT, Shape, Size, line, point, text};
use super::super::layout::{BOLD, Wish, apart, width_of};
use super::super::scale::Scale;
use super::super::{Figure, both, time_tick};
use super::rows::{self, known};
use super::{Arms, listed};
use crate::html::markup::El;
use crate::number::time_us;
use plimsoll_model::{ArmFinding, LatencyUs, Quantile};

/// A percentile as it is drawn.
struct Mark {
    class: &'static str,
    name: &'static str,
    shape: Shape,
    of: fn(&LatencyUs) -> f64,
}

const MARKS: [Mark; 4] = [
    Mark {
        class: "p50",
        name: "p50",
        shape: Shape::Circle,
        of: |l| l.p50,
    },
    Mark {
        class: "p95",
        name: "p95",
        shape: Shape::Triangle,
        of: |l| l.p95,
    },
    Mark {
        class: "p99",
        name: "p99",
        shape: Shape::Square,
        of: |l| l.p99,
    },
    Mark {
        class: "p999",
        name: "p99.9",
        shape: Shape::Diamond,
        of: |l| l.p999,
    },
];

/// The mark of the quantile that the budget is about.
fn asked(quantile: Quantile) -> &'static Mark {
    let name = quantile.to_string();
    let found = MARKS.iter().find(|mark| mark.name == name);
    found.unwrap_or(&MARKS[2])
}

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let rows = known(view, |arm| arm.latency_us);
    rows.first().filter(|_| view.compares())?;
    let mark = asked(view.findings().budget.quantile);
    let values = view.of_interest(|arm| arm.latency_us.as_ref().map(mark.of));
    let title = format!("{} is {}", mark.name, listed(&values, time_us));
    let description = format!(
        "Latency at p50, p95, p99 and p99.9, logarithmic, a row per arm, the service alone on \
         top. {title}."
    );
    Some(Figure {
        id: "latency",
        hint: format!(
            "Each row is an arm, its marks are latencies from the intended start of a request. \
             Dashed: {} of the service alone. Changes are found pass by pass, so that they may \
             differ from what lies between two marks here.",
            mark.name
        ),
        drawings: both(|size| draw(view, &rows, size, &title, &description)),
        title,
        told: view.told(told),
        table: view.columns(&["arm", "p50", "p95", "p99", "p99.9"]),
        rows_are_levels: true,
    })
}

fn told(arm: &ArmFinding) -> Option<String> {
    let latency = arm.latency_us.as_ref()?;
    let one = |mark: &Mark| format!("{} {}", mark.name, time_us((mark.of)(latency)));
    Some(MARKS.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn draw(
    view: Arms<'_>,
    rows: &[(usize, &ArmFinding)],
    size: Size,
    title: &str,
    description: &str,
) -> El {
    let width = size.pick(900.0, 360.0);
    let mut chart = rows::drawing(size, width, rows.len(), [24.0, 16.0, 42.0]);
    let latencies = || rows.iter().filter_map(|(_, arm)| arm.latency_us.as_ref());
    let values = || latencies().flat_map(|l| MARKS.iter().map(|mark| (mark.of)(l)));
    let least = values().fold(f64::INFINITY, f64::min);
    let x = Scale::log(least, values().fold(0.0, f64::max), chart.plot.x());
    chart.x_axis(&x, "latency", time_tick);
    let alone = rows.iter().find(|(_, arm)| !arm.arm.has_job());
    let alone = alone.and_then(|(_, arm)| arm.latency_us.as_ref());
    if let Some(alone) = alone {
        let mark = asked(view.findings().budget.quantile);
        let at = x.at((mark.of)(alone));
        let (top, bottom) = (chart.plot.top, chart.plot.bottom);
        let class = format!("goal {}", mark.class);
        chart.put(line((at, top), (at, bottom), &class));
    }
    rows::names(&mut chart, view, rows);
    for (row, (place, arm)) in rows.iter().enumerate() {
        let Some(latency) = &arm.latency_us else {
            continue;
        };
        let y = rows::middle(&chart, row);
        chart.put(line(
            (x.at(latency.p50), y),
            (x.at(latency.p999), y),
            "span",
        ));
        for mark in &MARKS {
            let at = (x.at((mark.of)(latency)), y);
            let point = point(at, mark.shape, &format!("pt {}", mark.class));
            chart.put(point.level(*place));
        }
    }
    if let Some(first) = latencies().next() {
        mark_names(&mut chart, first, &x);
    }
    chart.finish("latency", title, description)
}

/// Which mark is which, above those of the first row.
fn mark_names(chart: &mut Drawing, latency: &LatencyUs, x: &Scale) {
    let wish = |mark: &Mark| Wish {
        at: x.at((mark.of)(latency)),
        size: BOLD * width_of(mark.name, FONT),
        rank: 0,
    };
    let wishes: Vec<Wish> = MARKS.iter().map(wish).collect();
    let placed = apart(&wishes, chart.plot.left, chart.width - 2.0, 8.0);
    for (mark, at) in MARKS.iter().zip(placed) {
        if let Some(at) = at {
            let class = format!("name mid {}", mark.class);
            chart.put(text((at, chart.plot.top - 8.0), &class, mark.name));
        }
    }
}
