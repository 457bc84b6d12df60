//! Work of a burst that was done after it. Pure.

use super::plan::BurstPlan;
use super::study::{cycles_of, phases};
use super::{outcome::BurstTrial, outcome::Target};
use plimsoll_model::PhaseWork;
use plimsoll_study::burst;
use std::time::Duration;

/// Until when the CPU time of a burst is its own: its end, or its last answer after it, but not
/// beyond the beginning of the next burst. `next_burst` is that, or the end of what was seen.
pub(super) fn ends(to: f64, work: Option<&PhaseWork>, next_burst: f64) -> f64 {
    let last = work.and_then(|work| work.last_answer);
    let last = last.map_or(to, |last| last.as_secs_f64());
    last.min(next_burst).max(to)
}

/// An answer so many steps after a burst is late.
const STEPS: u32 = 3;

/// How long after its burst a service answered, if it could not keep up. One that is slow answers
/// late as well, but its early requests are as slow.
fn behind(work: &PhaseWork, to: f64, step: Duration) -> Option<f64> {
    let late = work.last_answer?.as_secs_f64() - to;
    let mut early: Vec<Duration> = work.first.iter().filter_map(|f| f.latency).collect();
    early.sort();
    let usual = early.get(early.len() / 4).copied().unwrap_or_default();
    let allowed = step * STEPS + usual * 2;
    (late > allowed.as_secs_f64()).then_some(late)
}

/// Bursts that a service could not keep up with, and the median of how long it worked on after
/// these, in milliseconds.
pub(super) fn bursts(
    plan: &BurstPlan,
    trials: &[BurstTrial],
    target: Target,
) -> (usize, Option<f64>) {
    let all = phases(plan);
    let of = |trial: &&BurstTrial| {
        let own = all.iter().enumerate().skip(1).take(plan.pattern.len());
        let bursts = own.filter(|(_, (phase, ..))| !phase.is_break());
        let late = bursts
            .filter_map(|(at, (_, _, to))| behind(trial.outcome.phases.get(at)?, *to, plan.step));
        late.map(|seconds| seconds * 1e3).collect::<Vec<f64>>()
    };
    let late: Vec<f64> = cycles_of(trials, target).iter().flat_map(of).collect();
    (late.len(), burst::median(&late).map(|ms| ms.value))
}
