//! How many instances a peak needs, and at which CPU use to add one.
//!
//! An instance carries `X` requests per second within the goal: the lower end
//! of its capacity. While `k` of `n` instances are lost, and while traffic
//! grows by a share `g` of itself per minute for the `T` minutes that a new
//! instance takes, those that are left must carry what there is. So an
//! instance may be asked for at most
//!
//! ```text
//! X_target = X * (n - k) / n * 1 / (1 + g T)
//! ```
//!
//! The two factors are multiplied, although the smaller of them would do if a
//! failure never met a rise in traffic. It does meet one: the gap between a
//! failure and its replacement is itself `T` long, and while traffic rises an
//! autoscaler holds every instance at the target, where there is no other
//! slack. The smaller factor alone would break the promise at the one moment
//! it is made for.
//!
//! One target holds for every size of the fleet only if the fleet never gets
//! so small that `k` are a larger part of it. So an answer has a *floor*, the
//! smallest fleet that its target is right for, and floor and target must be
//! put into the autoscaler together.
//!
//! The fleet that is stated is the one at which the autoscaler rests at the
//! peak; the fewest that carry it may be less, for its CPU target is cautious
//! (`target`).

mod autoscale;
mod behavior;
mod cautions;
mod cpu_line;
mod error;
mod instance_cpu;
mod linear;
mod target;
mod traffic;

#[cfg(test)]
mod tests;

pub use cpu_line::CpuLine;
pub use error::SizingError;
pub use instance_cpu::{CpuOfRate, InstanceCpu};
pub use traffic::Traffic;

use autoscale::Fleet;
use plimsoll_model::{CapacityFinding, Carried, Estimate, FloorFrom, PlannedFrom, Rate, Sizing};
use std::time::Duration;

/// More instances than this are a mistake in a unit.
const MOST_INSTANCES: f64 = 1e6;
/// More failures at once than this are no failures but an outage.
const MOST_FAILURES: u32 = 1000;
/// The fastest growth that is believed: to eleven times within a minute.
const MOST_GROWTH_PER_MINUTE: f64 = 10.0;
/// The longest start of an instance that is believed.
const LONGEST_READY_IN: Duration = Duration::from_secs(86_400);
/// The highest price of an instance that is believed, per hour.
pub(crate) const HIGHEST_PRICE: f64 = 1e6;

/// The goal that allows the least of what would be planned with, for all of
/// them are to be kept; goals of which nothing is known allow anything.
pub fn least(capacity: &[CapacityFinding]) -> Option<&CapacityFinding> {
    let allows = |c: &CapacityFinding| planned(c.into()).map_or(f64::INFINITY, |(rate, _)| rate);
    capacity
        .iter()
        .min_by(|a, b| allows(a).total_cmp(&allows(b)))
}

/// The part of a capacity that is planned with.
fn planned(capacity: Carried) -> Option<(f64, PlannedFrom)> {
    match capacity {
        Carried::Found(Estimate { low: Some(low), .. }) => Some((low, PlannedFrom::LowerEnd)),
        Carried::Found(alone) => Some((alone.value, PlannedFrom::Value)),
        Carried::AtLeast(highest) => Some((highest, PlannedFrom::HighestTried)),
        Carried::Unknown => None,
    }
}

#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// What one instance carries within the goal, in requests per second. Its
    /// lower end is planned with, its value where there is none; the highest
    /// rate that was tried, where that still kept the goal.
    pub capacity: Carried,
    /// CPU use of an instance.
    pub cpu: InstanceCpu<'a>,
    /// The lowest rate at which CPU use was measured; what `cpu` gives below
    /// is in doubt.
    pub lowest_measured: Option<Rate>,
    /// What all instances together have to carry.
    pub demand: &'a Demand,
    /// How many instances may be lost at once.
    pub failures: u32,
    /// By which share of itself traffic may grow within a minute: 0.1 for
    /// 10 % per minute. Growth is straight, not compound.
    pub growth_per_minute: f64,
    /// From the moment that an instance is called for, with the autoscaler's
    /// own delay, until it carries load.
    pub ready_in: Duration,
    /// Price of an instance per hour, in any currency.
    pub price_per_hour: Option<f64>,
    /// The smallest fleet that the autoscaler may keep. `None`: with traffic
    /// by time the one that costs least, else the fleet for the peak.
    pub floor: Option<u32>,
}

/// What all instances together have to carry.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// The highest rate that there ever is.
    Peak(Rate),
    Traffic(Traffic),
}

