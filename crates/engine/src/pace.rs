//! Trials of a slow service are longer: a pure function of the plan and the trials so
//! far.
//!
//! A load is steady no sooner than after one latency, when the first requests leave
//! while others come; and what a window of a few latencies sees depends on the few
//! queues that it met.

use plimsoll_model::{Pace, Phase, Plan, Trial, TrialSetting, WarmUp};
use plimsoll_study::connections::shortest_latency_s;
use std::time::Duration;

/// What the plan of a new run asks for. One latency fills the service, one more shows
/// that it is full. Of a window of four, a quarter at most was decided before it.
pub fn pace(first_answer: Duration) -> Pace {
    Pace {
        first_answer,
        warm_up_latencies: 2.0,
        window_latencies: 4.0,
    }
}

/// The plan with warm-ups and windows that are long enough for the latency seen in the
/// calibration, or in the first request where there is no such yet.
pub fn paced<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Plan {
    let mut paced = plan.clone();
    let Some(pace) = plan.pace else { return paced };
    let of_calibration = |t: &&Trial<S, O>| t.spec.phase == Phase::Calibration;
    let seen = shortest_latency_s(trials.iter().filter(of_calibration));
    let latency = seen.map_or(pace.first_answer, Duration::from_secs_f64);
    let window = latency.mul_f64(pace.window_latencies);
    paced.run.warm_up = longer(plan.run.warm_up, latency.mul_f64(pace.warm_up_latencies));
    paced.run.window = plan.run.window.max(window);
    paced.calibration.window = plan.calibration.window.max(window);
    if let Some(search) = &mut paced.search {
        search.window = search.window.max(window);
        if !search.confirm.is_zero() {
            search.confirm = search.confirm.max(window);
        }
    }
    paced
}

/// At least so long, and then as much longer at most as before.
fn longer(warm_up: WarmUp, least: Duration) -> WarmUp {
    let min = warm_up.min.max(least);
    WarmUp {
        min,
        max: min + (warm_up.max - warm_up.min),
    }
}
