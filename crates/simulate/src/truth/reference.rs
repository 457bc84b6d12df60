//! Long simulations in steady state, for services without a closed form.

use crate::queue::QueueState;
use crate::random::{SeededRng, Starts};
use crate::service::Service;
use plimsoll_model::{Arrivals, Histogram, Quantile, Rate};

/// Requests per reference simulation.
pub(super) const REQUESTS: u64 = 10_000_000;

/// The fraction of requests discarded first, so that the initial empty queue
/// has no influence.
const LEAD_IN: f64 = 0.02;

/// The fraction of requests that take longer than `limit` seconds.
///
/// The same seed gives the same pattern of arrivals at each rate, scaled, and
/// the same work, so the result increases with the rate almost without noise
/// and root finding converges.
pub(super) fn tail(
    service: &Service,
    arrivals: Arrivals,
    rate: f64,
    limit: f64,
    requests: u64,
    seed: u64,
) -> f64 {
    let mut longer = 0u64;
    each(service, arrivals, rate, requests, seed, |time| {
        longer += u64::from(time > limit);
    });
    longer as f64 / requests as f64
}

/// A quantile of the time in the system, in seconds.
pub(super) fn quantile(
    service: &Service,
    arrivals: Arrivals,
    rate: f64,
    quantile: Quantile,
    seed: u64,
) -> f64 {
    let mut times = Histogram::new();
    each(service, arrivals, rate, REQUESTS, seed, |time| {
        times.record_ns((time * 1e9) as u64);
    });
    times
        .quantile(quantile.fraction())
        .map_or(0.0, |d| d.as_secs_f64())
}

/// Calls `see` with the time in the system of each of `requests` requests.
fn each(
    service: &Service,
    arrivals: Arrivals,
    rate: f64,
    requests: u64,
    seed: u64,
    mut see: impl FnMut(f64),
) {
    // Two sequences, so that neither depends on how much the other draws.
    let mut rng = SeededRng::mixed(&[seed]);
    let mut starts = Starts::new(arrivals, Rate::per_second(rate).unwrap_or(Rate::ZERO), seed);
    let mut queue = QueueState::new(service, 1.0, rate, &mut rng);
    let lead_in = (requests as f64 * LEAD_IN) as u64;
    for n in 0..lead_in + requests {
        let at = starts.next_start();
        let departs = queue.departs(at, &mut rng);
        if n >= lead_in {
            see(departs - at);
        }
    }
}