impl Demand {
    /// The highest rate.
    pub fn peak(&self) -> Rate {
        match self {
            Demand::Peak(rate) => *rate,
            Demand::Traffic(traffic) => traffic.peak(),
        }
    }
}

/// How many instances are needed, and when to add one.
///
/// # Errors
///
/// A figure that makes no sense: no capacity, no peak, growth, price, times or
/// failures that nobody can mean, or a fleet of more than a million.
pub fn size(request: &Request<'_>) -> Result<Sizing, SizingError> {
    let (planned, planned_from) = check(request)?;
    let growth = 1.0 + request.growth_per_minute * request.ready_in.as_secs_f64() / 60.0;
    let fleet = Fleet {
        carried: planned,
        failures: request.failures,
        growth,
        ready_in: request.ready_in,
    };
    let peak = request.demand.peak();
    let least = fleet.fixed(peak)?;
    let floor = floor(request, &fleet, least);
    let (autoscaler, instances, held) = fleet.autoscaler(floor, peak, request.cpu)?;
    let rate_at_peak = peak.times(1.0 / f64::from(instances));
    let over_time = match request.demand {
        Demand::Peak(_) => None,
        Demand::Traffic(traffic) => {
            let price = request.price_per_hour;
            Some(fleet.over_time(traffic, (floor.0, held), least, price))
        }
    };
    Ok(Sizing {
        peak_rps: peak.get(),
        planned_rps: planned.get(),
        planned_from,
        growth_ratio: growth,
        least_instances: least,
        instances,
        rate_at_peak_rps: rate_at_peak.get(),
        cpu_of: request.cpu.gauge(),
        own_of: request.cpu.own_of,
        behavior: behavior::behavior(request.growth_per_minute, request.ready_in),
        cpu_at_peak_pct: request.cpu.at(rate_at_peak),
        cautions: cautions::of(
            request,
            &fleet,
            autoscaler.rate_rps,
            rate_at_peak,
            over_time.as_ref(),
        )?,
        linear_rule: linear::rule(
            &fleet,
            &autoscaler,
            (least, request.floor),
            peak,
            request.cpu,
        ),
        autoscaler,
        cost_per_hour: request.price_per_hour.map(|p| p * f64::from(instances)),
        over_time,
    })
}

/// The smallest fleet that the autoscaler keeps, and why.
fn floor(request: &Request<'_>, fleet: &Fleet, least: u32) -> (u32, FloorFrom) {
    match (request.floor, request.demand) {
        (Some(floor), _) => (floor, FloorFrom::Asked),
        (None, Demand::Traffic(traffic)) => {
            let cheapest = fleet.cheapest_floor(traffic, least, request.cpu);
            (cheapest, FloorFrom::Cheapest)
        }
        // Losing none is the same share of every fleet.
        (None, Demand::Peak(_)) if request.failures == 0 => (1, FloorFrom::NoFailures),
        (None, Demand::Peak(peak)) => (fleet.resting(least, *peak, request.cpu), FloorFrom::Peak),
    }
}

/// Refuses what nobody can mean; gives the rate that is planned with. What was
/// asked comes first: it is put right sooner than a record.
fn check(request: &Request<'_>) -> Result<(Rate, PlannedFrom), SizingError> {
    if request.demand.peak() == Rate::ZERO {
        return Err(SizingError::NoPeak);
    }
    if request.failures > MOST_FAILURES {
        return Err(SizingError::Failures(request.failures));
    }
    if !(0.0..=MOST_GROWTH_PER_MINUTE).contains(&request.growth_per_minute) {
        return Err(SizingError::Growth(100.0 * request.growth_per_minute));
    }
    if request.ready_in > LONGEST_READY_IN {
        return Err(SizingError::ReadyIn(request.ready_in));
    }
    if let Some(price) = request.price_per_hour {
        let sane = price > 0.0 && price <= HIGHEST_PRICE;
        sane.then_some(()).ok_or(SizingError::Price(price))?;
    }
    if let Some(floor) = request.floor.filter(|floor| *floor <= request.failures) {
        let failures = request.failures;
        return Err(SizingError::Floor { floor, failures });
    }
    let (planned, from) = planned(request.capacity).ok_or(SizingError::NoCapacity)?;
    let planned = Rate::per_second(planned)
        .filter(|rate| *rate > Rate::ZERO)
        .ok_or(SizingError::Capacity(planned))?;
    match request.floor {
        Some(floor) if f64::from(floor) > MOST_INSTANCES => Err(SizingError::TooMany { planned }),
        _ => Ok((planned, from)),
    }
}
