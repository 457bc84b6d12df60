//! Charts of several machines: on the same axes, or side by side.

use super::tables::{MEASURES, Scale as Amount, figure, measure_name};
use crate::capacity::seen_missed;
use crate::chart::{
    Axis, Bar, Chart, Datum, Height, Panel, Ring, Row, Scale, Series, Shape, Tone, Unit, Width,
};
use crate::sentence::capital;
use plimsoll_model::safe;
use plimsoll_model::{
    CapacityFinding, ComparedMachine, Comparison, Figure, Findings, Goal, LevelFinding, Measure,
    Picture, Quantile,
};

pub(super) struct Machine<'a> {
    /// Its name, or its run's where there are several; safe to show.
    pub(super) name: String,
    /// Which of the machines.
    pub(super) nth: usize,
    pub(super) findings: &'a Findings,
    pub(super) picture: &'a Picture,
    /// What its rates are multiplied with, by measure.
    pub(super) factors: &'a [(Measure, f64)],
    /// Of a table it is not known which percentile its latency is.
    pub(super) is_table: bool,
}

impl Machine<'_> {
    pub(super) fn factor(&self, measure: Measure) -> Option<f64> {
        let known = self.factors.iter().find(|(of, _)| *of == measure);
        known.map(|(_, factor)| *factor)
    }

    fn factor_on(&self, basis: Basis) -> Option<f64> {
        self.factor(basis.measure).map(|factor| factor / basis.size)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Basis {
    pub(super) id: &'static str,
    pub(super) measure: Measure,
    /// Of how many the unit of the axis consists.
    pub(super) size: f64,
    pub(super) axis: &'static str,
}

/// What the latency that is drawn of machines is called, and how that begins a sentence.
pub(super) fn latency_name(machines: &[Machine<'_>]) -> (&'static str, &'static str) {
    match machines.iter().any(|machine| machine.is_table) {
        true => ("latency", "Latency"),
        false => ("p99", "p99"),
    }
}

/// Whether a goal is met somewhere on the one line that is drawn of a machine.
fn is_met(capacity: &CapacityFinding) -> bool {
    let of_p99 =
        matches!(capacity.goal, Goal::Latency { quantile, .. } if quantile == Quantile::P99);
    of_p99 && seen_missed(capacity)
}

fn lines(machines: &[Machine<'_>], data: impl Fn(&Machine<'_>) -> Vec<(f64, f64)>) -> Vec<Series> {
    let line = |machine: &Machine<'_>| {
        let points = data(machine).into_iter();
        let data = points.map(|(x, y)| Datum::at(x, y, None)).collect();
        Series::line(&machine.name, Tone::Nth(machine.nth), data)
    };
    machines.iter().map(line).collect()
}

fn all(series: &[Series]) -> impl Iterator<Item = (f64, f64)> + Clone {
    series
        .iter()
        .flat_map(|s| s.data.iter().map(|d| (d.x, d.y)))
}

pub(super) fn latency(machines: &[Machine<'_>], basis: Basis, title: &str) -> Chart {
    let series = lines(machines, |machine| {
        let Some(factor) = machine.factor_on(basis) else {
            return Vec::new();
        };
        let p99 = |l: &LevelFinding| l.latency_us.as_ref().map_or(f64::NAN, |l| l.p99);
        let levels = machine.findings.levels.iter();
        levels.map(|l| (l.offered_rps * factor, p99(l))).collect()
    });
    let of_machine = |machine: &Machine<'_>| {
        let factor = machine.factor_on(basis);
        let met = machine.findings.capacity.iter().filter(|c| is_met(c));
        let ring = |capacity: &CapacityFinding| {
            let rate = capacity.rate_rps?.value * factor?;
            Some(Ring {
                at: (rate, capacity.latency_limit_us()?),
                tone: Tone::Nth(machine.nth),
                ..Ring::default()
            })
        };
        met.filter_map(ring).collect::<Vec<Ring>>()
    };
    let rings: Vec<Ring> = machines.iter().flat_map(of_machine).collect();
    let times = all(&series)
        .map(|(_, us)| us)
        .chain(rings.iter().map(|r| r.at.1));
    let loads = Scale::up_to(all(&series).map(|(x, _)| x));
    let (name, first) = latency_name(machines);
    let y = Axis::latency(if name == "p99" { "latency, p99" } else { name }, times);
    let panel = Panel {
        height: Height::Fixed(324.0),
        rings,
        ..Panel::of(Axis::new(basis.axis, loads, Unit::Rate), y, series)
    };
    let description =
        format!("{first} over load, a line per machine; the marks are the load lines.");
    Chart {
        width: Width::Full,
        ..Chart::of(panel, &format!("latency-{}", basis.id), title, "").described(description)
    }
}

/// To 100 %, or as far as a machine went beyond its rated rate.
fn load_axis(series: &[Series]) -> Axis {
    let loads = all(series).map(|(load, _)| load);
    let scale = Scale::from_zero(loads.chain([100.0]), 5);
    let label = "achieved load, % of the machine's rated rate";
    Axis::new(label, scale, Unit::Number)
}

pub(super) fn cpu(machines: &[Machine<'_>], title: String) -> Chart {
    let series = lines(machines, |machine| {
        let curve = machine.picture.curve.iter();
        let points = curve.filter_map(|p| Some((p.load_pct?, p.cpu_pct.value)));
        points.collect()
    });
    let diagonal = Series::diagonal("CPU use = load", 100.0);
    let mut panel = Panel::of_cpu(load_axis(&series), diagonal);
    panel.height = Height::Equal;
    panel.series.extend(series);
    let hint = "CPU use against achieved load, in percent of each machine's own rated rate. The \
                dotted diagonal is CPU use linear in the load.";
    Chart::of(panel, "cpu", title, hint).described("CPU use over load, a line per machine.")
}

pub(super) fn work(machines: &[Machine<'_>], basis: Basis, (title, hint): (String, &str)) -> Chart {
    let series = lines(machines, |machine| {
        let known = machine.picture.service_cpus.is_some();
        let Some(factor) = machine.factor_on(basis).filter(|_| known) else {
            return Vec::new();
        };
        let curve = machine.picture.curve.iter();
        let points = curve.filter_map(|p| Some((p.load_pct?, p.work_per_cpu_s?.value * factor)));
        points.collect()
    });
    let scale = Scale::from_zero(all(&series).map(|(_, y)| y), 4);
    let panel = Panel {
        height: Height::Fixed(184.0),
        ..Panel::of(
            load_axis(&series),
            Axis::new(basis.axis, scale, Unit::Rate),
            series,
        )
    };
    Chart::of(panel, basis.id, title, hint).described("Work per CPU-second over load.")
}

/// What machines carry within a goal: a point and its interval for each, in a
/// panel for each measure that is known of any machine.
pub(super) fn capacities(comparison: &Comparison, goal: &Goal, id: &str, title: String) -> Chart {
    let panels = MEASURES.into_iter();
    let panels = panels.filter_map(|measure| amounts(comparison, goal, measure));
    let hint = "A point per machine, with its 95 % interval.";
    let description = "A point and its 95 % interval per machine and measure.";
    Chart {
        panels: panels.collect(),
        width: Width::Full,
        ..Chart::of(Panel::default(), id, title, hint).described(description)
    }
}

fn amounts(comparison: &Comparison, goal: &Goal, measure: Measure) -> Option<Panel> {
    let figures: Vec<Option<&Figure>> = comparison
        .machines
        .iter()
        .map(|machine| figure(machine, goal, measure))
        .collect();
    let known = figures.iter().flatten();
    let estimates = known.clone().filter_map(|f| f.carried.estimate());
    let most = estimates.map(|e| e.high.unwrap_or(e.value));
    let most = most.reduce(f64::max)?;
    let unit = Amount::of(known.clone().next()?.unit, most);
    let (mut data, mut bars) = (Vec::new(), Vec::new());
    for (i, figure) in figures.iter().enumerate() {
        let middle = i as f64 + 0.5;
        match figure.and_then(|f| f.carried.estimate()) {
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
    let x = Axis::new("", Scale::from_zero([most / unit.size], 6), Unit::Rate);
    Some(Panel {
        title: format!("{}, {}", capital(measure_name(measure)), unit.name),
        series: vec![Series::points(Tone::Plain, Shape::Circle, data)],
        ..Panel::of_rows(x, Axis::of_rows(rows.collect()), bars)
    })
}
