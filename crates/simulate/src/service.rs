//! The kinds of services whose capacity is known.

use plimsoll_model::Rate;
use std::time::Duration;

/// What a simulated machine serves with. All queues are first come, first
/// served, and have room for any number of requests. A service without
/// servers never answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// Every request takes the same time: M/D/k under Poisson arrivals.
    Deterministic {
        /// The time of each request on a server.
        service: Duration,
        /// How many servers.
        servers: u32,
    },
    /// Exponential times: M/M/k under Poisson arrivals.
    Exponential {
        /// The mean time of a request on a server.
        mean: Duration,
        /// How many servers.
        servers: u32,
    },
    /// A rate limiter: flat up to a rate; beyond it the excess piles up.
    ///
    /// It goes by the rate of the trial and is blind to the chance in the
    /// arrivals, as a limiter with a very long memory is. So latency does not
    /// rise before the cliff, and grows by `rate / at - 1` seconds per second
    /// after it.
    Cliff {
        /// The latency of every request at rates up to the limit.
        below: Duration,
        /// The highest rate that is let through.
        at: Rate,
    },
    /// Any service that stands still at equal intervals: requests arrive and
    /// wait, and what was begun is resumed where it stood.
    Stall {
        /// What is stalled.
        base: Box<Service>,
        /// From the beginning of a stall to the beginning of the next.
        every: Duration,
        /// How long each is; below `every`.
        length: Duration,
    },
    /// One server that pauses after every so many requests, each time for
    /// longer, until it starts again with the shortest pause: a garbage
    /// collector between two full collections.
    SawTooth {
        /// The time of each request on the server.
        service: Duration,
        /// After how many requests it pauses.
        every: u32,
        /// The shortest pause.
        first: Duration,
        /// How much longer each pause is than the one before.
        growth: Duration,
        /// How many pauses until the shortest comes again.
        steps: u32,
    },
    /// A part of each request is done under a lock that all servers share: a
    /// server takes a request, waits for the lock, holds it, and then works
    /// on alone. Both parts are exponential.
    Lock {
        /// The mean time of the part that servers do at the same time.
        parallel: Duration,
        /// The mean time under the lock.
        serial: Duration,
        /// How many servers.
        servers: u32,
    },
}

impl Service {
    /// The throughput when there is always a request waiting.
    ///
    /// With a lock this is the machine-repairman model M/M/1//k: the lock is
    /// the repairman (Kleinrock, Queueing Systems I, 1975, section 3.8).
    pub fn saturation(&self) -> Rate {
        let per_second = match self {
            Service::Deterministic {
                service: mean,
                servers,
            }
            | Service::Exponential { mean, servers } => f64::from(*servers) / seconds(*mean),
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

/// A time to divide by: no work takes less than a nanosecond.
pub(crate) fn seconds(d: Duration) -> f64 {
    d.max(Duration::from_nanos(1)).as_secs_f64()
}

/// The part of the time in which a service is not stalled.
pub(crate) fn working_share(every: Duration, length: Duration) -> f64 {
    (1.0 - length.as_secs_f64() / seconds(every)).max(0.0)
}

/// Throughput of `k` machines that run for `run` and are repaired by one
/// repairman for `repair`, both exponential.
fn repairman(run: f64, repair: f64, k: u32) -> f64 {
    // Weight of the state in which i machines are at the repairman.
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
    fn a_lock_bounds_what_more_servers_bring() {
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
    fn pauses_take_their_part_of_the_capacity() {
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
