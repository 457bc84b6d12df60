//! Tables with a column per machine.

use crate::number::{self, Written};
use crate::table::{Cell, Ink, or_dash};
use plimsoll_model::safe;
use plimsoll_model::{
    Carried, ComparedCapacity, ComparedMachine, Comparison, Estimate, Figure, FigureUnit, Goal,
    Measure,
};

pub(super) const MEASURES: [Measure; 4] = [
    Measure::Capacity,
    Measure::PerCpu,
    Measure::PerPrice,
    Measure::PerWatt,
];

fn heads(comparison: &Comparison, first: &str) -> Vec<Cell> {
    let names = comparison.machines.iter().map(|m| safe(&m.name));
    let texts = std::iter::once(first.to_owned()).chain(names);
    texts.map(|text| Cell::new(Ink::Bold, text)).collect()
}

fn row<'a>(
    comparison: &'a Comparison,
    name: String,
    cell: impl Fn(&'a ComparedMachine) -> Cell,
) -> Vec<Cell> {
    let cells = comparison.machines.iter().map(cell);
    std::iter::once(name.into()).chain(cells).collect()
}

fn capacity<'a>(machine: &'a ComparedMachine, goal: &Goal) -> Option<&'a ComparedCapacity> {
    machine.capacity.iter().find(|c| c.goal == *goal)
}

pub(super) fn figure<'a>(
    machine: &'a ComparedMachine,
    goal: &Goal,
    measure: Measure,
) -> Option<&'a Figure> {
    let figures = &capacity(machine, goal)?.figures;
    figures.iter().find(|f| f.measure == measure)
}

/// A row per measure that is known of any machine, and the CPU use.
pub(super) fn capacity_rows(comparison: &Comparison, goal: &Goal) -> Vec<Vec<Cell>> {
    let mut rows = vec![heads(comparison, "")];
    for measure in MEASURES {
        let own = |machine| figure(machine, goal, measure);
        let known = comparison.machines.iter().filter_map(own);
        if let Some(first) = known.clone().next() {
            let amounts = known.filter_map(|f| f.carried.estimate());
            let largest = amounts.map(|amount| amount.value).fold(0.0, f64::max);
            let scale = Scale::of(first.unit, largest);
            let label = format!("{}, {}", measure_name(measure), scale.name);
            rows.push(row(comparison, label, |machine| scale.show(own(machine))));
            if measure == Measure::Capacity && comparison.machines.iter().any(has_several) {
                let label = format!("of each run, {}", scale.name);
                rows.push(row(comparison, label, |machine| {
                    let runs = capacity(machine, goal).map_or(&[][..], |c| &c.runs);
                    let runs: Vec<String> = runs.iter().map(|run| scale.value(*run)).collect();
                    runs.join("; ").into()
                }));
            }
        }
    }
    let cpu = |machine| capacity(machine, goal).and_then(|c| c.cpu_pct);
    if comparison.machines.iter().any(|m| cpu(m).is_some()) {
        let shown = |cpu: Estimate| Written::pct(cpu).with_ends("");
        let name = "CPU use at capacity, %".to_owned();
        rows.push(row(comparison, name, |m| or_dash(cpu(m), shown)));
    }
    rows
}

pub(super) fn has_several(machine: &ComparedMachine) -> bool {
    machine.runs.len() > 1
}

pub(super) fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Capacity => "capacity",
        Measure::PerCpu => "per CPU",
        Measure::PerPrice => "per unit of money",
        Measure::PerWatt => "per joule",
    }
}

pub(super) struct Scale {
    /// How many of the figures' unit make one of these.
    pub(super) size: f64,
    pub(super) name: &'static str,
}

impl Scale {
    /// The unit in which a row with this largest figure is short.
    pub(super) fn of(unit: FigureUnit, largest: f64) -> Scale {
        let (size, name) = match unit {
            FigureUnit::Rps => (1.0, "requests/s"),
            FigureUnit::RequestsPerPrice if largest >= 1e7 => (1e6, "million requests"),
            FigureUnit::RequestsPerPrice | FigureUnit::RequestsPerJoule => (1.0, "requests"),
            FigureUnit::BytesPerSecond => (1e6, "MB/s"),
            FigureUnit::BytesPerPrice => (1e9, "GB"),
            FigureUnit::BytesPerJoule => (1e6, "MB"),
        };
        Scale { size, name }
    }

    /// Without its interval.
    fn value(&self, carried: Carried) -> String {
        let value = |x: f64| Written::rate(Estimate::alone(x / self.size)).value;
        match carried {
            Carried::Found(estimate) => value(estimate.value),
            Carried::AtLeast(least) => format!("at least {}", value(least)),
            Carried::Unknown => "not known".to_owned(),
        }
    }

    fn show(&self, figure: Option<&Figure>) -> Cell {
        let text = figure.and_then(|figure| match figure.carried.times(1.0 / self.size) {
            Carried::Found(estimate) => Some(Written::rate(estimate).with_ends("")),
            Carried::AtLeast(least) => {
                let least = Written::rate(Estimate::alone(least)).value;
                Some(format!("at least {least}"))
            }
            Carried::Unknown => None,
        });
        or_dash(text, |text| text)
    }
}

pub(super) fn threshold_rows(comparison: &Comparison) -> Vec<Vec<Cell>> {
    let mut headrooms: Vec<f64> = Vec::new();
    let all = comparison.machines.iter().flat_map(|m| &m.thresholds);
    for headroom in all.map(|t| t.headroom_pct) {
        if !headrooms.contains(&headroom) {
            headrooms.push(headroom);
        }
    }
    headrooms.sort_by(f64::total_cmp);
    let mut rows = vec![heads(comparison, "headroom")];
    for headroom in headrooms {
        let name = number::trimmed_pct(headroom) + " %";
        rows.push(row(comparison, name, |machine| {
            let mut own = machine.thresholds.iter();
            let found = own.find(|t| t.headroom_pct == headroom);
            or_dash(found, |t| Written::pct(t.cpu_pct).with_ends(""))
        }));
    }
    rows
}
