//! What the runs of one machine come to.

use super::runs::{Deviation, Term, logarithm, sum_of_means};
use super::{Capacity, Run, Side, same};
use plimsoll_model::{
    Carried, ComparedCapacity, ComparedMachine, CpuThreshold, Estimate, Figure, FigureUnit, Goal,
    Measure,
};

/// What a machine carries by one measure.
pub(super) enum Sample {
    /// Each run's value, as a logarithm.
    Found(Vec<Estimate>),
    /// Some runs have a lower bound only: the least of all values.
    AtLeast(Estimate),
    /// Some runs have no capacity, or one that has no logarithm. The others alone would
    /// be chosen by their results.
    Unknown,
}

impl Sample {
    pub(super) fn of(runs: &[Carried]) -> Sample {
        let estimates: Option<Vec<Estimate>> = runs.iter().map(|run| run.estimate()).collect();
        let Some(estimates) = estimates else {
            return Sample::Unknown;
        };
        if runs.iter().any(|run| matches!(run, Carried::AtLeast(_))) {
            let least = estimates
                .iter()
                .map(|e| e.value)
                .fold(f64::INFINITY, f64::min);
            let bound = Carried::AtLeast(least).estimate().and_then(logarithm);
            return bound.map_or(Sample::Unknown, Sample::AtLeast);
        }
        let logarithms: Option<Vec<Estimate>> = estimates.into_iter().map(logarithm).collect();
        logarithms.map_or(Sample::Unknown, Sample::Found)
    }

    /// The values, and whether they are a lower bound.
    pub(super) fn values(&self) -> Option<(&[Estimate], bool)> {
        match self {
            Sample::Found(values) => Some((values, false)),
            Sample::AtLeast(bound) => Some((std::slice::from_ref(bound), true)),
            Sample::Unknown => None,
        }
    }
}

/// What all runs carry on average; one run's own figure is left as it is.
fn mean(runs: &[Carried], deviation: Deviation) -> Carried {
    match (runs, Sample::of(runs)) {
        ([one], _) => *one,
        (_, Sample::Found(runs)) => Carried::Found(mean_of(&runs, deviation).map_rising(f64::exp)),
        (_, Sample::AtLeast(bound)) => Carried::AtLeast(bound.value.exp()),
        (_, Sample::Unknown) => Carried::Unknown,
    }
}

fn mean_of(runs: &[Estimate], deviation: Deviation) -> Estimate {
    match runs {
        [one] => *one,
        _ => sum_of_means(&[Term { runs, sign: 1.0 }], deviation).0,
    }
}

/// The mean of figures that all runs have, in their own unit.
fn linear_mean(runs: &[Option<Estimate>], deviation: Deviation) -> Option<Estimate> {
    let runs: Vec<Estimate> = runs.iter().copied().collect::<Option<_>>()?;
    let scale = mean_value(&runs);
    Some(mean_of(&runs, Deviation { scale, ..deviation }))
}

pub(super) fn mean_value(runs: &[Estimate]) -> f64 {
    runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64
}

pub(super) fn machine(side: &Side, deviation: Deviation) -> ComparedMachine {
    let first = &side.runs[0];
    let capacities = first.capacities.iter();
    let capacity = capacities.map(|c| capacity(side, &c.goal, deviation));
    let goals = side.runs.iter().map(|run| run.thresholds_goal);
    ComparedMachine {
        name: side.name.clone(),
        runs: side.runs.iter().map(|run| run.name.clone()).collect(),
        cpus: first.cpus,
        price_per_hour: side.price_per_hour,
        capacity: capacity.collect(),
        thresholds_goal: first
            .thresholds_goal
            .filter(|own| goals.clone().all(|g| g == Some(*own))),
        thresholds: thresholds(side, deviation),
    }
}

