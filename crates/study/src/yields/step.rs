//! After which time latency is back when the load steps up beside a job, and
//! what that costs.
//!
//! Each step of an arm is compared with the same step of the service alone in
//! the same pass, slot by slot, which had the same requests at the same times
//! (common random numbers: Law, Simulation Modeling and Analysis, chapter 11).
//! What is compared is the mean latency of a slot: of some tens of requests a
//! high quantile would be the slowest one. The steps of one trial share what
//! disturbed it, so passes count and are resampled, and not steps.
//!
//! - A pass is *above* in a slot where its mean latency exceeds that of the
//!   service alone, on average over its steps, by more than the *band*: what the
//!   budget allows, or what the second measurement of the service alone differs
//!   by in 95 % of slots (the median over passes), whichever is more.
//! - A slot is *late* where more passes are above than chance would have it if
//!   half of them were (sign test, one-sided, 2.5 %).
//! - The *yield time* ends with the last late slot. A late slot between two that
//!   are not is forgiven while there are no more of them than one in 20 of the
//!   slots that follow; the first slot and two in a row never are.
//! - Latency that is late until a tenth of what was watched is left is not back
//!   *within the window*; how long it takes is then not known.
//! - The *cost* is the sum of the latencies of all requests after a step, less
//!   that of the service alone: by Little's law, how many more were in the
//!   system, integrated over time. Requests that failed at once are not in it.

mod course;
mod decide;
mod kept_up;

#[cfg(test)]
mod tests;

use super::{Seen, resampled};
use crate::theil_sen::median;
use crate::{bootstrap, student};
pub(super) use course::courses;
use decide::{Above, Back, back};
use plimsoll_model::{
    Arm, Estimate, KeptUp, SideloadPlan, Slot, StepFinding, StepPlan, StepStatus, YieldPlan,
    YieldTrial,
};

/// A slot that holds fewer on average is joined with the next.
const REQUESTS: f64 = 20.0;

/// A slot of the service alone that was measured again lies within the band so
/// often.
const WITHIN: f64 = 0.95;

/// What is concluded from the steps of a run.
#[derive(Debug, Default)]
pub(super) struct Stepped {
    pub(super) arms: Vec<StepFinding>,
    pub(super) band_pct: Option<f64>,
    pub(super) slot_ms: Option<f64>,
    pub(super) alone: Option<KeptUp>,
}

/// One step of an arm and the same one of the service alone.
struct Pair {
    with: Vec<Slot>,
    alone: Vec<Slot>,
}

/// The steps of one pass.
type Pass = Vec<Pair>;

/// Nothing for a plan without steps.
pub(super) fn findings(plan: &YieldPlan, seen: &Seen<'_>) -> Stepped {
    let Some(step) = &plan.step else {
        return Stepped::default();
    };
    let look = Look::over(plan, step, seen);
    let arms = shown(&plan.sideload).map(|arm| look.at(seen, arm));
    Stepped {
        arms: arms.collect(),
        band_pct: look.band.map(|band| band.exp_m1() * 100.0),
        slot_ms: Some(look.slot_ms),
        alone: kept_up::of(seen),
    }
}

/// The arms that have findings.
fn shown(side: &SideloadPlan) -> impl Iterator<Item = Arm> + '_ {
    let arms = side.arms.iter().copied();
    arms.filter(|arm| arm.has_service() && *arm != Arm::ServiceAgain)
}

/// What all arms are looked at with.
struct Look {
    join: usize,
    slot_ms: f64,
    band: Option<f64>,
    seed: u64,
}

impl Look {
    fn over(plan: &YieldPlan, step: &StepPlan, seen: &Seen<'_>) -> Look {
        let join = joined(seen);
        let allowed = (plan.sideload.budget.more_pct / 100.0).ln_1p();
        let noise = noise(&pairs(seen, Arm::ServiceAgain, join));
        Look {
            join,
            slot_ms: step.slot.as_secs_f64() * 1e3 * join as f64,
            band: noise.map(|noise| noise.max(allowed)),
            seed: plan.load.run.seed,
        }
    }

