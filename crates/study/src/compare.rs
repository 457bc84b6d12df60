//! Compares machines, or versions of a service, each measured in one run or several.
//!
//! Each is compared with the first. `runs.rs` has the interval of a quotient and its
//! sources. A verdict is given only if the interval excludes equality. No correction for
//! multiple comparisons.

mod cautions;
mod difference;
mod error;
mod power;
mod run;
pub(crate) mod runs;
mod same;
mod side;

#[cfg(test)]
mod tests;

pub use error::CompareError;
pub use power::watts_at;
pub use run::{Capacity, Run};
pub use runs::ASSUMED_DEVIATION;
pub use side::factors;

use crate::sizing::HIGHEST_PRICE;
use plimsoll_model::{Comparison, Share};
use runs::Deviation;

/// A machine, or a version of a service, with its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// What it is called; no two have the same name.
    pub name: String,
    /// One at least.
    pub runs: Vec<Run>,
    /// What it costs per hour, in the same currency as the others.
    pub price_per_hour: Option<f64>,
}

/// Compares machines with the first of them. `run_to_run` is the standard deviation
/// of a figure from run to run, if the user states one; else it is measured where
/// there are runs enough, or assumed.
///
/// # Errors
///
/// There are not two with names of their own; they differ in workload or goals;
/// the runs of one differ in their server, its CPUs, connections or arrivals; a price, a
/// power or a number of CPUs makes no sense.
pub fn compare(sides: &[Side], run_to_run: Option<Share>) -> Result<Comparison, CompareError> {
    let (first, others) = sides.split_first().ok_or(CompareError::TooFew)?;
    if others.is_empty() {
        return Err(CompareError::TooFew);
    }
    sides.iter().try_for_each(|side| check(side, sides))?;
    let runs = sides
        .iter()
        .flat_map(|side| side.runs.iter().map(move |run| (side, run)));
    for (side, run) in runs {
        same::workload(&first.runs[0], run)?;
        same::goals(&first.runs[0], run)?;
        same::settings(&side.runs[0], run)?;
    }
    let deviation = Deviation {
        stated: run_to_run.map(Share::get),
        scale: 1.0,
    };
    let machines = sides.iter();
    let figures = others.iter();
    let figures = figures.flat_map(|other| difference::of_figures(first, other, deviation));
    let thresholds = others.iter();
    let thresholds =
        thresholds.flat_map(|other| difference::of_thresholds(first, other, deviation));
    let mut found = Comparison {
        work_unit: same::unit(&first.runs[0].workload),
        machines: machines
            .map(|side| side::machine(side, deviation))
            .collect(),
        differences: figures.collect(),
        threshold_differences: thresholds.collect(),
        cautions: Vec::new(),
    };
    found.cautions = cautions::of(sides, &found, deviation);
    Ok(found)
}

/// Refuses what nobody can mean of one machine.
fn check(side: &Side, all: &[Side]) -> Result<(), CompareError> {
    let name = || side.name.clone();
    if side.runs.is_empty() {
        return Err(CompareError::TooFew);
    }
    if all.iter().filter(|other| other.name == side.name).count() > 1 {
        return Err(CompareError::SameName { name: name() });
    }
    let positive = |x: f64| x.is_finite() && x > 0.0;
    let price = side.price_per_hour;
    if let Some(price) = price.filter(|p| !positive(*p) || *p > HIGHEST_PRICE) {
        return Err(CompareError::Price {
            name: name(),
            price,
        });
    }
    for run in &side.runs {
        let name = || run.name.clone();
        let all = all.iter().flat_map(|side| &side.runs);
        if all.filter(|other| other.name == run.name).count() > 1 {
            return Err(CompareError::SameName { name: name() });
        }
        if run.capacities.is_empty() {
            return Err(CompareError::NoGoal { name: name() });
        }
        let mut watts = run.capacities.iter().filter_map(|c| c.watts);
        if let Some(watts) = watts.find(|w| !positive(*w)) {
            return Err(CompareError::Watts {
                name: name(),
                watts,
            });
        }
        if run.cpus == Some(0) {
            return Err(CompareError::NoCpus { name: name() });
        }
    }
    Ok(())
}
