//! Does the way to a level matter, and does a restart?
//!
//! A service that was busy a moment ago has warm caches and full queues; one
//! that was idle has a cold clock. So the latency at a level may depend on
//! whether the level was reached from below or from above. And each start of a
//! service has its own memory layout and threads: repetitions within one start
//! agree better with each other than with those of the next (Zhang, Meisner,
//! Mars and Tang, "Treadmill", ISCA 2016, section on hysteresis), so that
//! intervals from a single start are too narrow.

mod restarts;

pub(crate) use restarts::restarts;

use crate::bootstrap::{self, RESAMPLES};
use crate::seeded::Rng;
use plimsoll_model::{DirectionFinding, DirectionVerdict, Estimate, Phase, Plan, Trial, Workload};
use std::collections::BTreeMap;

/// A difference of less than 10 % either way does not matter.
pub(crate) const MATTERS_RATIO: f64 = 1.1;

/// Rates nearer than 1 % are the same rate: a level that was tried again.
const SAME_RATE: f64 = 0.01;

/// A trial as far as order is concerned. Trials that do not count belong here
/// too: they had the machine under load just as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Visit {
    /// Its place in time, such as its start; any unit.
    pub(crate) at: u64,
    /// Trials with the same number are repetitions of one level.
    pub(crate) level: u32,
    /// The intended rate in requests per second; 0 for the idle machine.
    pub(crate) intended_rps: f64,
    /// p99 in microseconds; `None` for a trial that does not count, or that is
    /// no level.
    pub(crate) p99_us: Option<f64>,
    /// Which start of the service it was made with.
    pub(crate) restart: u32,
}

/// From where a level was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The trial before had a lower rate.
    Up,
    /// The trial before had a higher rate.
    Down,
}

/// Up against down over all levels that were reached both ways.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UpAgainstDown {
    /// Of each level, ascending: p99 on the way down over p99 on the way up (geometric
    /// means); with an interval from three trials each way.
    pub(crate) levels: Vec<Estimate>,
    /// Geometric mean of the levels' ratios, each level being its own
    /// control; with an interval from three levels. `None` without a level
    /// that was reached both ways.
    pub(crate) down_over_up_ratio: Option<Estimate>,
    pub(crate) verdict: DirectionVerdict,
}

/// Up against down in a run that visited its levels in shuffled order.
pub(crate) fn finding(plan: &Plan, trials: &[Trial]) -> Option<DirectionFinding> {
    if matches!(plan.workload, Workload::Imported(_)) {
        // The rows of a table have no order in time.
        return None;
    }
    let visits: Vec<Visit> = trials
        .iter()
        .zip(0..)
        .map(|(t, at)| visit(plan, t, at))
        .collect();
    let found = up_against_down(&visits, plan.run.seed);
    visits
        .iter()
        .any(|v| v.p99_us.is_some())
        .then(|| DirectionFinding {
            down_over_up_ratio: found.down_over_up_ratio,
            levels: found.levels.len() as u32,
            verdict: found.verdict,
            restarts: restarts(&visits),
        })
}

fn visit(plan: &Plan, trial: &Trial, at: u64) -> Visit {
    let level = match trial.spec.phase {
        Phase::Level { level } if trial.verdict.is_valid() => level,
        _ => None,
    };
    let p99 = trial.work.latency.quantile(0.99);
    Visit {
        at,
        level: level.map_or(0, |l| (l.pct() * 10.0).round() as u32),
        intended_rps: trial.asked().get(),
        p99_us: level.and(p99).map(|p99| p99.as_secs_f64() * 1e6),
        // Without a command all passes are one start.
        restart: plan.restart.as_ref().map_or(0, |_| trial.spec.pass),
    }
}

/// Compares the ways to each level.
///
/// The interval over all levels is a bootstrap over levels, of the levels'
/// differences of mean logarithms; a single level's is one over its trials.
pub(crate) fn up_against_down(visits: &[Visit], seed: u64) -> UpAgainstDown {
    let mut sides: BTreeMap<u32, Sides> = BTreeMap::new();
    for (visit, direction) in directed(visits) {
        let Some(p99_us) = visit.p99_us.filter(|p99| *p99 > 0.0) else {
            continue;
        };
        let sides = sides.entry(visit.level).or_default();
        match direction {
            Direction::Up => sides.up.push(p99_us.ln()),
            Direction::Down => sides.down.push(p99_us.ln()),
        }
    }
    let both = sides.into_iter().filter(|(_, s)| s.are_both());
    let levels: Vec<Estimate> = both.map(|(level, s)| s.compare(level, seed)).collect();
    let logs: Vec<f64> = levels.iter().map(|ratio| ratio.value.ln()).collect();
    let overall = bootstrap::mean(&logs, seed).map(|mean| mean.map_rising(f64::exp));
    UpAgainstDown {
        verdict: overall.map_or(DirectionVerdict::Inconclusive, verdict),
        down_over_up_ratio: overall,
        levels,
    }
}

/// The verdict on a ratio.
fn verdict(ratio: Estimate) -> DirectionVerdict {
    let Some((low, high)) = ratio.interval() else {
        return DirectionVerdict::Inconclusive;
    };
    if low > 1.0 / MATTERS_RATIO && high < MATTERS_RATIO {
        DirectionVerdict::NoDifferenceSeen
    } else if low > MATTERS_RATIO || high < 1.0 / MATTERS_RATIO {
        DirectionVerdict::Different
    } else {
        DirectionVerdict::Inconclusive
    }
}

/// The visits that were reached from another rate within the same start of
/// the service, with the direction, in the order of time.
pub(crate) fn directed(visits: &[Visit]) -> Vec<(Visit, Direction)> {
    let mut ordered = visits.to_vec();
    ordered.sort_by_key(|v| v.at);
    let direction = |pair: &[Visit]| {
        let [before, visit] = pair else { return None };
        let higher = visit.intended_rps > before.intended_rps * (1.0 + SAME_RATE);
        let lower = visit.intended_rps < before.intended_rps * (1.0 - SAME_RATE);
        let direction = match (higher, lower) {
            _ if before.restart != visit.restart => None,
            (true, _) => Some(Direction::Up),
            (_, true) => Some(Direction::Down),
            _ => None,
        };
        Some((*visit, direction?))
    };
    ordered.windows(2).filter_map(direction).collect()
}

/// Logarithms of the p99 at one level.
#[derive(Default)]
struct Sides {
    up: Vec<f64>,
    down: Vec<f64>,
}

impl Sides {
    fn are_both(&self) -> bool {
        !self.up.is_empty() && !self.down.is_empty()
    }

    fn compare(mut self, level: u32, seed: u64) -> Estimate {
        // The figures must not depend on the order of equal trials.
        self.up.sort_by(f64::total_cmp);
        self.down.sort_by(f64::total_cmp);
        let mut rng = Rng::seeded(seed ^ u64::from(level));
        let mut drawn = |logs: &[f64]| mean(logs.iter().map(|_| logs[rng.below(logs.len())]));
        let mut once = |_| drawn(&self.down) - drawn(&self.up);
        let replicates = (0..RESAMPLES).map(&mut once).collect();
        let value = mean(self.down.iter().copied()) - mean(self.up.iter().copied());
        let fewer = self.up.len().min(self.down.len());
        bootstrap::estimate(value, replicates, fewer).map_rising(f64::exp)
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

#[cfg(test)]
mod tests;
