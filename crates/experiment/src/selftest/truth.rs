//! What a self-test must find.
//!
//! The very queue that the server runs ([`plimsoll_load::known::Queue`]) is
//! fed with long arrivals on virtual time, and the rate at which the share of
//! broken requests crosses what the goal allows is closed in. At all rates the
//! arrivals have the same pattern, stretched, and the service times are the
//! same, so that the share rises with the rate almost without noise.
//!
//! Where there are closed forms (M/D/k, M/M/k) the tests hold this against
//! them: it is within 0.5 %.

use super::KnownService;
use crate::conduct::RunError;
use crate::order::derive;
use crate::sweep::Effort;
use plimsoll_load::arrivals::Schedule;
use plimsoll_load::known::{Discipline, Queue};
use plimsoll_model::{Arrivals, Goal, LatencyLimit, Plan, Rate};
use std::time::Duration;

/// The seed of all truths.
const SEED: u64 = 0x706C_696D_736F_6C6C;
/// The part of all requests that comes before the first that counts, so that
/// the empty queue of the beginning is forgotten.
const LEAD_IN: f64 = 0.02;
/// Rates are closed in to this part of themselves.
const PRECISION: f64 = 5e-4;
/// Rates from here to there are looked at, as parts of saturation.
const LOOKED_AT: (f64, f64) = (0.2, 1.3);

/// What is known of a service by construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// The highest rate that keeps this goal.
    Capacity(Goal, Rate),
    /// How long it stalls.
    Stall(Duration),
}

/// The truth about what `plan` asks of a service.
pub(super) fn of(service: &KnownService, plan: &Plan, effort: Effort) -> Result<Truth, RunError> {
    let requests = match effort {
        Effort::Quick => 1_000_000,
        Effort::Full => 4_000_000,
    };
    // Not the seed of the arrivals, or gaps and service times would be alike.
    let discipline = service.discipline(derive(SEED, 0));
    if let Discipline::Stall { lasting, .. } = discipline {
        return Ok(Truth::Stall(lasting));
    }
    let known = plan.goals.first().and_then(|goal| {
        let rate = capacity(&discipline, plan.arrivals, goal, requests)?;
        Some(Truth::Capacity(*goal, rate))
    });
    known.ok_or_else(|| {
        RunError::Stuck(format!(
            "nothing is known of '{}'; this is a defect of Plimsoll",
            service.name
        ))
    })
}

/// The highest rate that keeps `goal` in the long run, from `requests`
/// requests at each rate; `None` where no rate between a fifth and 1.3 times
/// saturation does, or nothing limits it, or the goal is on CPU use or on
/// multiples of light load.
pub fn capacity(
    discipline: &Discipline,
    arrivals: Arrivals,
    goal: &Goal,
    requests: u64,
) -> Option<Rate> {
    let saturation = discipline.saturation()?.get();
    let (limit, allowed) = match *goal {
        Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(limit),
        } => (limit, 1.0 - quantile.fraction()),
        Goal::Errors { limit } => (Duration::MAX, limit.get()),
        _ => return None,
    };
    let holds = |rate: f64| {
        let broken = broken_share(discipline, arrivals, rate, limit, requests);
        broken.is_some_and(|broken| broken <= allowed)
    };
    let (mut low, mut high) = (LOOKED_AT.0 * saturation, LOOKED_AT.1 * saturation);
    if !holds(low) || holds(high) {
        return None;
    }
    while high - low > PRECISION * high {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Rate::per_second(0.5 * (low + high))
}

/// The share of requests at `rate` that are refused, or are answered later
/// than `limit`.
fn broken_share(
    discipline: &Discipline,
    arrivals: Arrivals,
    rate: f64,
    limit: Duration,
    requests: u64,
) -> Option<f64> {
    let schedule = Schedule::new(arrivals, Rate::per_second(rate)?, SEED);
    let mut queue = Queue::new(discipline.clone());
    let lead_in = (requests as f64 * LEAD_IN) as u64;
    let mut broken = 0u64;
    for (came, n) in schedule.zip(0..lead_in + requests) {
        let came = Duration::from_nanos(came);
        let answered = queue.answers_at(came);
        let is_good = answered.is_some_and(|answered| answered - came <= limit);
        broken += u64::from(!is_good && n >= lead_in);
    }
    Some(broken as f64 / requests as f64)
}
