//! What pauses of the generator add to latencies.
//!
//! A pause is in the p99 of the slip only if it delays one request in a hundred. But the requests that were due
//! in it are sent at once, and wait at the service. In the fluid limit of a queue, a service that is busy for a
//! share `u` of the time works off a queue at `1 - u` of its speed. Then after a pause of length `L` the request due
//! `t` after its begin is slower by `L - (1 - u) t` than without it, and if it was due in the pause its slip is
//! `L - t`. So the requests that are slower by more than `x` are `1 / (1 - u)` times those with a slip above `x`, and the
//! sum of what all are slower by is as many times that of the slip. A service that works faster with a queue, by
//! batches or fewer wake-ups, is slowed by less.

use crate::boundary::{Boundary, Interval, locate};
use crate::capacity::Asked;
use crate::evidence::{Bound, Evidence, Seen};
use plimsoll_model::{CapacityFinding, Doubt, Histogram, Plan, RatedRate, Share, Trial};
use std::time::Duration;

/// What the generator is late by without a pause is less.
pub const PAUSE: Duration = Duration::from_micros(100);
/// Above this share of its speed the fluid limit says nothing: queues grow by themselves.
const MOST_BUSY: f64 = 0.95;
const QUANTILE_STEPS: u32 = 100;

/// The share of the requests, 0 to 1, that pauses may have made slower by more than `by`, which counts as at least
/// [`PAUSE`]. `busy` is the share of its speed, 0 to 1, that the service needs for the load, for which its CPU use
/// can stand; where it is unknown, only requests that were due in a pause count.
pub fn slowed(slip: &Histogram, by: Duration, busy: Option<f64>) -> f64 {
    let late = slip.above(by.max(PAUSE)) as f64 / slip.count().max(1) as f64;
    (late * per_late_request(busy)).min(1.0)
}

/// What the `q`-quantile of `latency`, from the median on, might be if pauses had slowed no request; `None` without
/// requests. `busy` is as of [`slowed`].
pub fn quantile_without(
    latency: &Histogram,
    slip: &Histogram,
    q: f64,
    busy: Option<f64>,
) -> Option<Duration> {
    let usual = latency.quantile(0.5)?;
    let is_kept = |than: Duration| {
        let slower = latency.above(than) as f64 / latency.count() as f64;
        slower - slowed(slip, than.saturating_sub(usual), busy) <= 1.0 - q
    };
    // Steps of equal size on the logarithm of the share that is slower.
    let lower = (0..QUANTILE_STEPS).map(|step| {
        let part = f64::from(step) / f64::from(QUANTILE_STEPS);
        latency.quantile(1.0 - (1.0 - q) * (0.5 / (1.0 - q)).powf(part))
    });
    lower
        .map_while(|one| one.filter(|one| is_kept(*one)))
        .last()
        .or(latency.quantile(q))
}

/// By how much pauses may have raised the mean latency; `None` without requests.
pub fn added_to_mean(slip: &Histogram, busy: Option<f64>) -> Option<Duration> {
    let late = slip.mean_with_zero_up_to(PAUSE)?;
    Some(late.mul_f64(per_late_request(busy)))
}

fn per_late_request(busy: Option<f64>) -> f64 {
    1.0 / (1.0 - busy.unwrap_or(0.0).min(MOST_BUSY))
}

/// Goals whose capacity might be above its interval if no request had been slowed by pauses.
pub(crate) fn doubts(
    plan: &Plan,
    trials: &[Trial],
    asked: &Asked,
    capacity: &[CapacityFinding],
    rated: Option<&RatedRate>,
) -> Vec<Doubt> {
    let end = rated.filter(|end| end.limited_by_service && !end.given);
    let end_rps = end.map(|end| end.rate_rps);
    let found = capacity.iter().zip(asked.bounds());
    found
        .filter_map(|(one, bound)| doubt(plan, trials, one, &bound?, end_rps))
        .collect()
}

