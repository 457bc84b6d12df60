//! Cautions about a comparison.

use super::{Capacity, Machine};
use plimsoll_model::{ComparisonCaution, Goal, Workload};
use std::time::Duration;

/// Differences between runs that limit a comparison.
pub(super) fn of(machines: &[Machine]) -> Vec<ComparisonCaution> {
    let all = [
        connections(machines),
        arrivals(machines),
        on_trust(machines),
        exact_power(machines),
        cpus(machines),
    ];
    let mut out: Vec<ComparisonCaution> = all.into_iter().flatten().collect();
    out.extend(wide(machines));
    out.extend(relative_limits(machines));
    out
}

fn differ<T: PartialEq>(values: &[T]) -> bool {
    values.windows(2).any(|pair| pair[0] != pair[1])
}

/// The number of connections changes the capacity.
fn connections(machines: &[Machine]) -> Option<ComparisonCaution> {
    let connections = machines.iter().filter_map(|m| match &m.workload {
        Workload::Http(http) => Some(http.connections),
        _ => None,
    });
    differ(&connections.collect::<Vec<u32>>()).then_some(ComparisonCaution::Connections)
}

/// Random arrivals queue more.
fn arrivals(machines: &[Machine]) -> Option<ComparisonCaution> {
    let known: Vec<_> = machines.iter().filter_map(|m| m.arrivals).collect();
    differ(&known).then_some(ComparisonCaution::Arrivals)
}

fn on_trust(machines: &[Machine]) -> Option<ComparisonCaution> {
    let first = machines.first()?;
    matches!(first.workload, Workload::Imported(_)).then_some(ComparisonCaution::OnTrust)
}

fn exact_power(machines: &[Machine]) -> Option<ComparisonCaution> {
    let measured = |m: &&Machine| m.capacities.iter().any(|c| c.watts.is_some());
    (machines.iter().filter(measured).count() > 1).then_some(ComparisonCaution::ExactPower)
}

/// Twice the CPUs rarely carry twice as much, so figures per CPU favour the smaller
/// machine.
fn cpus(machines: &[Machine]) -> Option<ComparisonCaution> {
    let known = machines
        .iter()
        .filter_map(|m| Some((m.name.clone(), m.cpus?)));
    let known: Vec<(String, u32)> = known.collect();
    let numbers: Vec<u32> = known.iter().map(|k| k.1).collect();
    differ(&numbers).then_some(ComparisonCaution::Cpus(known))
}

/// Differences smaller than the width of an interval are rarely detected.
fn wide(machines: &[Machine]) -> Vec<ComparisonCaution> {
    let of = |machine: &Machine, capacity: &Capacity| {
        Some(ComparisonCaution::WideCapacity {
            name: machine.name.clone(),
            goal: capacity.goal,
            half_width: capacity.carried.estimate()?.wide()?,
        })
    };
    let pairs = machines
        .iter()
        .flat_map(|m| m.capacities.iter().map(move |c| (m, c)));
    pairs.filter_map(|(m, c)| of(m, c)).collect()
}

/// A goal relative to a machine's own latency is a different goal on each machine.
fn relative_limits(machines: &[Machine]) -> Vec<ComparisonCaution> {
    let goals = machines.first().map_or(&[][..], |m| &m.capacities);
    let relative = goals.iter().map(|c| c.goal).filter(Goal::is_relative);
    let caution = |goal: Goal| {
        let limit = |m: &Machine| {
            let mut own = m.capacities.iter().filter(|c| c.goal == goal);
            let us = own.find_map(|c| c.limit_us)?;
            Some((m.name.clone(), Duration::try_from_secs_f64(us / 1e6).ok()?))
        };
        let limits: Vec<(String, Duration)> = machines.iter().filter_map(limit).collect();
        (limits.len() > 1).then_some(ComparisonCaution::RelativeGoal { goal, limits })
    };
    relative.filter_map(caution).collect()
}
