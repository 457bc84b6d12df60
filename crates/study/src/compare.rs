//! Compares machines, or versions of a service.
//!
//! Each is compared with the first. Separate measurements are independent, so the
//! interval of a quotient follows from the intervals of its two parts (`mover.rs`
//! has the formula and its source). A verdict is given only if the interval
//! excludes equality. No correction for multiple comparisons.

mod cautions;
mod error;
mod mover;
mod power;
mod same;

#[cfg(test)]
mod tests;

pub use error::CompareError;
pub use power::watts_at;

use crate::sizing::HIGHEST_PRICE;
use mover::{difference_of, ratio_of};
use plimsoll_model::{
    Arrivals, Carried, ComparedCapacity, ComparedMachine, Comparison, CpuThreshold, Difference,
    DifferenceVerdict, Estimate, Figure, FigureUnit, Goal, Measure, NoInterval, NoIntervalCode,
    ThresholdDifference, Workload,
};

/// A machine, or a version of a service, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// What it is called; no two have the same name.
    pub name: String,
    pub workload: Workload,
    /// How requests arrived; `None` where that is not known.
    pub arrivals: Option<Arrivals>,
    pub capacities: Vec<Capacity>,
    /// The goal that the threshold table is of; `None` where it is of the
    /// highest rate.
    pub thresholds_goal: Option<Goal>,
    pub thresholds: Vec<CpuThreshold>,
    pub cpus: Option<u32>,
    /// What it costs per hour, in the same currency as the others.
    pub price_per_hour: Option<f64>,
}

/// What a machine carries within a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    pub goal: Goal,
    /// How much, in requests per second.
    pub carried: Carried,
    /// The limit that the goal came to, in microseconds.
    pub limit_us: Option<f64>,
    /// CPU use in percent then.
    pub cpu_pct: Option<Estimate>,
    /// What the machine draws then. Taken as exact.
    pub watts: Option<f64>,
}

/// Compares machines with the first of them.
///
/// # Errors
///
/// There are not two with names of their own; they differ in workload or
/// goals; a price, a power or a number of CPUs makes no sense.
pub fn compare(machines: &[Machine]) -> Result<Comparison, CompareError> {
    let (first, others) = machines.split_first().ok_or(CompareError::TooFew)?;
    if others.is_empty() {
        return Err(CompareError::TooFew);
    }
    machines.iter().try_for_each(|m| check(m, machines))?;
    for other in others {
        same::workload(first, other)?;
        same::goals(first, other)?;
    }
    let sides: Vec<ComparedMachine> = machines.iter().map(side).collect();
    let against = &sides[0];
    Ok(Comparison {
        work_unit: same::unit(&first.workload),
        differences: sides[1..]
            .iter()
            .flat_map(|side| differences(against, side))
            .collect(),
        threshold_differences: others
            .iter()
            .flat_map(|other| threshold_differences(first, other))
            .collect(),
        cautions: cautions::of(machines),
        machines: sides,
    })
}

/// Refuses what nobody can mean of one machine.
fn check(machine: &Machine, all: &[Machine]) -> Result<(), CompareError> {
    let name = || machine.name.clone();
    if all.iter().filter(|m| m.name == machine.name).count() > 1 {
        return Err(CompareError::SameName { name: name() });
    }
    if machine.capacities.is_empty() {
        return Err(CompareError::NoGoal { name: name() });
    }
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if let Some(price) = machine
        .price_per_hour
        .filter(|p| !positive(*p) || *p > HIGHEST_PRICE)
    {
        return Err(CompareError::Price {
            name: name(),
            price,
        });
    }
    let mut watts = machine.capacities.iter().filter_map(|c| c.watts);
    if let Some(watts) = watts.find(|w| !positive(*w)) {
        return Err(CompareError::Watts {
            name: name(),
            watts,
        });
    }
    if machine.cpus == Some(0) {
        return Err(CompareError::NoCpus { name: name() });
    }
    Ok(())
}

fn side(machine: &Machine) -> ComparedMachine {
    let capacity = machine.capacities.iter().map(|capacity| ComparedCapacity {
        goal: capacity.goal,
        limit_us: capacity.limit_us,
        cpu_pct: capacity.cpu_pct,
        power_watts: capacity.watts,
        figures: figures(machine, capacity),
    });
    ComparedMachine {
        name: machine.name.clone(),
        cpus: machine.cpus,
        price_per_hour: machine.price_per_hour,
        capacity: capacity.collect(),
        thresholds_goal: machine.thresholds_goal,
        thresholds: machine.thresholds.clone(),
    }
}

/// What a rate in requests per second is multiplied with to be work by a
/// measure, for each measure that is the same at any load.
pub fn factors(machine: &Machine) -> Vec<(Measure, f64)> {
    let work = same::work_per_request(&machine.workload);
    let divisors = [
        (Measure::Capacity, Some(1.0)),
        (Measure::PerCpu, machine.cpus.map(f64::from)),
        (
            Measure::PerPrice,
            machine.price_per_hour.map(|price| price / 3600.0),
        ),
    ];
    let factor = |(measure, divisor): (Measure, Option<f64>)| Some((measure, work / divisor?));
    divisors.into_iter().filter_map(factor).collect()
}

