//! From trials to findings: statistics and models.
//!
//! Everything here is a pure function of a plan and its trials: no I/O, no clock,
//! no randomness without a seed. So findings can be repeated years later on another
//! machine, and tested on simulated trials. This crate does not know how a trial was
//! measured nor how a finding is shown.
//!
//! ```
//! use plimsoll_study::isotonic;
//!
//! // A dip is pooled with its neighbour: load cannot make latency better.
//! let fitted = isotonic::fit(&[(1.0, 1.0), (3.0, 1.0), (2.0, 1.0)]);
//! assert_eq!(fitted, [1.0, 2.5, 2.5]);
//! ```

pub mod bootstrap;
pub mod boundary;
pub mod burst;
pub mod capacity;
pub mod carried;
pub mod compare;
pub mod connections;
pub mod copies;
pub mod course;
mod cpu_time;
mod cpu_use;
mod curve;
mod decide;
mod direction;
mod doubts;
mod drift;
pub mod evidence;
pub mod fisher;
mod flat;
pub mod gate_power;
mod headroom;
mod hints;
mod idle;
pub mod isotonic;
pub mod judge;
mod levels;
mod light;
mod logistic;
pub mod pairs;
pub mod pauses;
pub mod picture;
mod pooled;
pub mod rated;
pub mod requests;
pub mod rig;
pub mod seeded;
mod serial;
mod shown;
pub mod sizing;
mod smt;
pub mod steady;
mod student;
mod theil_sen;
mod thresholds;
pub mod validity;
pub mod wake;
pub mod yields;

pub use drift::may_rise_late;

use carried::trial_is_carried;
use curve::{Curve, CurveTrial};
use plimsoll_model::{
    CapacityFinding, CapacityNote, CapacityStatus, CpuGauge, Doubt, Estimate, Findings, Phase,
    Plan, PooledCpu, Rate, RatedRate, Setting, Share, Trial, Workload,
};
use std::borrow::Cow;

/// The trials without those that warmed the service up.
pub fn measured<S: Clone, O: Clone>(trials: &[Trial<S, O>]) -> Cow<'_, [Trial<S, O>]> {
    let warms_up = |t: &Trial<S, O>| t.spec.phase == Phase::WarmUp;
    match trials.iter().any(warms_up) {
        false => Cow::Borrowed(trials),
        true => trials.iter().filter(|t| !warms_up(t)).cloned().collect(),
    }
}

/// How many trials without load come before the first with one.
pub fn loaded_from<S, O>(trials: &[Trial<S, O>]) -> usize {
    let is_loaded = |t: &Trial<S, O>| t.spec.phase != Phase::Idle;
    trials.iter().position(is_loaded).unwrap_or(trials.len())
}

/// All that can be concluded from the trials of a run so far.
pub fn findings(plan: &Plan, trials: &[Trial]) -> Findings {
    let trials = &*measured(trials);
    let rated = rated::rated(plan, trials);
    let levels = levels::levels(plan, trials, rated.as_ref());
    let light = light::light_load(plan, &levels, trials, rated.as_ref());
    let asked = capacity::Asked::at(plan, light);
    let curve = trials_curve(plan, trials);
    let capacity = asked.findings(plan, trials, curve.as_ref());
    let headroom = headroom::headroom(&levels, curve.as_ref(), rated.as_ref());
    let of = carried_at_most(&capacity, curve.as_ref(), rated.as_ref());
    let line = curve.as_ref().zip(of);
    let own = gauge_curve(plan, trials, CpuGauge::OwnTime).zip(plan.run.cpus.usable());
    let flat =
        line.and_then(|(curve, of)| flat_doubt(curve, own.as_ref().map(|(own, _)| own), of.value));
    let own = own.as_ref().map(|(curve, usable)| (curve, *usable));
    let thresholds = line
        .filter(|_| flat.is_none())
        .map_or_else(Vec::new, |(c, of)| thresholds::thresholds(c, own, of));
    let rate = rated.as_ref().and_then(|r| Rate::per_second(r.rate_rps));
    let mut doubts = doubts::of(plan, trials, rate, &levels, &capacity);
    doubts.extend(flat);
    doubts.extend(idle::works_on(plan, trials));
    doubts.extend(drift::doubts(plan, trials, &asked, &capacity));
    doubts.extend(pauses::doubts(
        plan,
        trials,
        &asked,
        &capacity,
        rated.as_ref(),
    ));
    let carried: Vec<&Trial> = at_rates(trials).filter(|t| trial_is_carried(t)).collect();
    Findings {
        idle_cpu_pct: idle::before_pct(plan, trials, CpuGauge::ServiceCpus),
        light_load: asked.light_load().cloned(),
        cpu_pooled: cpu_pooled(plan, curve.as_ref()),
        doubts,
        headroom,
        thresholds_of_rps: of,
        thresholds,
        hints: hints::hints(&carried, plan.run.seed),
        direction: direction::finding(plan, trials),
        smt: smt::of_levels(plan, trials, &levels),
        rated,
        requests: requests::of_sweep(plan, trials, least_rps(&capacity)),
        levels: levels.into_iter().map(|l| l.row).collect(),
        capacity,
    }
}