    fn at(&self, seen: &Seen<'_>, arm: Arm) -> StepFinding {
        let passes = match arm {
            Arm::ServiceAlone => Vec::new(),
            arm => pairs(seen, arm, self.join),
        };
        let worst: Vec<Vec<f64>> = match arm {
            Arm::ServiceAlone => seen.valid(arm).map(|t| self.worst_us(t)).collect(),
            _ => passes
                .iter()
                .map(|pass| worst_us(pass.iter().map(|p| &p.with)))
                .collect(),
        };
        let median_of = |draw: &[usize]| {
            let drawn = draw.iter().filter_map(|at| worst.get(*at)).flatten();
            median(&mut drawn.copied().collect::<Vec<_>>())
        };
        let settled = mean(&passes, settled);
        let back = (arm != Arm::ServiceAlone).then(|| self.yields(&passes));
        let steps: usize = match arm {
            Arm::ServiceAlone => seen.valid(arm).map(|t| t.work.steps.len()).sum(),
            _ => passes.iter().map(Vec::len).sum(),
        };
        StepFinding {
            arm,
            steps: steps as u32,
            status: back.map(|(status, _)| status),
            yield_time_ms: back.and_then(|(_, time)| time),
            cost_request_seconds: mean(&passes, cost),
            settled_change_pct: settled.map(|e| e.map_rising(|log| log.exp_m1() * 100.0)),
            worst_slot_p99_us: resampled(worst.len(), self.seed, median_of),
        }
    }

    fn worst_us(&self, trial: &YieldTrial) -> Vec<f64> {
        let steps: Vec<Vec<Slot>> = trial
            .work
            .steps
            .iter()
            .map(|slots| join(slots, self.join))
            .collect();
        worst_us(steps.iter())
    }

    /// When latency is back, and after which time.
    fn yields(&self, passes: &[Pass]) -> (StepStatus, Option<Estimate>) {
        let Some(band) = self.band else {
            return (StepStatus::Inconclusive, None);
        };
        let above: Vec<Above> = passes.iter().map(|pass| is_above(pass, band)).collect();
        let all: Vec<&Above> = above.iter().collect();
        let status = match back(&all) {
            Back::Unknown => return (StepStatus::Inconclusive, None),
            Back::Never => return (StepStatus::NotWithinWindow, None),
            Back::After(0) => StepStatus::AtOnce,
            Back::After(_) => StepStatus::After,
        };
        let slots = all.iter().map(|slots| slots.len()).max().unwrap_or(0);
        let window = slots as f64 * self.slot_ms;
        let time = |passes: &[&Above]| match back(passes) {
            Back::After(slots) => Some(slots as f64 * self.slot_ms),
            // Somewhere beyond what was watched.
            Back::Never => Some(2.0 * window),
            Back::Unknown => None,
        };
        let replicates = bootstrap::resample(above.len(), self.seed, |draw| {
            let drawn: Vec<&Above> = draw.iter().filter_map(|at| above.get(*at)).collect();
            time(&drawn)
        });
        let found = time(&all).map(|ms| bootstrap::estimate(ms, replicates, above.len()));
        let whole = |estimate: Estimate| Estimate {
            // It ended somewhere within the last late slot, or the first.
            low: estimate.low.map(|low| (low - self.slot_ms).max(0.0)),
            high: estimate
                .high
                .map(|high| high.max(self.slot_ms))
                .filter(|high| *high <= window),
            value: estimate.value,
        };
        let found = found.map(whole);
        let is_open = found.is_some_and(|time| time.high.is_none());
        match status {
            // Not shown to be late is not shown to be back: by other draws of the
            // same passes it may be late to the end.
            StepStatus::AtOnce if is_open => (StepStatus::Inconclusive, None),
            status => (status, found),
        }
    }
}

/// How many slots are joined into one.
fn joined(seen: &Seen<'_>) -> usize {
    let slots = || {
        let trials = seen.valid(Arm::ServiceAlone);
        trials.flat_map(|trial| trial.work.steps.iter().flatten())
    };
    let requests: u64 = slots().map(Slot::requests).sum();
    let longest = seen
        .valid(Arm::ServiceAlone)
        .flat_map(|trial| trial.work.steps.iter().map(Vec::len))
        .max();
    let per_slot = requests as f64 / slots().count() as f64;
    // `as` makes 0 of what is no number: no slots, or none with a request.
    let join = (REQUESTS / per_slot).ceil() as usize;
    join.clamp(1, longest.unwrap_or(1).max(1))
}

/// Each so many in one; what is left over at the end is left out.
fn join(slots: &[Slot], by: usize) -> Vec<Slot> {
    let whole = slots.chunks_exact(by.max(1)).map(|chunk| {
        let mut all = Slot::default();
        chunk.iter().for_each(|slot| all.merge(slot));
        all
    });
    whole.collect()
}