fn doubt(
    plan: &Plan,
    trials: &[Trial],
    found: &CapacityFinding,
    bound: &Bound,
    end_rps: Option<f64>,
) -> Option<Doubt> {
    let limit = bound.limit()?;
    let mut longest = None;
    let without = |trial: &Trial| {
        let mut evidence = bound.evidence(plan, trial)?;
        let slip = &trial.work.slip;
        let usual = trial.work.latency.quantile(0.5).unwrap_or_default();
        let busy = match end_rps {
            Some(end_rps) => Some(evidence.rate / end_rps),
            None => trial
                .machine
                .service_share(trial.service.as_ref())
                .map(Share::get),
        };
        let slowed = slowed(slip, limit.saturating_sub(usual), busy);
        if let Seen::Counted { over, of, .. } = &mut evidence.seen
            && slowed > 0.0
        {
            *over = (*over - slowed * *of).max(0.0);
            longest = longest.max(slip.max());
        }
        Some(evidence)
    };
    let shown = trials.iter().filter(|trial| trial.spec.phase.shows_load());
    let evidence: Vec<Evidence> = shown.filter_map(without).collect();
    let longest_us = longest?.as_secs_f64() * 1e6;
    let rate_rps = match locate(&evidence, bound.share(), Interval::None)? {
        Boundary::Line { rate, .. } => rate.value,
        Boundary::Above(rate) => rate,
        Boundary::Gap { low, .. } => low.rate,
        Boundary::Below(_) => return None,
    };
    let rate_rps = end_rps.map_or(rate_rps, |end_rps| rate_rps.min(end_rps));
    // The upper end may be the lowest load that missed the goal.
    let is_above = match found.rate_rps {
        Some(found) => found
            .high
            .map_or(rate_rps > found.value, |high| rate_rps >= high),
        None => true,
    };
    is_above.then_some(Doubt::GeneratorPauses {
        goal: found.goal,
        longest_us,
        without_rps: rate_rps,
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
        let use_80 = Some(0.8);
        let added_s = added_to_mean(&slip, use_80).unwrap().as_secs_f64();
        let truth_s = mean_s(&paused) - mean_s(&steady);
        assert!((added_s / truth_s - 1.0).abs() < 0.1, "{added_s} {truth_s}");
        for (q, least) in [(0.95, 0.5), (0.99, 0.8)] {
            let of = |latency: &Histogram| latency.quantile(q).unwrap().as_secs_f64();
            let without = quantile_without(&paused, &slip, q, use_80)
                .unwrap()
                .as_secs_f64();
            let (with, truth) = (of(&paused), of(&steady));
            assert!(
                (with - without) / (with - truth) > least && without >= truth,
                "{q}: {with} {without} {truth}"
            );
        }
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
    fn a_capacity_that_pauses_may_have_lowered_is_doubted() {
        let mut plan = plan();
        plan.goals = vec!["p99<10ms".parse().unwrap()];
        // Of 1000 requests, `slow` take 15 ms, and `paused` were due 12 ms before they were sent.
        let trial = |rps: u64, slow: u64, paused: u64| {
            let mut trial = trial_at(50.0, rps, 0.8, 1000.0);
            let (long, late) = (Duration::from_millis(15), Duration::from_millis(12));
            trial.work.latency.record_many(long, slow);
            trial.work.slip.record_many(Duration::ZERO, 1000);
            trial.work.slip.record_many(late, paused);
            trial
        };
        let without_rps = |from_115: [u64; 3], paused: u64| {
            let below = [(80, 1), (110, 4), (110, 6), (160, 500)];
            let mut trials: Vec<Trial> = below.map(|(rps, slow)| trial(rps, slow, 0)).into();
            for (rps, slow) in [115, 120, 130].into_iter().zip(from_115) {
                trials.extend([trial(rps, slow, paused), trial(rps, slow, paused)]);
            }
            let asked = Asked::of(&plan, &trials);
            let found = asked.findings(&plan, &trials, None);
            match *doubts(&plan, &trials, &asked, &found, None) {
                [] => None,
                [Doubt::GeneratorPauses { without_rps, .. }] => Some(without_rps),
                ref other => panic!("{other:?}"),
            }
        };
        // One late request explains five slow ones at 80 % CPU use.
        let missed = [20, 40, 80];
        assert!(without_rps(missed, 17) >= Some(130.0));
        assert_eq!(without_rps(missed, 0), None);
        assert_eq!(without_rps(missed, 1), None);
        assert_eq!(
            without_rps([1, 2, 400], 1),
            None,
            "it met the goal with them"
        );
    }
}
