//! Charts of several machines on the same axes.

use super::draw::{Drawing, FONT, Shape, Size, line, load_mark, path, point, text};
use super::label::EndLabel;
use super::layout::{BOLD, fitting};
use super::scale::Scale;
use super::{pct_tick, rate_ticks, room_beyond, time_tick};
use crate::capacity::seen_broken;
use crate::html::markup::El;
use plimsoll_model::{CapacityFinding, Findings, Goal, LevelFinding, Measure, Picture, Quantile};

/// How many colours there are; further machines begin again.
pub(super) const COLOURS: usize = 6;

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
    fn factor(&self, measure: Measure) -> Option<f64> {
        let known = self.factors.iter().find(|(m, _)| *m == measure);
        known.map(|(_, factor)| *factor)
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

fn class(i: usize) -> String {
    format!("m{}", i % COLOURS)
}

/// Names at the ends of lines, as far as there is room.
fn names(chart: &mut Drawing, machines: &[Machine<'_>], ends: &[(usize, f64)], room: f64) {
    // Names are bold, and so wider; a gap parts them from their lines.
    let room = (room - 12.0) / BOLD;
    let labels: Vec<(f64, String, String)> = ends
        .iter()
        .map(|(i, y)| (*y, class(*i), fitting(&machines[*i].name, room, FONT)))
        .collect();
    let labels: Vec<EndLabel<'_>> = labels
        .iter()
        .map(|(y, class, text)| EndLabel { y: *y, class, text })
        .collect();
    chart.end_labels(&labels);
}

/// Whether a goal is met somewhere on the one line that is drawn of a machine.
fn is_met(capacity: &CapacityFinding) -> bool {
    let of_p99 =
        matches!(capacity.goal, Goal::Latency { quantile, .. } if quantile == Quantile::P99);
    of_p99 && seen_broken(capacity)
}

/// p99 against load, with the goal's mark on each line.
pub(crate) fn latency(machines: &[Machine<'_>], basis: Basis, title: &str) -> Vec<El> {
    super::both(|size| draw_latency(machines, basis, size, title))
}

fn p99(level: &LevelFinding) -> Option<f64> {
    level.latency_us.as_ref().map(|l| l.p99)
}

fn draw_latency(machines: &[Machine<'_>], basis: Basis, size: Size, title: &str) -> El {
    let room = size.pick(150.0, 84.0);
    let margins = [34.0, room, 42.0, size.pick(58.0, 50.0)];
    let mut chart = Drawing::new(
        size,
        size.pick(900.0, 360.0),
        size.pick(400.0, 330.0),
        margins,
    );
    let levels = || {
        machines.iter().filter_map(|m| {
            let factor = m.factor(basis.measure)? / basis.size;
            Some((m, factor))
        })
    };
    let rates =
        levels().flat_map(|(m, f)| m.findings.levels.iter().map(move |l| l.offered_rps * f));
    let x = Scale::linear(
        (0.0, room_beyond(rates.fold(0.0, f64::max))),
        chart.plot.x(),
    );
    let limit = |c: &CapacityFinding| c.latency_limit_us().filter(|_| is_met(c));
    let values = || {
        levels().flat_map(|(m, _)| {
            let limits = m.findings.capacity.iter().filter_map(limit);
            m.findings.levels.iter().filter_map(p99).chain(limits)
        })
    };
    let least = values().fold(f64::INFINITY, f64::min);
    let y = Scale::log(least, values().fold(0.0, f64::max), chart.plot.y());
    chart.x_axis(&x, basis.axis, rate_ticks(x.most()));
    chart.y_axis(&y, "latency, p99", time_tick);
    let mut ends = Vec::new();
    for (i, machine) in machines.iter().enumerate() {
        let Some(factor) = machine.factor(basis.measure).map(|f| f / basis.size) else {
            continue;
        };
        let place = |l: &LevelFinding| Some((x.at(l.offered_rps * factor), y.at(p99(l)?)));
        let points: Vec<_> = machine.findings.levels.iter().filter_map(place).collect();
        chart.put(path(&points, &format!("line {}", class(i))));
        for at in &points {
            chart.put(point(*at, Shape::Circle, &format!("pt {}", class(i))));
        }
        for capacity in machine.findings.capacity.iter().filter(|c| is_met(c)) {
            if let (Some(rate), Some(us)) = (capacity.rate_rps, capacity.latency_limit_us()) {
                let mark = load_mark((x.at(rate.value * factor), y.at(us)), &class(i));
                chart.put(mark);
            }
        }
        ends.extend(points.last().map(|(_, y)| (i, *y)));
    }
    names(&mut chart, machines, &ends, room);
    let told = format!("p99 over load, a line per machine; the marks are the load lines. {title}.");
    chart.finish(basis.id, title, &told)
}

/// CPU use against load, both in percent of the machine's own most.
pub(crate) fn cpu(machines: &[Machine<'_>], title: &str) -> Vec<El> {
    super::both(|size| draw_cpu(machines, size, title))
}

fn draw_cpu(machines: &[Machine<'_>], size: Size, title: &str) -> El {
    let (width, room) = (size.pick(620.0, 360.0), size.pick(150.0, 70.0));
    let (top, left, bottom) = (34.0, 46.0, 42.0);
    let height = top + bottom + width - left - room;
    let mut chart = Drawing::new(size, width, height, [top, room, bottom, left]);
    let x = Scale::linear((0.0, 100.0), chart.plot.x());
    let y = Scale::linear((0.0, 100.0), chart.plot.y());
    chart.x_axis(&x, "achieved load, % of the machine's rated rate", pct_tick);
    chart.y_axis(&y, "CPU use, %", pct_tick);
    chart.put(line(
        (x.at(0.0), y.at(0.0)),
        (x.at(100.0), y.at(100.0)),
        "diagonal",
    ));
    let name_at = (x.at(20.0) + 4.0, y.at(20.0) + 14.0);
    chart.put(text(name_at, "diagonal-name", "CPU use = load"));
    let mut ends = Vec::new();
    for (i, machine) in machines.iter().enumerate() {
        let curve = machine.picture.curve.iter();
        let points: Vec<(f64, f64)> = curve
            .filter_map(|p| Some((x.at(p.load_pct?), y.at(p.cpu_pct.value))))
            .collect();
        chart.put(path(&points, &format!("line {}", class(i))));
        for at in &points {
            chart.put(point(*at, Shape::Circle, &format!("pt {}", class(i))));
        }
        ends.extend(points.last().map(|(_, y)| (i, *y)));
    }
    names(&mut chart, machines, &ends, room);
    chart.finish(
        "cpu",
        title,
        &format!("CPU use over load, a line per machine. {title}."),
    )
}

/// Work per CPU-second against load. Its unit is that of the basis.
pub(crate) fn work(machines: &[Machine<'_>], basis: Basis, title: &str) -> Vec<El> {
    super::both(|size| draw_work(machines, basis, size, title))
}

fn draw_work(machines: &[Machine<'_>], basis: Basis, size: Size, title: &str) -> El {
    let room = size.pick(150.0, 70.0);
    let mut chart = Drawing::new(
        size,
        size.pick(620.0, 360.0),
        260.0,
        [34.0, room, 42.0, 46.0],
    );
    let points = |machine: &Machine<'_>| -> Vec<(f64, f64)> {
        let Some(factor) = machine.factor(Measure::Capacity) else {
            return Vec::new();
        };
        let known = machine.picture.service_cpus.is_some();
        let curve = machine.picture.curve.iter().filter(|_| known);
        curve
            .filter_map(|p| Some((p.load_pct?, p.work_per_cpu_s?.value * factor / basis.size)))
            .collect()
    };
    let all: Vec<Vec<(f64, f64)>> = machines.iter().map(points).collect();
    let most = all
        .iter()
        .flatten()
        .map(|(_, work)| *work)
        .fold(0.0, f64::max);
    let x = Scale::linear((0.0, 100.0), chart.plot.x());
    let y = Scale::from_zero(most, chart.plot.y(), 4);
    chart.x_axis(&x, "achieved load, % of the machine's rated rate", pct_tick);
    chart.y_axis(&y, basis.axis, rate_ticks(y.most()));
    let mut ends = Vec::new();
    for (i, points) in all.iter().enumerate() {
        let places: Vec<(f64, f64)> = points.iter().map(|(l, w)| (x.at(*l), y.at(*w))).collect();
        chart.put(path(&places, &format!("line {}", class(i))));
        for at in &places {
            chart.put(point(*at, Shape::Circle, &format!("pt {}", class(i))));
        }
        ends.extend(places.last().map(|(_, y)| (i, *y)));
    }
    names(&mut chart, machines, &ends, room);
    chart.finish(
        basis.id,
        title,
        &format!("Work per CPU-second over load. {title}."),
    )
}
