//! What pauses of the generator add to latencies.
//!
//! A pause is in the p99 of the slip only if it delays one request in a hundred. But the requests that were due
//! in it are sent at once, and wait at the service. In the fluid limit of a queue, a service that is busy for a
//! share `u` of the time works off a queue at `1 - u` of its speed. Then after a pause of length `L` the request due
//! `t` after its begin is slower by `L - (1 - u) t` than without it, and if it was due in the pause its slip is
//! `L - t`. So the requests that are slower by more than `x` are `1 / (1 - u)` times those with a slip above `x`, and the
//! sum of what all are slower by is as many times that of the slip. A service that works faster with a queue, by
//! batches or fewer wake-ups, is slowed by less.

use crate::capacity::Asked;
use crate::evidence::{Bound, Evidence};
use plimsoll_model::{CapacityFinding, Doubt, Histogram, Plan, Share, Trial};
use std::time::Duration;

/// What the generator is late by without a pause is less.
pub const PAUSE: Duration = Duration::from_micros(100);
/// At a higher CPU use the fluid limit says nothing: queues grow by themselves.
const MOST_USE: f64 = 0.95;

/// The share of the requests, 0 to 1, that pauses may have made slower by more than `by`, which counts as at least
/// [`PAUSE`]. `cpu` is the service's CPU use; where it is unknown, only requests that were due in a pause count.
pub fn slowed(slip: &Histogram, by: Duration, cpu: Option<Share>) -> f64 {
    let late = slip.above(by.max(PAUSE)) as f64 / slip.count().max(1) as f64;
    (late * per_late_request(cpu)).min(1.0)
}

/// By how much pauses may have raised the mean latency; `None` without requests.
pub fn added_to_mean(slip: &Histogram, cpu: Option<Share>) -> Option<Duration> {
    let late = slip.mean_with_zero_up_to(PAUSE)?;
    Some(late.mul_f64(per_late_request(cpu)))
}

fn per_late_request(cpu: Option<Share>) -> f64 {
    1.0 / (1.0 - cpu.map_or(0.0, Share::get).min(MOST_USE))
}

/// Goals that at least half of the trials that missed them, at the capacity or below, would have kept without pauses.
pub(crate) fn doubts(
    plan: &Plan,
    trials: &[Trial],
    asked: &Asked,
    capacity: &[CapacityFinding],
) -> Vec<Doubt> {
    let found = capacity.iter().zip(asked.bounds());
    found
        .filter_map(|(one, bound)| doubt(plan, trials, one, &bound?))
        .collect()
}

fn doubt(plan: &Plan, trials: &[Trial], found: &CapacityFinding, bound: &Bound) -> Option<Doubt> {
    let limit = bound.limit()?;
    let seen = |trial| Some((trial, bound.evidence(plan, trial)?));
    let seen: Vec<(&Trial, Evidence)> = trials.iter().filter_map(seen).collect();
    let most_rps = match found.rate_rps {
        Some(rate) => rate.high.unwrap_or(rate.value),
        None => seen.iter().map(|(_, of)| of.rate).reduce(f64::min)?,
    };
    let is_missed = |of: &Evidence| of.rate <= most_rps && of.carried && of.share() > bound.share();
    let missed = || seen.iter().filter(|(_, of)| is_missed(of));
    let paused = missed().filter(|(trial, of)| {
        let usual = trial.work.latency.quantile(0.5).unwrap_or_default();
        let cpu = trial.machine.service_share(trial.service.as_ref());
        let slowed = slowed(&trial.work.slip, limit.saturating_sub(usual), cpu);
        of.share() - slowed <= bound.share()
    });
    let longest: Vec<Duration> = paused
        .filter_map(|(trial, _)| trial.work.slip.max())
        .collect();
    let (trials, of) = (longest.len(), missed().count());
    let longest_us = longest.into_iter().max()?.as_secs_f64() * 1e6;
    (2 * trials >= of).then_some(Doubt::Paused {
        goal: found.goal,
        trials,
        of,
        most_rps,
        longest_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, trial_at};

    /// A queue of one server that is busy for 80 % of the time, with a pause of the generator in each second.
    #[test]
    fn the_part_of_pauses_is_that_of_a_simulated_queue() {
        let rate = 800.0;
        let (pause, period) = (Duration::from_millis(20), Duration::from_secs(1));
        let run = |pause: Duration| {
            let (mut free_s, mut slip, mut latency) = (0.0_f64, Histogram::new(), Histogram::new());
            for nth in 0..4000 {
                let due_s = f64::from(nth) / rate;
                let sent_s =
                    due_s.max((due_s / period.as_secs_f64()).floor() + pause.as_secs_f64());
                free_s = free_s.max(sent_s) + 1e-3;
                slip.record(Duration::from_secs_f64(sent_s - due_s));
                latency.record(Duration::from_secs_f64(free_s - due_s));
            }
            (slip, latency)
        };
        let ((slip, paused), (_, steady)) = (run(pause), run(Duration::ZERO));
        let mean_s = |of: &Histogram| of.mean().unwrap().as_secs_f64();
        let use_80 = Share::of(Duration::from_millis(800), period);
        let added_s = added_to_mean(&slip, use_80).unwrap().as_secs_f64();
        let truth_s = mean_s(&paused) - mean_s(&steady);
        assert!((added_s / truth_s - 1.0).abs() < 0.1, "{added_s} {truth_s}");
        for ms in [5, 10, 15] {
            let by = Duration::from_millis(ms);
            let usual = steady.quantile(0.5).unwrap();
            let truth = paused.above(by + usual) as f64 / paused.count() as f64;
            let slowed = slowed(&slip, by, use_80);
            assert!(
                (slowed / truth - 1.0).abs() < 0.2,
                "{ms} ms: {slowed} {truth}"
            );
        }
    }

    #[test]
    fn a_goal_that_most_trials_miss_by_pauses_is_doubted() {
        let mut plan = plan();
        plan.goals = vec!["p99<10ms".parse().unwrap()];
        // Ten of its 1000 requests may take longer; `slow` do.
        let trial = |rps: u64, slow: u64, paused: u64| {
            let mut trial = trial_at(50.0, rps, 0.8, 1000.0);
            trial
                .work
                .latency
                .record_many(Duration::from_millis(15), slow);
            trial.work.slip.record_many(Duration::from_micros(20), 1000);
            trial
                .work
                .slip
                .record_many(Duration::from_millis(12), paused);
            trial
        };
        let doubts = |trials: &[Trial]| {
            let mut trials = trials.to_vec();
            trials.push(trial(110, 500, 0));
            let asked = Asked::of(&plan, &trials);
            let found = asked.findings(&plan, &trials, None);
            doubts(&plan, &trials, &asked, &found)
        };
        let (kept, missed) = (trial(100, 0, 0), trial(100, 40, 0));
        // Each late request is five slow ones.
        let by_pauses = trial(100, 40, 7);
        let of = |trials: &[Trial]| match *doubts(trials) {
            [] => None,
            [
                Doubt::Paused {
                    trials,
                    of,
                    longest_us,
                    ..
                },
            ] => Some((trials, of, longest_us.round())),
            ref other => panic!("{other:?}"),
        };
        assert_eq!(of(&[kept.clone(), missed.clone(), missed.clone()]), None);
        assert!(of(&[kept.clone(), by_pauses.clone(), kept.clone()]).is_some_and(|of| of.0 == 1));
        assert_eq!(of(&[kept.clone(), by_pauses, missed.clone(), missed]), None);
    }
}
