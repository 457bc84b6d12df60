//! How much of the scatter comes from restarting the service.

use super::{Visit, mean};
use plimsoll_model::{CONFIDENCE, Estimate, RestartsFinding};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer starts of a service tell nothing about how starts differ.
const LEAST_RESTARTS: usize = 3;

/// Variance components of the logarithm of p99, with the levels' own means
/// taken out: a one-way random model with starts as groups (Searle, Casella
/// and McCulloch, *Variance Components*, 1992, chapter 3), by analysis of
/// variance; the share's interval is the exact one by the F distribution for
/// groups of equal size, with the mean size (as they define it) for others.
///
/// Only levels that every start was tried at count, so that a start is not
/// taken for slow because it had the high levels. `None` with fewer than three
/// starts, and without repetition within starts.
pub(crate) fn restarts(visits: &[Visit]) -> Option<RestartsFinding> {
    let values = Values::of(visits);
    let groups = values.adjusted();
    let count = groups.len();
    let total: usize = groups.values().map(Vec::len).sum();
    let lost = count + values.levels.len().saturating_sub(1);
    if count < LEAST_RESTARTS || total <= lost {
        return None;
    }
    let all: Vec<f64> = groups.values().flatten().copied().collect();
    let all = mean(all.into_iter());
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for group in groups.values() {
        let own = mean(group.iter().copied());
        let size = group.len() as f64;
        between += size * (own - all).powi(2);
        within += group.iter().map(|v| (v - own).powi(2)).sum::<f64>();
        squares += size * size;
    }
    let (n, free_between) = (total as f64, (count - 1) as f64);
    let free_within = (total - lost) as f64;
    let (between, within) = (between / free_between, within / free_within);
    let size = (n - squares / n) / free_between;
    let f = FisherSnedecor::new(free_between, free_within).ok()?;
    let share = |at: f64| {
        let more = between / within / at - 1.0;
        (more / (size + more)).clamp(0.0, 1.0)
    };
    let tail = (1.0 - CONFIDENCE) / 2.0;
    if within <= 0.0 {
        return None;
    }
    let between_variance = ((between - within) / size).max(0.0);
    Some(RestartsFinding {
        restarts: count as u32,
        trials: total as u32,
        between_pct: 100.0 * between_variance.sqrt().exp_m1(),
        within_pct: 100.0 * within.sqrt().exp_m1(),
        between_share: Estimate::within(
            share(1.0),
            share(f.inverse_cdf(1.0 - tail)),
            share(f.inverse_cdf(tail)),
        ),
    })
}

/// Logarithms of p99 by level and start.
struct Values {
    levels: BTreeMap<u32, BTreeMap<u32, Vec<f64>>>,
}

impl Values {
    /// Levels that every start was tried at.
    fn of(visits: &[Visit]) -> Values {
        let mut levels: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        let mut starts = BTreeSet::new();
        for visit in visits {
            let Some(p99_us) = visit.p99_us.filter(|p99| *p99 > 0.0) else {
                continue;
            };
            starts.insert(visit.restart);
            let cells = levels.entry(visit.level).or_default();
            cells.entry(visit.restart).or_default().push(p99_us.ln());
        }
        levels.retain(|_, cells| cells.len() == starts.len());
        for logs in levels.values_mut().flat_map(BTreeMap::values_mut) {
            // The figures must not depend on the order of the trials.
            logs.sort_by(f64::total_cmp);
        }
        Values { levels }
    }

    /// By start, each value less its level's mean over starts.
    fn adjusted(&self) -> BTreeMap<u32, Vec<f64>> {
        let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for cells in self.levels.values() {
            let level = mean(cells.values().map(|logs| mean(logs.iter().copied())));
            for (start, logs) in cells {
                let group = groups.entry(*start).or_default();
                group.extend(logs.iter().map(|log| log - level));
            }
        }
        groups
    }
}
