//! Charts of several machines: on the same axes, or side by side.

use super::{cpu_panel, diagonal, joined, latency_axis};
use crate::capacity::seen_broken;
use crate::chart::Bar;
use crate::chart::{
    Axis, Chart, Datum, Facets, Height, Panel, Ring, Row, Scale, Series, Shape, Tone, Unit, Width,
};
use crate::compare::tables::{Scale as Amount, measure_name};
use crate::escape::safe;
use crate::sentence::capital;
use plimsoll_model::{
    CapacityFinding, ComparedMachine, Comparison, Figure, Findings, Goal, LevelFinding, Measure,
    Picture, Quantile,
};

/// A machine in an overlay.
pub(crate) struct Machine<'a> {
    /// Its name, safe to show.
    pub(crate) name: String,
    pub(crate) findings: &'a Findings,
    pub(crate) picture: &'a Picture,
    /// What its rates are multiplied with, by measure.
    pub(crate) factors: &'a [(Measure, f64)],
}

impl Machine<'_> {
    fn factor(&self, basis: Basis) -> Option<f64> {
        let known = self.factors.iter().find(|(m, _)| *m == basis.measure);
        known.map(|(_, factor)| *factor / basis.size)
    }
}

/// What rates are divided by in a drawing.
#[derive(Clone, Copy)]
pub(crate) struct Basis {
    /// Names the drawing.
    pub(crate) id: &'static str,
    pub(crate) measure: Measure,
    /// Of how many the unit of the axis consists.
    pub(crate) size: f64,
    /// What stands at the axis.
    pub(crate) axis: &'static str,
}

/// Whether a goal is met somewhere on the one line that is drawn of a machine.
fn is_met(capacity: &CapacityFinding) -> bool {
    let of_p99 =
        matches!(capacity.goal, Goal::Latency { quantile, .. } if quantile == Quantile::P99);
    of_p99 && seen_broken(capacity)
}

/// A line per machine.
fn lines(machines: &[Machine<'_>], data: impl Fn(&Machine<'_>) -> Vec<(f64, f64)>) -> Vec<Series> {
    let line = |(i, machine): (usize, &Machine<'_>)| {
        let points = data(machine).into_iter();
        let data = points.map(|(x, y)| Datum::at(x, y, None)).collect();
        joined(&machine.name, Tone::Nth(i), Shape::Circle, data)
    };
    machines.iter().enumerate().map(line).collect()
}

fn all(series: &[Series]) -> impl Iterator<Item = (f64, f64)> + Clone {
    series
        .iter()
        .flat_map(|s| s.data.iter().map(|d| (d.x, d.y)))
}

fn one(id: &str, title: &str, description: &str, panel: Panel) -> Chart {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        panels: vec![panel],
        ..Chart::default()
    }
}

