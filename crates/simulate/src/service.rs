//! Services of known capacity.

use plimsoll_model::{Rate, Share};
use std::time::Duration;

/// A simulated service. All queues are first come, first served and unlimited.
/// A service without servers never answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// Constant service time: M/D/k under Poisson arrivals.
    Deterministic { service: Duration, servers: u32 },
    /// Exponential service time: M/M/k under Poisson arrivals.
    Exponential { mean: Duration, servers: u32 },
    /// Exponential service time whose mean is `factor` times as long for a part of the
    /// requests, such as those that miss a cache.
    Mixed {
        /// Mean of most requests.
        mean: Duration,
        long: Share,
        factor: f64,
        servers: u32,
    },
    /// A limiter with a token bucket, full at first: a request takes a token and is
    /// answered after `below`, or waits for one.
    TokenBucket {
        below: Duration,
        /// Tokens per second.
        rate: Rate,
        /// Tokens in a full bucket.
        burst: f64,
    },
    /// A rate limiter: constant latency up to a rate; above it, the excess
    /// accumulates.
    ///
    /// It depends on the rate of the trial, not on the random arrivals, like a
    /// limiter with a very long memory. Latency does not rise before the limit,
    /// and grows by `rate / at - 1` seconds per second above it.
    Cliff {
        /// Latency at rates up to the limit.
        below: Duration,
        at: Rate,
    },
    /// Any service that stalls periodically: requests arrive and wait, and work
    /// is resumed after the stall.
    Stall {
        base: Box<Service>,
        every: Duration,
        /// Length of a stall; below `every`.
        length: Duration,
    },
    /// One server that pauses after every `every` requests, longer each time,
    /// until it restarts with the shortest pause, like a garbage collector
    /// between two full collections.
    SawTooth {
        service: Duration,
        every: u32,
        first: Duration,
        /// Increase from pause to pause.
        growth: Duration,
        /// Pauses per cycle.
        steps: u32,
    },
    /// Part of each request runs under a lock shared by all servers: a server
    /// takes a request, waits for the lock, holds it, and then works in
    /// parallel. Both parts are exponential.
    Lock {
        /// Mean service time without the lock.
        parallel: Duration,
        /// Mean service time under the lock.
        serial: Duration,
        servers: u32,
    },
}

impl Service {
    /// The throughput while requests are always waiting.
    ///
    /// With a lock this is the machine-repairman model M/M/1//k, where the lock
    /// is the repairman (Kleinrock, Queueing Systems I, 1975, section 3.8).
    pub fn saturation(&self) -> Rate {
        let per_second = match self {
            Service::Deterministic {
                service: mean,
                servers,
            }
            | Service::Exponential { mean, servers } => f64::from(*servers) / seconds(*mean),
            Service::Mixed {
                mean,
                long,
                factor,
                servers,
            } => f64::from(*servers) / (seconds(*mean) * (1.0 + long.get() * (factor - 1.0))),
            Service::TokenBucket { rate, .. } => rate.get(),
            Service::Cliff { at, .. } => at.get(),
            Service::Stall {
                base,
                every,
                length,
            } => base.saturation().get() * working_share(*every, *length),
            Service::SawTooth {
                service,
                every,
                first,
                growth,
                steps,
            } => {
                let longer = growth.as_secs_f64() * f64::from(steps.saturating_sub(1)) / 2.0;
                let pause = (first.as_secs_f64() + longer) / f64::from((*every).max(1));
                1.0 / (seconds(*service) + pause)
            }
            Service::Lock {
                parallel,
                serial,
                servers,
            } => repairman(seconds(*parallel), seconds(*serial), *servers),
        };
        Rate::per_second(per_second).unwrap_or(Rate::ZERO)
    }
}

/// Seconds, at least a nanosecond, so that it can be a divisor.
pub(crate) fn seconds(d: Duration) -> f64 {
    d.max(Duration::from_nanos(1)).as_secs_f64()
}

/// The fraction of time without stalls.
pub(crate) fn working_share(every: Duration, length: Duration) -> f64 {
    (1.0 - length.as_secs_f64() / seconds(every)).max(0.0)
}

/// Throughput of `k` machines that run for `run` and are repaired by one
/// repairman for `repair`, both exponential.
fn repairman(run: f64, repair: f64, k: u32) -> f64 {
    // Weight of the state with i machines at the repairman.
    let mut weight = 1.0;
    let mut sum = 1.0;
    for i in 0..k {
        weight *= f64::from(k - i) * repair / run;
        sum += weight;
    }
    (1.0 - 1.0 / sum) / repair
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn lock_limits_the_gain_of_more_servers() {
        let with = |servers| Service::Lock {
            parallel: 9 * MS,
            serial: MS,
            servers,
        };
        assert!((with(1).saturation().get() - 100.0).abs() < 1e-9);
        let four = with(4).saturation().get();
        assert!((300.0..400.0).contains(&four), "{four}");
        let many = with(64).saturation().get();
        assert!((999.0..=1000.0).contains(&many), "{many}");
    }

    #[test]
    fn long_requests_reduce_the_capacity() {
        let mixed = Service::Mixed {
            mean: MS,
            long: Share::new(0.02).unwrap(),
            factor: 51.0,
            servers: 4,
        };
        assert!((mixed.saturation().get() - 2000.0).abs() < 1e-9);
    }

    #[test]
    fn pauses_reduce_the_capacity() {
        let base = Service::Exponential {
            mean: MS,
            servers: 2,
        };
        let stalled = Service::Stall {
            base: Box::new(base),
            every: 5000 * MS,
            length: 200 * MS,
        };
        assert!((stalled.saturation().get() - 1920.0).abs() < 1e-9);
        let saw = Service::SawTooth {
            service: MS,
            every: 100,
            first: 10 * MS,
            growth: 10 * MS,
            steps: 4,
        };
        assert!((saw.saturation().get() - 800.0).abs() < 1e-9);
    }
}
