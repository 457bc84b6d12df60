//! Queues as recursions: each arrival time gives its departure time.
//!
//! First come, first served with one server is Lindley's recursion (The theory
//! of queues with a single server, 1952); with several, each request goes to
//! the server that is free first (Kiefer and Wolfowitz, On the theory of queues
//! with many servers, 1955).

use crate::random::SeededRng;
use crate::service::{Service, seconds, working_share};
use crate::stall::StallClock;
use std::time::Duration;

/// The state of a service between two arrivals. Times are in seconds from the
/// beginning of the trial, when the queue is empty.
#[derive(Debug)]
pub(crate) enum QueueState {
    Servers {
        servers: Servers,
        mean: f64,
        times: Times,
    },
    TokenBucket(TokenBucket),
    Limiter {
        below: f64,
        growth: f64,
    },
    Stalled {
        base: Box<QueueState>,
        clock: StallClock,
    },
    SawTooth(SawTooth),
    Lock {
        servers: Servers,
        lock_free: f64,
        parallel: f64,
        serial: f64,
    },
}

impl QueueState {
    /// An empty queue for `service`, with all service times multiplied by
    /// `slower`, at `rate` arrivals per second. Periodic pauses start at a
    /// random phase.
    pub(crate) fn new(
        service: &Service,
        slower: f64,
        rate: f64,
        rng: &mut SeededRng,
    ) -> QueueState {
        let queue = |servers: u32, mean: Duration, times| QueueState::Servers {
            servers: Servers::idle(servers),
            mean: seconds(mean) * slower,
            times,
        };
        match service {
            Service::Deterministic { service, servers } => {
                queue(*servers, *service, Times::Constant)
            }
            Service::Exponential { mean, servers } => queue(*servers, *mean, Times::Exponential),
            Service::Mixed {
                mean,
                long,
                factor,
                servers,
            } => {
                let (long, factor) = (long.get(), *factor);
                queue(*servers, *mean, Times::Mixed { long, factor })
            }
            Service::TokenBucket { below, rate, burst } => {
                let below = below.as_secs_f64() * slower;
                QueueState::TokenBucket(TokenBucket::full(below, rate.get() / slower, *burst))
            }
            Service::Cliff { below, at } => QueueState::Limiter {
                below: below.as_secs_f64() * slower,
                growth: (rate * slower / at.get() - 1.0).max(0.0),
            },
            Service::Stall {
                base,
                every,
                length,
            } => {
                let clock = StallClock::new(seconds(*every), length.as_secs_f64(), rng);
                let while_working = rate / working_share(*every, *length);
                QueueState::Stalled {
                    base: Box::new(QueueState::new(base, slower, while_working, rng)),
                    clock,
                }
            }
            Service::SawTooth {
                service,
                every,
                first,
                growth,
                steps,
            } => {
                let pauses = (*first, *growth, *steps);
                QueueState::SawTooth(SawTooth::begun(*service, *every, pauses, slower, rng))
            }
            Service::Lock {
                parallel,
                serial,
                servers,
            } => QueueState::Lock {
                servers: Servers::idle(*servers),
                lock_free: 0.0,
                parallel: seconds(*parallel) * slower,
                serial: seconds(*serial) * slower,
            },
        }
    }

    /// The departure time of a request that arrives at `at`. Arrivals must
    /// ascend.
    pub(crate) fn departs(&mut self, at: f64, rng: &mut SeededRng) -> f64 {
        match self {
            QueueState::Servers {
                servers,
                mean,
                times,
            } => {
                let departs = servers.free().max(at) + *mean * times.draw(rng);
                servers.occupy(departs);
                departs
            }
            QueueState::TokenBucket(bucket) => bucket.departs(at),
            QueueState::Limiter { below, growth } => at + *below + at * *growth,
            QueueState::Stalled { base, clock } => clock.real(base.departs(clock.working(at), rng)),
            QueueState::SawTooth(saw) => saw.departs(at),
            QueueState::Lock {
                servers,
                lock_free,
                parallel,
                serial,
            } => {
                // Requests start in order, so the lock is requested in order.
                let locked = servers.free().max(at).max(*lock_free);
                *lock_free = locked + *serial * rng.exponential();
                let departs = *lock_free + *parallel * rng.exponential();
                servers.occupy(departs);
                departs
            }
        }
    }
}

/// The state of a limiter. Times are in seconds.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    below: f64,
    rate: f64,
    burst: f64,
    /// Tokens after the last arrival; negative while requests wait for one.
    tokens: f64,
    /// The last arrival.
    last: f64,
}

impl TokenBucket {
    fn full(below: f64, rate: f64, burst: f64) -> TokenBucket {
        TokenBucket {
            below,
            rate,
            burst,
            tokens: burst,
            last: 0.0,
        }
    }