fn capacity<'a>(side: &'a Side, goal: &Goal, deviation: Deviation) -> ComparedCapacity {
    let own = |run: &'a Run| run.capacities.iter().find(|c| c.goal == *goal);
    let runs: Vec<&Capacity> = side.runs.iter().filter_map(own).collect();
    let each = |of: &dyn Fn(&Capacity) -> Option<f64>| {
        let known: Option<Vec<f64>> = runs.iter().map(|c| of(c)).collect();
        known.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let cpu: Vec<Option<Estimate>> = runs.iter().map(|c| c.cpu_pct).collect();
    let figures = figures(side, goal);
    let unit = same::unit(&side.runs[0].workload);
    let by = |(measure, runs): &(Measure, Vec<Carried>)| Figure {
        measure: *measure,
        unit: FigureUnit::of(unit, *measure),
        carried: mean(runs, deviation),
    };
    let own = figures
        .iter()
        .find(|(measure, _)| *measure == Measure::Capacity);
    ComparedCapacity {
        goal: *goal,
        limit_us: each(&|c| c.limit_us),
        cpu_pct: linear_mean(&cpu, deviation),
        power_watts: each(&|c| c.watts),
        runs: own.map_or_else(Vec::new, |(_, runs)| runs.clone()),
        figures: figures.iter().map(by).collect(),
    }
}

/// What a rate in requests per second of a run is multiplied with to be work by a
/// measure, for each measure that is the same at any load.
pub fn factors(run: &Run, price_per_hour: Option<f64>) -> Vec<(Measure, f64)> {
    let work = same::work_per_request(&run.workload);
    let divisors = [
        (Measure::Capacity, Some(1.0)),
        (Measure::PerCpu, run.cpus.map(f64::from)),
        (
            Measure::PerPrice,
            price_per_hour.map(|price| price / 3600.0),
        ),
    ];
    let factor = |(measure, divisor): (Measure, Option<f64>)| Some((measure, work / divisor?));
    divisors.into_iter().filter_map(factor).collect()
}

/// What a run carries by each measure whose divisor is known.
fn figures_of(run: &Run, price_per_hour: Option<f64>, goal: &Goal) -> Vec<(Measure, Carried)> {
    let Some(capacity) = run.capacities.iter().find(|c| c.goal == *goal) else {
        return Vec::new();
    };
    let work = same::work_per_request(&run.workload);
    let per_watt = capacity.watts.map(|watts| (Measure::PerWatt, work / watts));
    let all = factors(run, price_per_hour).into_iter().chain(per_watt);
    all.map(|(measure, factor)| (measure, capacity.carried.times(factor)))
        .collect()
}

/// What each run carries by each measure that is known of all.
pub(super) fn figures(side: &Side, goal: &Goal) -> Vec<(Measure, Vec<Carried>)> {
    let runs = side.runs.iter();
    let runs: Vec<_> = runs
        .map(|run| figures_of(run, side.price_per_hour, goal))
        .collect();
    let of_all = |measure: Measure| {
        let own = |run: &Vec<(Measure, Carried)>| run.iter().find(|f| f.0 == measure).map(|f| f.1);
        Some((measure, runs.iter().map(own).collect::<Option<_>>()?))
    };
    let measures = runs.first().into_iter().flatten();
    measures
        .filter_map(|(measure, _)| of_all(*measure))
        .collect()
}

/// CPU use at a headroom in each run; `None` unless all tables have it, and are of one goal.
pub(super) fn threshold_runs(side: &Side, headroom_pct: f64) -> Option<Vec<Estimate>> {
    let goal = side.runs[0].thresholds_goal;
    let own = |run: &Run| {
        let mut rows = run.thresholds.iter();
        let row = rows.find(|t| (t.headroom_pct - headroom_pct).abs() < 1e-9);
        row.filter(|_| run.thresholds_goal == goal)
            .map(|t| t.cpu_pct)
    };
    side.runs.iter().map(own).collect()
}

fn thresholds(side: &Side, deviation: Deviation) -> Vec<CpuThreshold> {
    let rows = side.runs[0].thresholds.iter();
    let rows = rows.filter_map(|row| {
        let runs = threshold_runs(side, row.headroom_pct)?;
        let runs: Vec<Option<Estimate>> = runs.into_iter().map(Some).collect();
        Some(CpuThreshold {
            headroom_pct: row.headroom_pct,
            cpu_pct: linear_mean(&runs, deviation)?,
        })
    });
    rows.collect()
}
