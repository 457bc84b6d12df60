//! When answers are due, on virtual time.
//!
//! Each request's answer follows from when the request came and from those
//! before it; nothing is worked off meanwhile. So what a server can carry does
//! not depend on what the CPU does, and the same recursion, fed with arrivals
//! that no clock has seen, says what a measurement must find.
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

/// By which rule answers become due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discipline {
    /// Each request takes as long on one of so many servers.
    Servers {
        /// How long.
        each: Duration,
        /// How many; none is taken for one.
        servers: u32,
    },
    /// Each request takes an exponential time on one of so many servers.
    Exponential {
        /// Its mean.
        mean: Duration,
        /// How many; none is taken for one.
        servers: u32,
        /// Seeds the times.
        seed: u64,
    },
    /// Requests are answered at once while there are tokens, and else refused.
    /// It begins empty, as it is found after a burst: a full bucket would hide
    /// for `burst` requests that a rate is too high.
    TokenBucket {
        /// Tokens that come back in a second.
        per_second: u32,
        /// The most that there are at a time; none is taken for one.
        burst: u32,
    },
    /// Answers at once, but not while it stalls: at the beginning of every
    /// period, counted from time zero.
    Stall {
        /// From the beginning of one stall to the beginning of the next.
        every: Duration,
        /// How long a stall is; answers come at its end.
        lasting: Duration,
    },
    /// One server that pauses after so many requests, longer from pause to
    /// pause, until it begins anew with the shortest.
    SawTooth {
        /// How long a request takes.
        each: Duration,
        /// Requests between two pauses.
        every: u32,
        /// The shortest pause.
        first: Duration,
        /// By how much a pause is longer than the one before.
        growth: Duration,
        /// How many pauses there are until the shortest comes again.
        steps: u32,
        /// How many requests of its cycle, which has `every` times `steps`, are
        /// over when it begins.
        into: u32,
    },
    /// Servers that hold a lock, which is one for all, during the first part
    /// of each request.
    Lock {
        /// How long a request holds the lock.
        serial: Duration,
        /// What it takes without it.
        parallel: Duration,
        /// How many; none is taken for one.
        servers: u32,
    },
}

impl Discipline {
    /// The highest rate of answers in the long run; `None` where there is no
    /// limit, or a service time of zero.
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

/// A discipline with what has come so far. Times run from its beginning, when
/// nobody waited.
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
    /// Requests since the last pause.
    since_pause: u32,
    /// Which pause is next.
    step: u32,
    rng: Xoshiro256PlusPlus,
}

impl Queue {
    /// An empty queue.
    pub fn new(discipline: Discipline) -> Queue {
        let seed = match discipline {
            Discipline::Exponential { seed, .. } => seed,
            _ => 0,
        };
        let (since_pause, step) = match discipline {
            Discipline::SawTooth {
                every, steps, into, ..
            } => (into % every.max(1), into / every.max(1) % steps.max(1)),
            _ => (0, 0),
        };
        let shared = match discipline {
            Discipline::TokenBucket { per_second, burst } => token(per_second) * burst.max(1),
            _ => Duration::ZERO,
        };
        Queue {
            free: vec![Duration::ZERO; discipline.servers() as usize],
            discipline,
            shared,
            since_pause,
            step,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// When a request that comes at `at` is answered; `None` where it is
    /// refused at once. Requests come in order.
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
                // Requests are begun in order, so the lock is taken in order.
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

    /// Servers are few, so that looking at all of them is quick.
    fn first_free(&self) -> usize {
        let mut first = 0;
        for (server, free) in self.free.iter().enumerate() {
            if *free < self.free[first] {
                first = server;
            }
        }
        first
    }
}

/// The time in which a token comes back.
fn token(per_second: u32) -> Duration {
    Duration::from_secs(1) / per_second.max(1)
}

#[cfg(test)]
mod tests;