    fn departs(&mut self, at: f64) -> f64 {
        let full = self.tokens + (at - self.last) * self.rate;
        self.tokens = full.min(self.burst) - 1.0;
        self.last = at;
        at + self.below + (-self.tokens).max(0.0) / self.rate
    }
}

/// The state of a server that pauses. Times are in seconds.
#[derive(Debug)]
pub(crate) struct SawTooth {
    free: f64,
    service: f64,
    every: u32,
    until_pause: u32,
    first: f64,
    growth: f64,
    steps: u32,
    step: u32,
}

impl SawTooth {
    /// At a random request of a random step.
    fn begun(
        service: Duration,
        every: u32,
        (first, growth, steps): (Duration, Duration, u32),
        slower: f64,
        rng: &mut SeededRng,
    ) -> SawTooth {
        let (every, steps) = (every.max(1), steps.max(1));
        SawTooth {
            free: 0.0,
            service: seconds(service) * slower,
            every,
            until_pause: 1 + (rng.unit() * f64::from(every)) as u32,
            first: first.as_secs_f64() * slower,
            growth: growth.as_secs_f64() * slower,
            steps,
            step: (rng.unit() * f64::from(steps)) as u32,
        }
    }

    fn departs(&mut self, at: f64) -> f64 {
        let departs = self.free.max(at) + self.service;
        self.free = departs;
        self.until_pause -= 1;
        if self.until_pause == 0 {
            self.free += self.first + self.growth * f64::from(self.step);
            self.until_pause = self.every;
            self.step = (self.step + 1) % self.steps;
        }
        departs
    }
}

/// Service times, in means.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Times {
    Constant,
    Exponential,
    /// Exponential, and `factor` times as long for the share `long`.
    Mixed {
        long: f64,
        factor: f64,
    },
}

impl Times {
    fn draw(self, rng: &mut SeededRng) -> f64 {
        match self {
            Times::Constant => 1.0,
            Times::Exponential => rng.exponential(),
            Times::Mixed { long, factor } => {
                let is_long = rng.unit() < long;
                rng.exponential() * if is_long { factor } else { 1.0 }
            }
        }
    }
}

/// When each server is free: a min-heap.
#[derive(Debug)]
pub(crate) struct Servers(Vec<f64>);

impl Servers {
    fn idle(servers: u32) -> Servers {
        Servers(vec![0.0; servers as usize])
    }

    /// When the first server is free; infinity if there is none.
    fn free(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::INFINITY)
    }

    /// Occupies the server that is free first until `until`.
    fn occupy(&mut self, until: f64) {
        let heap = &mut self.0;
        let mut place = 0;
        loop {
            let mut child = 2 * place + 1;
            if child + 1 < heap.len() && heap[child + 1] < heap[child] {
                child += 1;
            }
            if child >= heap.len() || heap[child] >= until {
                break;
            }
            heap[place] = heap[child];
            place = child;
        }
        if let Some(server) = heap.get_mut(place) {
            *server = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue_of(service: &Service) -> QueueState {
        QueueState::new(service, 1.0, 0.0, &mut SeededRng::seeded(1))
    }

    #[test]
    fn requests_go_to_the_server_that_is_free_first() {
        let mut queue_of = queue_of(&Service::Deterministic {
            service: Duration::from_secs(10),
            servers: 3,
        });
        let mut rng = SeededRng::seeded(1);
        let departures: Vec<f64> = [0.0, 1.0, 2.0, 3.0, 4.0, 30.0]
            .iter()
            .map(|at| queue_of.departs(*at, &mut rng))
            .collect();
        assert_eq!(departures, [10.0, 11.0, 12.0, 20.0, 21.0, 40.0]);
    }

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_its_rate() {
        let mut bucket = queue_of(&Service::TokenBucket {
            below: Duration::from_secs(2),
            rate: plimsoll_model::Rate::per_second(0.5).unwrap(),
            burst: 2.0,
        });
        let mut rng = SeededRng::seeded(1);
        let departures: Vec<f64> = [0.0, 0.0, 0.0, 1.0, 100.0]
            .iter()
            .map(|at| bucket.departs(*at, &mut rng))
            .collect();
        assert_eq!(departures, [2.0, 2.0, 4.0, 6.0, 102.0]);
    }

    #[test]
    fn a_service_without_servers_never_answers() {
        let mut queue_of = queue_of(&Service::Exponential {
            mean: Duration::from_millis(1),
            servers: 0,
        });
        assert_eq!(
            queue_of.departs(1.0, &mut SeededRng::seeded(1)),
            f64::INFINITY
        );
    }
}