/// The capacity by each measure whose divisor is known.
fn figures(machine: &Machine, capacity: &Capacity) -> Vec<Figure> {
    let work = same::work_per_request(&machine.workload);
    let unit = same::unit(&machine.workload);
    let per_watt = capacity.watts.map(|watts| (Measure::PerWatt, work / watts));
    let figure = |(measure, factor): (Measure, f64)| Figure {
        measure,
        unit: FigureUnit::of(unit, measure),
        carried: capacity.carried.times(factor),
    };
    let all = factors(machine).into_iter().chain(per_watt);
    all.map(figure).collect()
}

/// One row per figure that both have.
fn differences(first: &ComparedMachine, other: &ComparedMachine) -> Vec<Difference> {
    let mut rows = Vec::new();
    for base in &first.capacity {
        let Some(capacity) = other.capacity.iter().find(|c| c.goal == base.goal) else {
            continue;
        };
        for figure in &base.figures {
            let same = |f: &&Figure| f.measure == figure.measure;
            if let Some(its) = capacity.figures.iter().find(same) {
                let (ratio, verdict, why) =
                    difference((&first.name, figure.carried), (&other.name, its.carried));
                rows.push(Difference {
                    name: other.name.clone(),
                    against: first.name.clone(),
                    goal: base.goal,
                    measure: figure.measure,
                    ratio,
                    verdict,
                    why,
                });
            }
        }
    }
    rows
}

/// The quotient of two figures, what follows from it, and why nothing does.
fn difference(
    first: (&str, Carried),
    other: (&str, Carried),
) -> (Option<Estimate>, DifferenceVerdict, Option<NoInterval>) {
    let (base, carried) = (first.1, other.1);
    let ratio = base.estimate().zip(carried.estimate());
    let ratio = ratio.and_then(|(base, carried)| ratio_of(carried, base));
    let open = |x: Carried| matches!(x, Carried::AtLeast(_));
    let ratio = ratio.filter(|r| {
        let bounded = r.low.is_some() || r.high.is_some();
        bounded || !(open(base) || open(carried))
    });
    let verdict = ratio.map_or(DifferenceVerdict::Inconclusive, |r| verdict(r, 1.0));
    (ratio, verdict, why_not([first, other], ratio))
}

/// A reason, and the capacities that it applies to.
type Reason = (NoIntervalCode, fn(Carried) -> bool);

/// Why there is no interval, if there is none, and of which machines.
fn why_not(both: [(&str, Carried); 2], ratio: Option<Estimate>) -> Option<NoInterval> {
    if ratio.is_some_and(|r| r.low.is_some() || r.high.is_some()) {
        return None;
    }
    let reasons: [Reason; 3] = [
        (NoIntervalCode::UnknownCapacity, |c| c == Carried::Unknown),
        (NoIntervalCode::LowerBound, |c| {
            matches!(c, Carried::AtLeast(_))
        }),
        (NoIntervalCode::TooFewTrials, |c| {
            c.estimate().is_none_or(|e| e.interval().is_none())
        }),
    ];
    let applies = reasons.into_iter().find_map(|(code, holds)| {
        let machines = both.iter().filter(|(_, carried)| holds(*carried));
        let machines: Vec<String> = machines.map(|(name, _)| (*name).to_owned()).collect();
        (!machines.is_empty()).then_some(NoInterval { code, machines })
    });
    Some(applies.unwrap_or(NoInterval {
        code: NoIntervalCode::ReachesZero,
        machines: Vec::new(),
    }))
}

fn verdict(figure: Estimate, even: f64) -> DifferenceVerdict {
    if figure.low.is_some_and(|low| low > even) {
        DifferenceVerdict::Better
    } else if figure.high.is_some_and(|high| high < even) {
        DifferenceVerdict::Worse
    } else {
        DifferenceVerdict::Inconclusive
    }
}

/// One row per headroom that both tables have.
fn threshold_differences(first: &Machine, other: &Machine) -> Vec<ThresholdDifference> {
    let pairs = first.thresholds.iter().filter_map(|base| {
        let same = |t: &&CpuThreshold| (t.headroom_pct - base.headroom_pct).abs() < 1e-9;
        Some((base, other.thresholds.iter().find(same)?))
    });
    let rows = pairs.map(|(base, threshold)| {
        let points = difference_of(threshold.cpu_pct, base.cpu_pct);
        ThresholdDifference {
            name: other.name.clone(),
            against: first.name.clone(),
            headroom_pct: base.headroom_pct,
            cpu_points: points,
            verdict: verdict(points, 0.0),
        }
    });
    rows.collect()
}
