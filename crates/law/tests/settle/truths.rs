//! The rate at which the long-run quantile equals the limit.

use crate::queue::{MEAN, Queue, Spec, Times};
use plimsoll_law::LatencyGoal;
use plimsoll_model::Arrivals;
use plimsoll_simulate::{Service, truth};
use std::time::Duration;

/// Closed form without stalls for exponential and deterministic service, else by a simulation
/// of `requests` at each of 12 rates.
pub(crate) fn capacity(goal: LatencyGoal, spec: Spec, requests: u64) -> f64 {
    let mean = Duration::from_secs_f64(MEAN);
    let servers = spec.workers as u32;
    let exact = match spec.times {
        _ if spec.stalls => None,
        Times::Exponential => Some(Service::Exponential { mean, servers }),
        Times::Deterministic => Some(Service::Deterministic {
            service: mean,
            servers,
        }),
        Times::Normal => None,
    };
    match exact {
        Some(service) => truth(&service, Arrivals::Poisson, goal.quantile(), goal.limit())
            .unwrap()
            .get(),
        None => simulated(goal, spec, requests),
    }
}

/// By bisection, with the same random numbers at each rate.
fn simulated(goal: LatencyGoal, spec: Spec, requests: u64) -> f64 {
    let full = spec.saturation();
    let (mut keeps, mut misses) = (0.2 * full, full);
    let allowed = 1.0 - goal.quantile().fraction();
    for _ in 0..12 {
        let rate = (keeps + misses) / 2.0;
        match over_share(goal, spec, rate, requests) > allowed {
            true => misses = rate,
            false => keeps = rate,
        }
    }
    (keeps + misses) / 2.0
}

fn over_share(goal: LatencyGoal, spec: Spec, rate: f64, requests: u64) -> f64 {
    let mut queue = Queue::new(spec, 77);
    let limit = goal.limit().as_secs_f64();
    let lead_in = requests / 50;
    for _ in 0..lead_in {
        queue.one(rate);
    }
    let over = (0..requests).filter(|_| queue.one(rate) > limit).count();
    over as f64 / requests as f64
}
