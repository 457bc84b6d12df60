//! Cautions about a comparison.

use super::runs::{ASSUMED_DEVIATION, Deviation};
use super::{Run, Side};
use plimsoll_model::{
    ComparedMachine, Comparison, ComparisonCaution, Estimate, Goal, LimitOf, MachineCpus, Measure,
    RunToRunFrom, Workload,
};

/// Differences between machines and runs that limit a comparison.
pub(super) fn of(
    sides: &[Side],
    found: &Comparison,
    deviation: Deviation,
) -> Vec<ComparisonCaution> {
    let machines = &found.machines;
    let runs: Vec<&Run> = sides.iter().flat_map(|side| &side.runs).collect();
    let all = [
        run_to_run(found, deviation),
        connections(&runs),
        arrivals(&runs),
        on_trust(&runs),
        exact_power(sides),
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

/// Where intervals rest on a deviation from run to run that was not measured.
fn run_to_run(found: &Comparison, deviation: Deviation) -> Option<ComparisonCaution> {
    let has_interval = |e: Estimate| e.low.or(e.high).is_some();
    let capacities = found.differences.iter().filter(|d| d.why.is_none());
    let mut thresholds = found.threshold_differences.iter();
    let any = capacities.clone().count() > 0 || thresholds.any(|d| has_interval(d.cpu_points));
    if any && found.machines.iter().all(|m| m.runs.len() == 1) {
        return Some(ComparisonCaution::SingleRuns {
            deviation_pct: 100.0 * deviation.stated.unwrap_or(ASSUMED_DEVIATION),
            stated: deviation.stated.is_some(),
        });
    }
    let mut used = capacities.filter_map(|d| d.run_to_run);
    let assumed = used.find(|d| d.from == RunToRunFrom::Assumed)?;
    Some(ComparisonCaution::FewRuns {
        deviation_pct: assumed.deviation_pct,
    })
}

/// The number of connections changes the capacity.
fn connections(runs: &[&Run]) -> Option<ComparisonCaution> {
    let connections = runs.iter().filter_map(|run| run.connections);
    differ(&connections.collect::<Vec<u32>>()).then_some(ComparisonCaution::Connections)
}

/// Random arrivals queue more.
fn arrivals(runs: &[&Run]) -> Option<ComparisonCaution> {
    let known: Vec<_> = runs.iter().filter_map(|run| run.arrivals).collect();
    differ(&known).then_some(ComparisonCaution::Arrivals)
}

fn on_trust(runs: &[&Run]) -> Option<ComparisonCaution> {
    let first = runs.first()?;
    matches!(first.workload, Workload::Imported(_)).then_some(ComparisonCaution::OnTrust)
}

fn exact_power(sides: &[Side]) -> Option<ComparisonCaution> {
    let measured = |side: &&Side| {
        let mut capacities = side.runs.iter().flat_map(|run| &run.capacities);
        capacities.any(|c| c.watts.is_some())
    };
    (sides.iter().filter(measured).count() > 1).then_some(ComparisonCaution::ExactPower)
}

/// Twice the CPUs rarely carry twice as much, so figures per CPU favour the smaller
/// machine.
fn cpus(machines: &[ComparedMachine]) -> Option<ComparisonCaution> {
    let known = machines.iter().filter_map(|m| {
        Some(MachineCpus {
            name: m.name.clone(),
            cpus: m.cpus?,
        })
    });
    let cpus: Vec<MachineCpus> = known.collect();
    let numbers: Vec<u32> = cpus.iter().map(|k| k.cpus).collect();
    differ(&numbers).then_some(ComparisonCaution::Cpus { cpus })
}

/// Differences smaller than the width of an interval are rarely detected.
fn wide(machines: &[ComparedMachine]) -> Vec<ComparisonCaution> {
    let pairs = machines
        .iter()
        .flat_map(|m| m.capacity.iter().map(move |c| (m, c)));
    let wide = pairs.filter_map(|(machine, capacity)| {
        let figures = &capacity.figures;
        let figure = figures.iter().find(|f| f.measure == Measure::Capacity)?;
        Some(ComparisonCaution::WideCapacity {
            name: machine.name.clone(),
            goal: capacity.goal,
            half_width_pct: 100.0 * figure.carried.estimate()?.wide()?,
        })
    });
    wide.collect()
}

/// A goal relative to a machine's own latency is a different goal on each machine.
fn relative_limits(machines: &[ComparedMachine]) -> Vec<ComparisonCaution> {
    let goals = machines.first().map_or(&[][..], |m| &m.capacity);
    let relative = goals.iter().map(|c| c.goal).filter(Goal::is_relative);
    let caution = |goal: Goal| {
        let limit = |m: &ComparedMachine| {
            let mut own = m.capacity.iter().filter(|c| c.goal == goal);
            Some(LimitOf {
                name: m.name.clone(),
                limit_us: own.find_map(|c| c.limit_us)?,
            })
        };
        let limits: Vec<LimitOf> = machines.iter().filter_map(limit).collect();
        (limits.len() > 1).then_some(ComparisonCaution::RelativeGoal { goal, limits })
    };
    relative.filter_map(caution).collect()
}
