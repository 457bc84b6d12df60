//! The expected results of a self-test.
//!
//! Simulates the server's own queue ([`plimsoll_load::known::Queue`]) on virtual
//! time with many arrivals, and bisects for the rate at which the share of broken
//! requests crosses the goal's limit. All rates use the same scaled arrivals and
//! the same service times, so the share rises with the rate almost without noise.
//!
//! Exponential times on one server use the closed form, because their simulation
//! has the largest variance. The tests compare the others with closed forms (M/D/k,
//! M/M/k), within 0.5 %.

use super::KnownService;
use super::services::Asks;
use crate::sweep::Effort;
use plimsoll_engine::RunError;
use plimsoll_engine::order::derive;
use plimsoll_load::arrivals::Schedule;
use plimsoll_load::known::{Discipline, Queue};
use plimsoll_model::{Arrivals, Goal, Histogram, LIGHT_PCT, LatencyLimit, Plan, Rate};
use std::time::Duration;

const SEED: u64 = 0x706C_696D_736F_6C6C;
/// The share of requests before counting starts, to forget the empty queue.
const LEAD_IN: f64 = 0.02;
/// Relative width at which the bisection stops.
const PRECISION: f64 = 5e-4;
/// The range of rates that is searched, relative to saturation.
const LOOKED_AT: (f64, f64) = (0.2, 1.3);

/// The known properties of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// The highest rate that meets this goal.
    Capacity(Goal, Rate),
    /// The throughput while requests are always waiting.
    Saturation(Rate),
    /// The length of its stalls.
    Stall(Duration),
}

/// The truth about the goal of `plan` for a service.
pub(super) fn of(service: &KnownService, plan: &Plan, effort: Effort) -> Result<Truth, RunError> {
    let requests = match effort {
        Effort::Quick => 1_000_000,
        Effort::Full => 4_000_000,
    };
    // A different seed than for the arrivals, or gaps and service times would be
    // correlated.
    let discipline = (service.discipline)(derive(SEED, 0));
    let known = match (service.asks, &discipline) {
        (_, Discipline::Stall { lasting, .. }) => Some(Truth::Stall(*lasting)),
        (Asks::Saturation, _) => discipline.saturation().map(Truth::Saturation),
        _ => plan.goals.first().and_then(|goal| {
            let rate = capacity(&discipline, plan.arrivals, goal, requests)?;
            Some(Truth::Capacity(*goal, rate))
        }),
    };
    known.ok_or_else(|| {
        RunError::Stuck(format!(
            "nothing is known of '{}'; this is a defect of Plimsoll",
            service.name
        ))
    })
}

/// The highest rate that meets `goal` in the long run, from `requests` requests at
/// each rate unless there is a closed form. `None` if no rate between 0.2 and 1.3
/// times saturation does, if nothing limits it, or if the goal is on CPU use.
///
/// A limit that is a multiple of the light-load latency refers to the latency at a
/// fifth of saturation.
pub fn capacity(
    discipline: &Discipline,
    arrivals: Arrivals,
    goal: &Goal,
    requests: u64,
) -> Option<Rate> {
    let saturation = discipline.saturation()?.get();
    let simulated = Simulated {
        discipline,
        arrivals,
        requests,
    };
    let (limit, allowed) = match *goal {
        Goal::Latency { quantile, limit } => {
            let limit = match limit {
                LatencyLimit::Absolute(limit) => limit,
                LatencyLimit::TimesLight(times) => {
                    let light = simulated.latency(saturation * LIGHT_PCT / 100.0)?;
                    light.quantile(quantile.fraction())?.mul_f64(times)
                }
            };
            (limit, 1.0 - quantile.fraction())
        }
        Goal::Errors { limit } => (Duration::MAX, limit.get()),
        Goal::Cpu { .. } => return None,
    };
    if let Some(exact) = exponential(discipline, arrivals, limit, allowed) {
        return Rate::per_second(exact).filter(|rate| rate.get() >= LOOKED_AT.0 * saturation);
    }
    crossing(saturation, |rate| {
        let broken = simulated.broken_share(rate, limit);
        broken.is_some_and(|broken| broken <= allowed)
    })
}

/// The time in M/M/1 is exponential with rate `mu - lambda` (Kleinrock, Queueing
/// Systems I, 1975, section 3.2).
fn exponential(
    discipline: &Discipline,
    arrivals: Arrivals,
    limit: Duration,
    allowed: f64,
) -> Option<f64> {
    match *discipline {
        Discipline::Exponential { mean, servers, .. }
            if servers <= 1 && arrivals == Arrivals::Poisson =>
        {
            Some(1.0 / mean.as_secs_f64() + allowed.ln() / limit.as_secs_f64())
        }
        _ => None,
    }
}

/// Bisects for the rate at which `holds` turns false.
fn crossing(saturation: f64, holds: impl Fn(f64) -> bool) -> Option<Rate> {
    let (mut low, mut high) = (LOOKED_AT.0 * saturation, LOOKED_AT.1 * saturation);
    if !holds(low) || holds(high) {
        return None;
    }
    while high - low > PRECISION * high {
        let middle = 0.5 * (low + high);
        match holds(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    Rate::per_second(0.5 * (low + high))
}

/// A service on virtual time.
struct Simulated<'a> {
    discipline: &'a Discipline,
    arrivals: Arrivals,
    /// At each rate.
    requests: u64,
}

impl Simulated<'_> {
    /// The share of requests at `rate` that are refused or exceed `limit`.
    fn broken_share(&self, rate: f64, limit: Duration) -> Option<f64> {
        let mut broken = 0u64;
        self.each(rate, |latency| {
            broken += u64::from(latency.is_none_or(|latency| latency > limit));
        })?;
        Some(broken as f64 / self.requests as f64)
    }

    fn latency(&self, rate: f64) -> Option<Histogram> {
        let mut all = Histogram::new();
        self.each(rate, |latency| {
            latency.into_iter().for_each(|one| all.record(one));
        })?;
        Some(all)
    }

    /// Calls back with the latency of each request; `None` if refused.
    fn each(&self, rate: f64, mut see: impl FnMut(Option<Duration>)) -> Option<()> {
        let schedule = Schedule::new(self.arrivals, Rate::per_second(rate)?, SEED);
        let mut queue = Queue::new(self.discipline.clone());
        let lead_in = (self.requests as f64 * LEAD_IN) as u64;
        for (came, n) in schedule.zip(0..lead_in + self.requests) {
            let came = Duration::from_nanos(came);
            let answered = queue.answers_at(came);
            if n >= lead_in {
                see(answered.map(|answered| answered - came));
            }
        }
        Some(())
    }
}