/// The least rate that keeps a goal, as far as it is known.
fn least_rps(capacity: &[CapacityFinding]) -> Option<f64> {
    let known = capacity
        .iter()
        .filter_map(|found| Some(found.rate_rps?.value));
    known.reduce(f64::min)
}

/// Why no threshold follows from a curve, with that of the service's own time.
fn flat_doubt(curve: &Curve, own: Option<&Curve>, capacity_rps: f64) -> Option<Doubt> {
    let own = own.map(|own| move |rate: f64| own.cpu_pct_at(rate));
    let own = own.as_ref().map(|own| own as flat::CpuAt<'_>);
    flat::doubt(&|rate| curve.cpu_pct_at(rate), own, capacity_rps)
}

/// Points this far apart, in percent, are the same but for binary fractions.
const SAME_PCT: f64 = 1e-6;

/// What the curve makes of rows that fall where they should rise. A sweep's
/// levels do so by chance, which its intervals show; a table's row states its
/// figure, so a changed one needs a reason.
fn cpu_pooled(plan: &Plan, curve: Option<&Curve>) -> Vec<PooledCpu> {
    let is_table = matches!(plan.workload, Workload::Imported(_));
    let points = curve
        .filter(|_| is_table)
        .map_or_else(Vec::new, Curve::points);
    let taken = points.iter().map(|p| PooledCpu {
        rate_rps: p.rate_rps,
        measured_cpu_pct: p.measured_cpu_pct,
        fitted_cpu_pct: p.cpu_pct.value,
    });
    let moved = |p: &PooledCpu| (p.fitted_cpu_pct - p.measured_cpu_pct).abs() > SAME_PCT;
    taken.filter(moved).collect()
}

/// The goal with the lowest capacity found: what the threshold table is of.
pub fn tightest(capacity: &[CapacityFinding]) -> Option<&CapacityFinding> {
    let is_found =
        |c: &&CapacityFinding| matches!(c.status, CapacityStatus::Found | CapacityStatus::Cliff);
    let value = |c: &CapacityFinding| c.rate_rps.map_or(f64::INFINITY, |rate| rate.value);
    let found = capacity.iter().filter(is_found);
    let found = found.filter(|c| c.rate_rps.is_some());
    found.min_by(|a, b| value(a).total_cmp(&value(b)))
}

/// The highest rate that keeps every goal; where all were kept throughout, the
/// highest rate there is, if the service was saturated.
fn carried_at_most(
    capacity: &[CapacityFinding],
    curve: Option<&Curve>,
    rated: Option<&RatedRate>,
) -> Option<Estimate> {
    let lowest = tightest(capacity).and_then(|c| c.rate_rps);
    let saturated = rated.is_some_and(|r| r.limited_by_service);
    let undecided = |c: &CapacityFinding| {
        let open_above = matches!(c.note, Some(CapacityNote::TooFewRequestsAbove { .. }));
        c.status == CapacityStatus::Undecided || open_above
    };
    lowest.or_else(|| {
        let end = curve.filter(|_| saturated && !capacity.iter().any(undecided))?;
        end.estimate(|line| Some(line.max_rate_rps()))
    })
}

/// Valid trials that offered a rate, without those of the calibration.
fn at_rates(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(|t| {
        let offered = matches!(t.spec.setting, Setting::Offer { .. });
        offered && t.spec.phase.shows_load() && t.verdict.is_valid()
    })
}

/// Work against CPU use, over all valid trials in which CPU use could be read.
fn trials_curve(plan: &Plan, trials: &[Trial]) -> Option<Curve> {
    gauge_curve(plan, trials, CpuGauge::ServiceCpus)
}

/// The same by a gauge.
fn gauge_curve(plan: &Plan, trials: &[Trial], gauge: CpuGauge) -> Option<Curve> {
    curve_through(plan, cpu_use::with_gauge(plan, trials, gauge))
}

/// The curve through these trials, each with its CPU use.
fn curve_through<'a>(
    plan: &Plan,
    trials: impl Iterator<Item = (&'a Trial, Share)>,
) -> Option<Curve> {
    let mut rates: Vec<f64> = Vec::new();
    let points: Vec<CurveTrial> = trials
        .map(|(t, cpu)| {
            let asked = t.asked().get();
            let level = rates.iter().position(|r| *r == asked).unwrap_or_else(|| {
                rates.push(asked);
                rates.len() - 1
            });
            CurveTrial {
                level: level as u32,
                intended: t.asked(),
                achieved: t.achieved(),
                cpu,
                measured: t.window,
            }
        })
        .collect();
    Curve::of(&points, plan.run.seed)
}

#[cfg(test)]
mod testing;
