//! Tables with a column per machine.

use crate::escape::safe;
use crate::number::{self, MISSING, Written};
use crate::table::{Cell, Ink};
use plimsoll_model::{
    Carried, ComparedCapacity, Comparison, Estimate, Figure, FigureUnit, Measure,
};

fn heads(comparison: &Comparison, first: &str) -> Vec<Cell> {
    let names = comparison.machines.iter().map(|m| safe(&m.name));
    let texts = std::iter::once(first.to_owned()).chain(names);
    let bold = |text| Cell {
        text,
        ink: Ink::Bold,
    };
    texts.map(bold).collect()
}

/// A row per measure that is known of any machine, and the CPU use.
pub(crate) fn capacity_rows(comparison: &Comparison, goal: &ComparedCapacity) -> Vec<Vec<Cell>> {
    let all: Vec<Option<&ComparedCapacity>> = comparison
        .machines
        .iter()
        .map(|m| m.capacity.iter().find(|c| c.goal == goal.goal))
        .collect();
    let mut rows = vec![heads(comparison, "")];
    for measure in [
        Measure::Capacity,
        Measure::PerCpu,
        Measure::PerPrice,
        Measure::PerWatt,
    ] {
        let own: Vec<Option<&Figure>> = all.iter().map(|c| figure(*c, measure)).collect();
        if let Some(known) = own.iter().flatten().next() {
            let amounts = own.iter().flatten().filter_map(|f| f.carried.estimate());
            let largest = amounts.map(|amount| amount.value).fold(0.0, f64::max);
            let scale = Scale::of(known.unit, largest);
            let label = format!("{}, {}", measure_name(measure), scale.name);
            let mut row = vec![Cell::from(label)];
            row.extend(own.iter().map(|figure| scale.show(*figure)));
            rows.push(row);
        }
    }
    let cpu = |c: &Option<&ComparedCapacity>| c.and_then(|c| c.cpu_pct);
    if all.iter().any(|c| cpu(c).is_some()) {
        let shown = |cpu: Estimate| Written::pct(cpu).with_ends("");
        let mut row = vec![Cell::from("CPU use at capacity, %".to_owned())];
        row.extend(
            all.iter()
                .map(|c| Cell::from(cpu(c).map_or(MISSING.to_owned(), shown))),
        );
        rows.push(row);
    }
    rows
}

fn figure(capacity: Option<&ComparedCapacity>, measure: Measure) -> Option<&Figure> {
    capacity?.figures.iter().find(|f| f.measure == measure)
}

pub(crate) fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Capacity => "capacity",
        Measure::PerCpu => "per CPU",
        Measure::PerPrice => "per unit of money",
        Measure::PerWatt => "per joule",
    }
}

/// A unit that all figures of a row are shown in.
pub(crate) struct Scale {
    /// How many of the figures' unit make one of these.
    pub(crate) size: f64,
    pub(crate) name: &'static str,
}

impl Scale {
    /// The unit in which a row with this largest figure is short.
    pub(crate) fn of(unit: FigureUnit, largest: f64) -> Scale {
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

    fn show(&self, figure: Option<&Figure>) -> Cell {
        let Some(figure) = figure else {
            return MISSING.to_owned().into();
        };
        match figure.carried.times(1.0 / self.size) {
            Carried::Found(estimate) => Written::rate(estimate).with_ends("").into(),
            Carried::AtLeast(least) => {
                format!("at least {}", Written::rate(Estimate::alone(least)).value).into()
            }
            Carried::Unknown => MISSING.to_owned().into(),
        }
    }
}

/// A row per headroom that is known of any machine.
pub(crate) fn threshold_rows(comparison: &Comparison) -> Vec<Vec<Cell>> {
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
        let mut row = vec![Cell::from(number::trimmed_pct(headroom) + " %")];
        row.extend(comparison.machines.iter().map(|machine| {
            let own = machine.thresholds.iter();
            let found = own.clone().find(|t| t.headroom_pct == headroom);
            let text = found.map(|t| Written::pct(t.cpu_pct).with_ends(""));
            Cell::from(text.unwrap_or_else(|| MISSING.to_owned()))
        }));
        rows.push(row);
    }
    rows
}
