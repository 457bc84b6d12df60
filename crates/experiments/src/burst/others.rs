//! CPU use of processes that are neither the service nor Plimsoll: in bursts and in breaks. Pure.
//!
//! A part of the service that is none of its processes (a helper that left its tree, a backend
//! behind a proxy) works in bursts, too.

use super::outcome::{BurstTrial, Target};
use super::plan::BurstPlan;
use super::study::{cycles_of, line, phases};
use plimsoll_model::{Estimate, Workload};
use plimsoll_study::burst;

/// What other processes used more in bursts than in breaks.
pub(super) struct Others {
    /// In percent of one CPU.
    pub(super) more_pct: Option<Estimate>,
    /// It is more than noise and what two counters differ by.
    pub(super) is_much: bool,
}

/// Less is what the kernel's own threads do for a load.
const LEAST_PCT: f64 = 0.5;

/// The machine's counters and those of processes may differ by this share.
const COUNTERS_DIFFER: f64 = 0.05;

/// CPU seconds of phases of one kind.
#[derive(Default)]
struct Sum {
    length: f64,
    known: f64,
    other: f64,
}

impl Sum {
    fn add(&mut self, length: f64, known: f64, tasks: f64) {
        self.length += length;
        self.known += known;
        self.other += tasks - known;
    }

    fn pct(&self, used: f64) -> Option<f64> {
        (self.length > 0.0).then(|| 100.0 * used / self.length)
    }
}

pub(super) fn others(plan: &BurstPlan, trials: &[BurstTrial], target: Target) -> Others {
    let cycles = cycles_of(trials, target);
    let each: Vec<(f64, f64)> = cycles.iter().filter_map(|t| of_cycle(plan, t)).collect();
    let more: Vec<f64> = each.iter().map(|(more, _)| *more).collect();
    let known = each.iter().map(|(_, known)| known).sum::<f64>() / each.len().max(1) as f64;
    let more_pct = burst::mean(&more);
    let is_much = more_pct.is_some_and(|more| {
        let is_above_zero = more.interval().is_some_and(|(low, _)| low > 0.0);
        is_above_zero && more.value > LEAST_PCT.max(COUNTERS_DIFFER * known)
    });
    Others { more_pct, is_much }
}

/// What others used more in the bursts of a cycle than in its breaks, and what the service and
/// Plimsoll used in the bursts.
fn of_cycle(plan: &BurstPlan, trial: &BurstTrial) -> Option<(f64, f64)> {
    let (mut bursts, mut breaks) = (Sum::default(), Sum::default());
    let all = phases(plan);
    for (phase, from, to) in all.iter().skip(1).take(plan.pattern.len()) {
        let tasks = trial.outcome.tasks.as_ref()?.used_s(*from, *to)?;
        let mut known = trial.outcome.own.as_ref()?.used_s(*from, *to)?;
        for (target, load) in plan.loads() {
            // The hash service is a part of Plimsoll.
            if !matches!(load.workload, Workload::Hash(_)) {
                known += line(trial, target)?.used_s(*from, *to)?;
            }
        }
        let sum = if phase.is_break() {
            &mut breaks
        } else {
            &mut bursts
        };
        sum.add(to - from, known, tasks);
    }
    let more = bursts.pct(bursts.other)? - breaks.pct(breaks.other)?;
    Some((more, bursts.pct(bursts.known)?))
}