/// The steps of each pass in which an arm and the service alone are valid.
fn pairs(seen: &Seen<'_>, arm: Arm, by: usize) -> Vec<Pass> {
    let pair = |(with, alone): (&Vec<Slot>, &Vec<Slot>)| Pair {
        with: join(with, by),
        alone: join(alone, by),
    };
    let trials = seen.pairs(arm, Arm::ServiceAlone).into_iter();
    let passes =
        trials.map(|(with, alone)| with.work.steps.iter().zip(&alone.work.steps).map(pair));
    passes
        .map(Iterator::collect)
        .filter(|pass: &Pass| !pass.is_empty())
        .collect()
}

/// The mean over passes of the mean over the steps of each.
fn mean(passes: &[Pass], figure: fn(&Pair) -> Option<f64>) -> Option<Estimate> {
    let of_pass = |pass: &Pass| average(pass.iter().filter_map(figure));
    let values: Vec<f64> = passes.iter().filter_map(of_pass).collect();
    student::mean(&values)
}

/// `None` of none.
fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// In seconds; `None` without requests.
fn mean_latency<'s>(slots: impl IntoIterator<Item = &'s Slot>) -> Option<f64> {
    let (requests, sum_ns) = slots.into_iter().fold((0.0, 0.0), |(n, sum), slot| {
        (n + slot.requests() as f64, sum + slot.sum_ns() as f64)
    });
    (requests > 0.0 && sum_ns > 0.0).then(|| sum_ns / 1e9 / requests)
}

/// The logarithm of how much longer requests took in each slot, on average over the steps of a pass
/// that have requests there.
fn excess(pass: &Pass) -> Vec<Option<f64>> {
    let slots = pass
        .iter()
        .map(|pair| pair.with.len().min(pair.alone.len()))
        .max();
    let of_slot = |at: usize| {
        let of_step = |pair: &Pair| {
            Some((mean_latency(pair.with.get(at))? / mean_latency(pair.alone.get(at))?).ln())
        };
        average(pass.iter().filter_map(of_step))
    };
    (0..slots.unwrap_or(0)).map(of_slot).collect()
}

fn is_above(pass: &Pass, band: f64) -> Above {
    let excess = excess(pass).into_iter();
    excess.map(|e| e.map(|e| e > band)).collect()
}

/// What the medians of equal passes differ by in nearly all slots; `None` where
/// there are too few for a 95 % level.
fn noise(again: &[Pass]) -> Option<f64> {
    if again.len() < decide::FEWEST_PASSES {
        return None;
    }
    let all: Vec<Vec<Option<f64>>> = again.iter().map(excess).collect();
    let slots = all.iter().map(Vec::len).max()?;
    let of_slot = |at: usize| {
        let mut of_passes: Vec<f64> = all.iter().filter_map(|e| *e.get(at)?).collect();
        median(&mut of_passes).map(f64::abs)
    };
    let mut each: Vec<f64> = (0..slots).filter_map(of_slot).collect();
    each.sort_by(f64::total_cmp);
    let rank = (each.len() as f64 * WITHIN).ceil() as usize;
    each.get(rank.checked_sub(1)?).copied()
}

/// Request-seconds beyond those of the service alone.
fn cost(pair: &Pair) -> Option<f64> {
    let sum = |slots: &[Slot]| slots.iter().map(|s| s.sum_ns() as f64 / 1e9).sum::<f64>();
    (!pair.with.is_empty()).then(|| sum(&pair.with) - sum(&pair.alone))
}

/// The logarithm of how much longer requests took in the last third.
fn settled(pair: &Pair) -> Option<f64> {
    let last = |slots: &[Slot]| {
        let from = slots.len() - slots.len().div_ceil(3);
        mean_latency(&slots[from..])
    };
    Some((last(&pair.with)? / last(&pair.alone)?).ln())
}

/// The highest p99 of any slot of each step, in microseconds.
fn worst_us<'s>(steps: impl Iterator<Item = &'s Vec<Slot>>) -> Vec<f64> {
    let worst = |slots: &'s Vec<Slot>| slots.iter().filter_map(|slot| slot.quantile(0.99)).max();
    steps
        .filter_map(worst)
        .map(|time| time.as_secs_f64() * 1e6)
        .collect()
}
