//! The gain from a second busy thread per core: trials at full load with the
//! service on one thread of each core and on both, alternating.

use plimsoll_engine::visits::AROUND;
use plimsoll_model::{Phase, Plan, Rate, Setting, Trial, TrialSpec, WarmUp};
use plimsoll_study::rated::rated;
use std::time::Duration;

/// Mirrored, so that drift does not look like a speed-up.
const ORDER: [Phase; 4] = [
    Phase::OneThreadPerCore,
    Phase::TwoThreadsPerCore,
    Phase::TwoThreadsPerCore,
    Phase::OneThreadPerCore,
];

/// The offered rate relative to the rated one: it saturates the service even if the
/// calibration underestimated the rated rate.
const OVERLOAD: f64 = 1.2;

/// The backlog at the end of a window may take as long as the runner waits for it.
const BACKLOG: Duration = Duration::from_secs(1);

/// The next of these trials; `None` if there are enough valid ones, if their time
/// is used, or if the service is not saturated: below saturation it does the same
/// work on either.
pub(super) fn step(plan: &Plan, trials: &[Trial], seed: u64) -> Option<TrialSpec> {
    let smt = plan.smt?;
    if left(plan, trials) < typical(plan, trials)? {
        return None;
    }
    let rated = rated(plan, trials).filter(|r| r.limited_by_service || r.disturbed)?;
    let rate = Rate::per_second(OVERLOAD * rated.rate_rps)?;
    let made = made(trials).count();
    let phase = ORDER[made % ORDER.len()];
    Some(TrialSpec {
        pass: (made / 2) as u32,
        warm_up: WarmUp::fixed(smt.warm_up),
        seed,
        ..TrialSpec::blank(phase, Setting::offer(rate), smt.window)
    })
}

/// The remaining time.
pub(super) fn left(plan: &Plan, trials: &[Trial]) -> Duration {
    let Some(smt) = plan.smt else {
        return Duration::ZERO;
    };
    let count = |phase: Phase| {
        let of_phase = made(trials).filter(|t| t.spec.phase == phase);
        of_phase.filter(|t| t.verdict.is_valid()).count()
    };
    let fewest = count(Phase::OneThreadPerCore).min(count(Phase::TwoThreadsPerCore));
    match fewest < smt.trials as usize {
        true => smt.budget.saturating_sub(spent(trials)),
        false => Duration::ZERO,
    }
}

/// The estimated time of the next one: the longest so far.
fn typical(plan: &Plan, trials: &[Trial]) -> Option<Duration> {
    let smt = plan.smt?;
    let longest = made(trials).map(|t| t.took).max();
    Some(longest.unwrap_or(smt.warm_up + smt.window + BACKLOG + AROUND))
}

fn spent(trials: &[Trial]) -> Duration {
    made(trials).map(|t| t.took).sum()
}

fn made(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    let is_ours = |t: &&Trial| {
        matches!(
            t.spec.phase,
            Phase::OneThreadPerCore | Phase::TwoThreadsPerCore
        )
    };
    trials.iter().filter(is_ours)
}

#[cfg(test)]
mod tests;
