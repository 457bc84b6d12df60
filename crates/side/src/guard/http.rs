//! A guard that probes a server several times a second in an open loop, with
//! latency from the intended start.

use super::{Percentile, Value};
use plimsoll_load::http::HttpLoad;
use plimsoll_load::{Load, LoadError, Offer, Running, Shape, Tick};
use plimsoll_model::{Arrivals, CpuSet, HttpService, Rate};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Enough to detect a slow service, and little load.
const PER_SECOND: f64 = 10.0;
/// The age up to which answers count.
const KEPT: Duration = Duration::from_secs(2);
/// The time-out, as a multiple of the limit.
const TIMEOUT_LIMITS: u32 = 4;

/// A probe with its own thread.
pub(super) struct Http {
    running: Result<Box<dyn Running>, String>,
    percentile: Percentile,
    recent: Recent,
}

/// Prepares the probe without contacting the server. Its thread runs on the last
/// CPU, because the first one often handles interrupts.
pub(super) fn prepare(url: &str, limit: Duration, cpus: &CpuSet) -> Result<HttpLoad, LoadError> {
    let timeout = limit
        .saturating_mul(TIMEOUT_LIMITS)
        .max(Duration::from_millis(100));
    let service = HttpService::get(url, 4, timeout);
    HttpLoad::new(&service, cpus.iter().last().into_iter().collect())
}

impl Http {
    pub(super) fn open(url: &str, percentile: Percentile, limit: Duration, cpus: &CpuSet) -> Http {
        let offer = Offer {
            rate: Rate::per_second(PER_SECOND).unwrap_or(Rate::ZERO),
            arrivals: Arrivals::Poisson,
            seed: 1,
            drain: Duration::ZERO,
            shape: Shape::Constant,
            connections: None,
        };
        let running = prepare(url, limit, cpus).and_then(|mut load| load.start(&offer));
        Http {
            running: running.map_err(|e| e.to_string()),
            percentile,
            recent: Recent::default(),
        }
    }

    pub(super) fn value(&mut self) -> Value {
        let running = self.running.as_mut().map_err(|why| why.clone())?;
        let answers = Answers::of(&running.tick(), self.percentile);
        self.recent.add(Instant::now(), answers);
        self.recent.slowest()
    }
}

/// What a guard keeps of a tick.
struct Answers {
    completed: u64,
    errors: u64,
    /// The percentile that is guarded.
    latency: Option<Duration>,
}

impl Answers {
    fn of(tick: &Tick, percentile: Percentile) -> Answers {
        let quantile = match percentile {
            Percentile::P50 => 0.5,
            Percentile::P99 => 0.99,
        };
        Answers {
            completed: tick.completed,
            errors: tick.errors,
            latency: tick.latency.quantile(quantile),
        }
    }
}

#[derive(Default)]
struct Recent(VecDeque<(Instant, Answers)>);

impl Recent {
    fn add(&mut self, now: Instant, answers: Answers) {
        self.0.push_back((now, answers));
        self.0.retain(|(at, _)| now.duration_since(*at) <= KEPT);
    }

    /// The maximum over the ticks, in milliseconds: percentiles are not averaged.
    fn slowest(&self) -> Value {
        let sum = |of: fn(&Answers) -> u64| -> u64 { self.0.iter().map(|(_, t)| of(t)).sum() };
        let (completed, errors) = (sum(|t| t.completed), sum(|t| t.errors));
        if errors > 0 {
            let requests = errors + completed;
            return Err(format!("{errors} of {requests} requests failed"));
        }
        let slowest = self.0.iter().filter_map(|(_, answers)| answers.latency);
        let slowest = slowest.max().ok_or("no answer has come lately")?;
        Ok(slowest.as_secs_f64() * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(completed: u64, errors: u64, ms: Option<u64>) -> Answers {
        Answers {
            completed,
            errors,
            latency: ms.map(Duration::from_millis),
        }
    }

    #[test]
    fn only_recent_latency_is_used() {
        let (mut recent, start) = (Recent::default(), Instant::now());
        let at = |s| start + Duration::from_secs(s);
        assert!(recent.slowest().is_err());
        recent.add(at(0), answers(3, 0, Some(50)));
        recent.add(at(1), answers(3, 0, Some(20)));
        recent.add(at(2), answers(0, 0, None));
        assert_eq!(recent.slowest(), Ok(50.0));
        recent.add(at(3), answers(1, 0, Some(4)));
        assert_eq!(recent.slowest(), Ok(20.0));
        recent.add(at(9), answers(0, 0, None));
        assert!(recent.slowest().is_err(), "nobody answers");
    }

    #[test]
    fn failed_requests_make_latency_unknown() {
        let mut recent = Recent::default();
        recent.add(Instant::now(), answers(9, 1, Some(1)));
        let why = recent.slowest().unwrap_err();
        assert_eq!(why, "1 of 10 requests failed");
    }

    #[test]
    fn an_invalid_url_is_a_usage_error() {
        let cpus = "0".parse().unwrap();
        let second = Duration::from_secs(1);
        let prepared = prepare("localhost:80", second, &cpus);
        assert!(matches!(prepared, Err(LoadError::Mistake(_))));
    }
}