/// p99 against load, with the goal's mark on each line.
pub(crate) fn latency(machines: &[Machine<'_>], basis: Basis, title: &str) -> Chart {
    let series = lines(machines, |machine| {
        let Some(factor) = machine.factor(basis) else {
            return Vec::new();
        };
        let p99 = |l: &LevelFinding| l.latency_us.as_ref().map_or(f64::NAN, |l| l.p99);
        let levels = machine.findings.levels.iter();
        levels.map(|l| (l.offered_rps * factor, p99(l))).collect()
    });
    let of_machine = |(i, machine): (usize, &Machine<'_>)| {
        let factor = machine.factor(basis);
        let met = machine.findings.capacity.iter().filter(|c| is_met(c));
        let ring = |capacity: &CapacityFinding| {
            let rate = capacity.rate_rps?.value * factor?;
            Some(Ring {
                at: (rate, capacity.latency_limit_us()?),
                tone: Tone::Nth(i),
                ..Ring::default()
            })
        };
        met.filter_map(ring).collect::<Vec<Ring>>()
    };
    let rings: Vec<Ring> = machines.iter().enumerate().flat_map(of_machine).collect();
    let times = all(&series)
        .map(|(_, us)| us)
        .chain(rings.iter().map(|r| r.at.1));
    let panel = Panel {
        x: Axis::new(
            basis.axis,
            Scale::up_to(all(&series).map(|(x, _)| x)),
            Unit::Rate,
        ),
        y: Axis {
            label: "latency, p99".to_owned(),
            ..latency_axis(times)
        },
        height: Height::Fixed(324.0),
        series,
        rings,
        ..Panel::default()
    };
    Chart {
        width: Width::Full,
        ..one(
            basis.id,
            title,
            "p99 over load, a line per machine; the marks are the load lines.",
            panel,
        )
    }
}

fn load_axis() -> Axis {
    let scale = Scale::linear(0.0, 100.0);
    Axis::new(
        "achieved load, % of the machine's rated rate",
        scale,
        Unit::Number,
    )
}

/// CPU use against load, both in percent of the machine's own most.
pub(crate) fn cpu(machines: &[Machine<'_>], title: &str) -> Chart {
    let mut panel = cpu_panel(load_axis(), diagonal("CPU use = load", 100.0));
    panel.height = Height::Equal;
    panel.series.extend(lines(machines, |machine| {
        let curve = machine.picture.curve.iter();
        curve
            .filter_map(|p| Some((p.load_pct?, p.cpu_pct.value)))
            .collect()
    }));
    one(
        "cpu",
        title,
        "CPU use over load, a line per machine.",
        panel,
    )
}

/// Work per CPU-second against load. Its unit is that of the basis.
pub(crate) fn work(machines: &[Machine<'_>], basis: Basis, title: &str) -> Chart {
    let series = lines(machines, |machine| {
        let known = machine.picture.service_cpus.is_some();
        let Some(factor) = machine.factor(basis).filter(|_| known) else {
            return Vec::new();
        };
        let curve = machine.picture.curve.iter();
        curve
            .filter_map(|p| Some((p.load_pct?, p.work_per_cpu_s?.value * factor)))
            .collect()
    });
    let panel = Panel {
        x: load_axis(),
        y: Axis::new(
            basis.axis,
            Scale::from_zero(all(&series).map(|(_, y)| y), 4),
            Unit::Rate,
        ),
        height: Height::Fixed(184.0),
        series,
        ..Panel::default()
    };
    one(basis.id, title, "Work per CPU-second over load.", panel)
}

/// What machines carry within a goal: a point and its interval for each, in a
/// panel for each measure that is known of any machine.
pub(crate) fn capacities(comparison: &Comparison, goal: &Goal, id: &str, title: &str) -> Chart {
    let measures = [
        Measure::Capacity,
        Measure::PerCpu,
        Measure::PerPrice,
        Measure::PerWatt,
    ];
    let panels = measures
        .into_iter()
        .filter_map(|m| amounts(comparison, goal, m));
    Chart {
        panels: panels.collect(),
        facets: Facets::default(),
        width: Width::Full,
        ..one(
            id,
            title,
            "A point and its 95 % interval per machine and measure.",
            Panel::default(),
        )
    }
}

fn amounts(comparison: &Comparison, goal: &Goal, measure: Measure) -> Option<Panel> {
    let figure = |machine: &ComparedMachine| -> Option<Figure> {
        let capacity = machine.capacity.iter().find(|c| c.goal == *goal)?;
        capacity
            .figures
            .iter()
            .find(|f| f.measure == measure)
            .cloned()
    };
    let figures: Vec<Option<Figure>> = comparison.machines.iter().map(figure).collect();
    let known = figures.iter().flatten();
    let known = || known.clone().filter_map(|f| f.carried.estimate());
    let most = known()
        .map(|e| e.high.unwrap_or(e.value))
        .reduce(f64::max)?;
    let unit = Amount::of(figures.iter().flatten().next()?.unit, most);
    let (mut data, mut bars) = (Vec::new(), Vec::new());
    for (i, figure) in figures.iter().enumerate() {
        let middle = i as f64 + 0.5;
        match figure.as_ref().and_then(|f| f.carried.estimate()) {
            Some(estimate) => {
                let low = estimate.low.map(|low| low / unit.size);
                let high = estimate.high.map_or(f64::INFINITY, |high| high / unit.size);
                data.push(Datum {
                    x_range: low.map(|low| (low, high)),
                    tone: Some(Tone::Nth(i)),
                    ..Datum::at(estimate.value / unit.size, middle, None)
                });
            }
            None => bars.push(Bar {
                y: (middle, middle),
                value: "not known".to_owned(),
                ..Bar::default()
            }),
        }
    }
    let row = |(i, machine): (usize, &ComparedMachine)| Row {
        name: safe(&machine.name),
        tone: Tone::Nth(i),
    };
    let rows = comparison.machines.iter().enumerate().map(row);
    Some(Panel {
        title: format!("{}, {}", capital(measure_name(measure)), unit.name),
        x: Axis::new("", Scale::from_zero([most / unit.size], 6), Unit::Rate),
        y: Axis::of_rows(rows.collect()),
        height: Height::Rows,
        series: vec![Series {
            marker: Some(Shape::Circle),
            data,
            ..Series::default()
        }],
        bars,
        ..Panel::default()
    })
}
