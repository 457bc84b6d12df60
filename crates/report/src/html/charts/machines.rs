//! What machines carry, side by side: a point and its interval for each.

use super::draw::{Drawing, FONT, Shape, Size, line, path, point, text};
use super::layout::{BOLD, fitting};
use super::rate_ticks;
use super::scale::Scale;
use crate::compare::tables::{Scale as Unit, measure_name};
use crate::escape::safe;
use crate::html::markup::El;
use plimsoll_model::{Comparison, Figure, Goal, Measure};

/// Height of a machine's row, and of the head of a measure.
const ROW: f64 = 30.0;
const HEAD: f64 = 56.0;

/// Both sizes of the drawing for a goal: a panel for each measure that is
/// known of any machine.
pub(crate) fn capacities(comparison: &Comparison, goal: &Goal, id: &str, title: &str) -> Vec<El> {
    let measures = [
        Measure::Capacity,
        Measure::PerCpu,
        Measure::PerPrice,
        Measure::PerWatt,
    ];
    let known: Vec<(Measure, Vec<Option<&Figure>>)> = measures
        .into_iter()
        .map(|measure| (measure, figures(comparison, goal, measure)))
        .filter(|(_, figures)| {
            figures
                .iter()
                .flatten()
                .any(|f| f.carried.estimate().is_some())
        })
        .collect();
    super::both(|size| {
        let described = format!("A point and its 95 % interval per machine and measure. {title}.");
        draw(comparison, &known, size).finish(id, title, &described)
    })
}

fn figures<'a>(
    comparison: &'a Comparison,
    goal: &Goal,
    measure: Measure,
) -> Vec<Option<&'a Figure>> {
    let of = |machine: &'a plimsoll_model::ComparedMachine| {
        let capacity = machine.capacity.iter().find(|c| c.goal == *goal)?;
        capacity.figures.iter().find(|f| f.measure == measure)
    };
    comparison.machines.iter().map(of).collect()
}

fn draw(comparison: &Comparison, known: &[(Measure, Vec<Option<&Figure>>)], size: Size) -> Drawing {
    let rows = comparison.machines.len() as f64;
    let panel = HEAD + ROW * rows;
    let width = size.pick(900.0, 360.0);
    let height = panel * known.len().max(1) as f64 + 8.0;
    let mut chart = Drawing::new(
        size,
        width,
        height,
        [0.0, 24.0, 0.0, size.pick(190.0, 110.0)],
    );
    let whole = chart.plot;
    for (i, (measure, figures)) in known.iter().enumerate() {
        chart.plot.top = panel * i as f64 + 26.0;
        chart.plot.bottom = chart.plot.top + ROW * rows;
        one(&mut chart, comparison, *measure, figures, size);
    }
    chart.plot = whole;
    chart
}

fn one(
    chart: &mut Drawing,
    comparison: &Comparison,
    measure: Measure,
    figures: &[Option<&Figure>],
    size: Size,
) {
    let amounts = figures
        .iter()
        .flatten()
        .filter_map(|f| f.carried.estimate());
    let most = amounts
        .map(|e| e.high.unwrap_or(e.value))
        .fold(0.0, f64::max);
    let Some(unit) = figures
        .iter()
        .flatten()
        .next()
        .map(|f| Unit::of(f.unit, most))
    else {
        return;
    };
    let x = Scale::from_zero(most / unit.size, chart.plot.x(), size.pick(6, 4));
    let ticks: Vec<(f64, String)> = x
        .ticks(size.pick(6, 4))
        .iter()
        .map(|t| (*t, rate_ticks(x.most())(*t)))
        .collect();
    chart.x_axis_at(&x, "", &ticks);
    let name = format!("{}, {}", super::capital(measure_name(measure)), unit.name);
    chart.put(text((2.0, chart.plot.top - 10.0), "axis-name bold", &name));
    let room = (chart.plot.left - 10.0) / BOLD;
    let machines = comparison.machines.iter().zip(figures).enumerate();
    for (i, (machine, figure)) in machines {
        let y = chart.plot.top + ROW * (i as f64 + 0.5);
        let class = format!("m{}", i % super::overlay::COLOURS);
        let name = fitting(&safe(&machine.name), room, FONT);
        let name_class = format!("name end {class}");
        chart.put(text((chart.plot.left - 8.0, y + 4.0), &name_class, &name));
        let Some(estimate) = figure.and_then(|f| f.carried.estimate()) else {
            chart.put(text((x.at(0.0) + 6.0, y + 4.0), "tick", "not known"));
            continue;
        };
        let at = |amount: f64| x.at(amount / unit.size);
        let low = at(estimate.low.unwrap_or(estimate.value));
        let whisker = format!("whisker {class}");
        match estimate.high {
            Some(high) => chart.put(line((low, y), (at(high), y), &whisker)),
            // Open to the right: at least so much.
            None if estimate.low.is_some() => {
                let end = chart.plot.right + 14.0;
                let tip = [(end - 6.0, y - 4.0), (end, y), (end - 6.0, y + 4.0)];
                chart.put(line((low, y), (end, y), &format!("{whisker} open")));
                chart.put(path(&tip, &format!("line {class}")));
            }
            None => {}
        }
        chart.put(point(
            (at(estimate.value), y),
            Shape::Circle,
            &format!("pt {class}"),
        ));
    }
}
