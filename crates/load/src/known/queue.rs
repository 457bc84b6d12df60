//! Answer times of a queue on virtual time.
//!
//! Each answer time follows from the arrival times only; no work is done
//! meanwhile. The capacity is therefore independent of the CPU, and the same
//! recursion, fed with ideal arrivals, predicts what a measurement must find.
//!
//! First come, first served with one server is Lindley's recursion (The theory
//! of queues with a single server, 1952); with several, each request goes to
//! the server that is free first (Kiefer and Wolfowitz, On the theory of queues
//! with many servers, 1955). The token bucket is the virtual scheduling
//! algorithm of ITU-T I.371, annex A.

use crate::arrivals::uniform;
use plimsoll_model::Rate;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// The rule by which answers become due. `servers` and `burst` of 0 count as 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discipline {
    /// A fixed service time on parallel servers.
    Servers {
        /// Service time.
        each: Duration,
        servers: u32,
    },
    /// An exponential service time on parallel servers.
    Exponential {
        mean: Duration,
        servers: u32,
        seed: u64,
    },
    /// Answers at once while there are tokens, else refuses. The bucket starts
    /// empty: a full one would hide for `burst` requests that a rate is too
    /// high.
    TokenBucket {
        per_second: u32,
        /// Maximum number of tokens.
        burst: u32,
    },
    /// Answers at once, except during a stall at the beginning of every period,
    /// counted from time zero.
    Stall {
        /// Period of the stalls.
        every: Duration,
        /// Length of a stall; delayed answers come at its end.
        lasting: Duration,
    },
    /// One server that pauses after a number of requests, longer from pause to
    /// pause, until it restarts with the shortest.
    SawTooth {
        /// Service time.
        each: Duration,
        /// Requests between two pauses.
        every: u32,
        /// The shortest pause.
        first: Duration,
        /// Increase from pause to pause.
        growth: Duration,
        /// Pauses per cycle.
        steps: u32,
        /// Requests of the cycle (`every` times `steps`) that are over at the
        /// start.
        into: u32,
    },
    /// Parallel servers that share one lock, held during the first part of each
    /// request.
    Lock {
        /// Service time under the lock.
        serial: Duration,
        /// Service time without the lock.
        parallel: Duration,
        servers: u32,
    },
}

impl Discipline {
    /// Maximum rate of answers in the long run; `None` if unlimited, or for a
    /// service time of zero.
    pub fn saturation(&self) -> Option<Rate> {
        let rate = match *self {
            Discipline::Servers { each, servers } => f64::from(servers.max(1)) / each.as_secs_f64(),
            Discipline::Exponential { mean, servers, .. } => {
                f64::from(servers.max(1)) / mean.as_secs_f64()
            }
            Discipline::TokenBucket { per_second, .. } => f64::from(per_second),
            Discipline::Stall { .. } => return None,
            Discipline::SawTooth {
                each,
                every,
                first,
                growth,
                steps,
                ..
            } => {
                let growths = f64::from(steps.max(1) - 1) / 2.0;
                let pause = first.as_secs_f64() + growth.as_secs_f64() * growths;
                1.0 / (each.as_secs_f64() + pause / f64::from(every.max(1)))
            }
            Discipline::Lock {
                serial,
                parallel,
                servers,
            } => {
                let whole = (serial + parallel).as_secs_f64();
                (1.0 / serial.as_secs_f64()).min(f64::from(servers.max(1)) / whole)
            }
        };
        Rate::per_second(rate)
    }

    fn servers(&self) -> u32 {
        match *self {
            Discipline::Servers { servers, .. }
            | Discipline::Exponential { servers, .. }
            | Discipline::Lock { servers, .. } => servers.max(1),
            _ => 1,
        }
    }
}

/// A discipline with its state. Times are from its beginning, when the queue is
/// empty.
///
/// ```
/// use plimsoll_load::known::{Discipline, Queue};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let mut queue = Queue::new(Discipline::Servers { each: ms(10), servers: 1 });
/// assert_eq!(queue.answers_at(ms(0)), Some(ms(10)));
/// assert_eq!(queue.answers_at(ms(4)), Some(ms(20)));
/// ```
#[derive(Debug, Clone)]
pub struct Queue {
    discipline: Discipline,
    /// When each server is free.
    free: Vec<Duration>,
    /// When the lock is free, or the bucket full.
    shared: Duration,
    since_pause: u32,
    /// Index of the next pause.
    step: u32,
    rng: Xoshiro256PlusPlus,
}

impl Queue {
    pub fn new(discipline: Discipline) -> Queue {
        let mut queue = Queue {
            free: vec![Duration::ZERO; discipline.servers() as usize],
            discipline,
            shared: Duration::ZERO,
            since_pause: 0,
            step: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
        };
        match queue.discipline {
            Discipline::Exponential { seed, .. } => {
                queue.rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            }
            Discipline::SawTooth {
                every, steps, into, ..
            } => {
                queue.since_pause = into % every.max(1);
                queue.step = into / every.max(1) % steps.max(1);
            }
            Discipline::TokenBucket { per_second, burst } => {
                queue.shared = token(per_second) * burst.max(1);
            }
            _ => {}
        }
        queue
    }

    /// When a request that arrives at `at` is answered; `None` if it is refused
    /// at once. Arrivals must be ascending.
    pub fn answers_at(&mut self, at: Duration) -> Option<Duration> {
        match self.discipline {
            Discipline::Servers { each, .. } => Some(self.serve(at, each)),
            Discipline::Exponential { mean, .. } => {
                let time = mean.mul_f64(-(1.0 - uniform(&mut self.rng)).ln());
                Some(self.serve(at, time))
            }
            Discipline::TokenBucket { per_second, burst } => {
                let token = token(per_second);
                let missing = self.shared.saturating_sub(at);
                (missing <= token * (burst.max(1) - 1)).then(|| {
                    self.shared = self.shared.max(at) + token;
                    at
                })
            }
            Discipline::Stall { every, lasting } => {
                let period = every.as_nanos().max(1);
                let within = Duration::from_nanos((at.as_nanos() % period) as u64);
                Some(at + lasting.saturating_sub(within))
            }
            Discipline::SawTooth {
                each,
                every,
                first,
                growth,
                steps,
                ..
            } => {
                let answered = self.serve(at, each);
                self.since_pause += 1;
                if self.since_pause >= every {
                    self.since_pause = 0;
                    self.serve(answered, first + growth * self.step);
                    self.step = (self.step + 1) % steps.max(1);
                }
                Some(answered)
            }
            Discipline::Lock {
                serial, parallel, ..
            } => {
                // Requests start in order, so the lock is taken in order.
                let server = self.first_free();
                self.shared = self.free[server].max(at).max(self.shared) + serial;
                self.free[server] = self.shared + parallel;
                Some(self.free[server])
            }
        }
    }

    /// Occupies the server that is free first for `time`.
    fn serve(&mut self, at: Duration, time: Duration) -> Duration {
        let server = self.first_free();
        self.free[server] = self.free[server].max(at) + time;
        self.free[server]
    }

    /// A linear scan: there are few servers.
    fn first_free(&self) -> usize {
        let free = self.free.iter().enumerate();
        // The first of those that are free at the same time; there is at least one.
        free.min_by_key(|(_, free)| **free)
            .map_or(0, |(first, _)| first)
    }
}

/// Time per token.
fn token(per_second: u32) -> Duration {
    Duration::from_secs(1) / per_second.max(1)
}

#[cfg(test)]
mod tests;
