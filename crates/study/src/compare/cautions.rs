//! What a reader of a comparison should know, in sentences.

use super::{Capacity, Machine};
use plimsoll_model::{Goal, Workload, human_duration};
use std::time::Duration;

/// What may make figures that can be compared mean different things.
pub(super) fn of(machines: &[Machine]) -> Vec<String> {
    let all = [
        connections(machines),
        arrivals(machines),
        on_trust(machines),
        exact_power(machines),
        cpus(machines),
    ];
    let mut out: Vec<String> = all.into_iter().flatten().collect();
    out.extend(wide(machines));
    out.extend(relative_limits(machines));
    out
}

fn differ<T: PartialEq>(values: &[T]) -> bool {
    values.windows(2).any(|pair| pair[0] != pair[1])
}

fn connections(machines: &[Machine]) -> Option<String> {
    let connections = machines.iter().filter_map(|m| match &m.workload {
        Workload::Http(http) => Some(http.connections),
        _ => None,
    });
    differ(&connections.collect::<Vec<u32>>()).then(|| {
        "The machines were asked over different numbers of connections, which changes what a \
         server carries."
            .to_owned()
    })
}

fn arrivals(machines: &[Machine]) -> Option<String> {
    let known: Vec<_> = machines.iter().filter_map(|m| m.arrivals).collect();
    differ(&known).then(|| {
        "Requests arrived at random at one machine and evenly at another; where they arrive at \
         random more of them wait, so the goals were harder to keep there."
            .to_owned()
    })
}

fn on_trust(machines: &[Machine]) -> Option<String> {
    let first = machines.first()?;
    matches!(first.workload, Workload::Imported(_)).then(|| {
        "Imported tables do not say what they were measured with; that it was the same for all \
         is taken on trust."
            .to_owned()
    })
}

fn exact_power(machines: &[Machine]) -> Option<String> {
    let measured = |m: &&Machine| m.capacities.iter().any(|c| c.watts.is_some());
    (machines.iter().filter(measured).count() > 1).then(|| {
        "Power is taken as exact, and it is that of the CPU packages alone: what work per watt \
         has of an interval comes from the capacity."
            .to_owned()
    })
}

/// A service on twice the CPUs rarely carries twice as much, so figures per CPU
/// flatter the smaller one.
fn cpus(machines: &[Machine]) -> Option<String> {
    let known = machines.iter().filter_map(|m| Some((m.cpus?, &m.name)));
    let known: Vec<(u32, &String)> = known.collect();
    let numbers: Vec<u32> = known.iter().map(|k| k.0).collect();
    differ(&numbers).then(|| {
        let each: Vec<String> = known
            .iter()
            .map(|(n, name)| format!("{n} for {name}"))
            .collect();
        format!(
            "The services had different numbers of CPUs ({}). As a rule a service carries less \
             per CPU on more of them, so what is carried per CPU does not compare the CPUs alone.",
            each.join(", ")
        )
    })
}

/// Differences that are smaller than an interval is wide are hardly ever seen.
fn wide(machines: &[Machine]) -> Vec<String> {
    let of = |machine: &Machine, capacity: &Capacity| {
        let half_width = capacity.carried.estimate()?.wide()?;
        Some(format!(
            "What {} carries within {} is known to {:.0} % only (half the width of its interval); \
             smaller differences will not be seen. Sweep it longer, without --quick or with \
             --precision.",
            machine.name,
            capacity.goal,
            100.0 * half_width
        ))
    };
    let pairs = machines
        .iter()
        .flat_map(|m| m.capacities.iter().map(move |c| (m, c)));
    pairs.filter_map(|(m, c)| of(m, c)).collect()
}

/// A goal that is a multiple of a machine's own latency is another promise on
/// each machine.
fn relative_limits(machines: &[Machine]) -> Vec<String> {
    let goals = machines.first().map_or(&[][..], |m| &m.capacities);
    let relative = goals.iter().map(|c| c.goal).filter(Goal::is_relative);
    let sentence = |goal: Goal| {
        let limit = |m: &Machine| {
            let mut own = m.capacities.iter().filter(|c| c.goal == goal);
            let us = own.find_map(|c| c.limit_us)?;
            let limit = Duration::try_from_secs_f64(us / 1e6).ok()?;
            Some(format!("{} for {}", human_duration(limit), m.name))
        };
        let limits: Vec<String> = machines.iter().filter_map(limit).collect();
        (limits.len() > 1).then(|| {
            format!(
                "The goal {goal} is held against each machine's own latency at light load, so it \
                 is not the same promise for all: {}.",
                limits.join(", ")
            )
        })
    };
    relative.filter_map(sentence).collect()
}
