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
        Queue {
            free: vec![Duration::ZERO; discipline.servers() as usize],
            discipline,
            shared: Duration::ZERO,
            since_pause: 0,
            step: 0,
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
                let token = Duration::from_secs(1) / per_second.max(1);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// When requests that come at these milliseconds are answered.
    fn answers(discipline: Discipline, at: &[u64]) -> Vec<Option<u64>> {
        let mut queue = Queue::new(discipline);
        let answer = |at: &u64| Some(queue.answers_at(ms(*at))?.as_millis() as u64);
        at.iter().map(answer).collect()
    }

    fn all(times: &[u64]) -> Vec<Option<u64>> {
        times.iter().copied().map(Some).collect()
    }

    #[test]
    fn one_server_serves_in_turn_and_several_as_they_are_free() {
        let of = |servers| Discipline::Servers {
            each: ms(10),
            servers,
        };
        assert_eq!(answers(of(1), &[0, 1, 2, 100]), all(&[10, 20, 30, 110]));
        let came = [0, 1, 2, 3, 4, 30];
        assert_eq!(answers(of(3), &came), all(&[10, 11, 12, 20, 21, 40]));
    }

    #[test]
    fn a_stall_holds_answers_until_its_end() {
        let stall = Discipline::Stall {
            every: ms(2000),
            lasting: ms(200),
        };
        let came = [0, 150, 200, 1999, 2050];
        assert_eq!(answers(stall, &came), all(&[200, 200, 200, 1999, 2200]));
    }

    #[test]
    fn a_bucket_refuses_when_it_is_empty_and_fills_again() {
        let bucket = Discipline::TokenBucket {
            per_second: 100,
            burst: 2,
        };
        let came = [100, 100, 100, 109, 110, 111, 200, 200, 200];
        let refused = [2, 3, 5, 8];
        let expected: Vec<Option<u64>> = came
            .iter()
            .enumerate()
            .map(|(i, at)| (!refused.contains(&i)).then_some(*at))
            .collect();
        assert_eq!(answers(bucket, &came), expected);
    }

    #[test]
    fn pauses_grow_and_begin_anew() {
        let saw = Discipline::SawTooth {
            each: ms(1),
            every: 2,
            first: ms(10),
            growth: ms(5),
            steps: 2,
        };
        let all_at_once = [0; 8];
        let expected = [1, 2, 13, 14, 30, 31, 42, 43];
        assert_eq!(answers(saw, &all_at_once), all(&expected));
    }

    #[test]
    fn a_lock_is_held_by_one_and_the_rest_goes_on_beside() {
        let lock = |servers| Discipline::Lock {
            serial: ms(10),
            parallel: ms(30),
            servers,
        };
        assert_eq!(answers(lock(9), &[0, 0, 0, 0]), all(&[40, 50, 60, 70]));
        // With two servers the third request waits for the first to end.
        assert_eq!(answers(lock(2), &[0, 0, 0, 0]), all(&[40, 50, 80, 90]));
    }

    #[test]
    fn queues_that_are_never_empty_answer_at_the_stated_rate() {
        let disciplines = [
            Discipline::Servers {
                each: ms(3),
                servers: 4,
            },
            Discipline::Exponential {
                mean: ms(3),
                servers: 2,
                seed: 1,
            },
            Discipline::SawTooth {
                each: ms(2),
                every: 7,
                first: ms(1),
                growth: ms(2),
                steps: 5,
            },
            Discipline::Lock {
                serial: ms(2),
                parallel: ms(9),
                servers: 4,
            },
            Discipline::Lock {
                serial: ms(4),
                parallel: ms(1),
                servers: 4,
            },
        ];
        let requests = 40_000;
        for discipline in disciplines {
            let expected = discipline.saturation().unwrap().get();
            let mut queue = Queue::new(discipline.clone());
            let last = (0..requests).filter_map(|_| queue.answers_at(Duration::ZERO));
            let rate = f64::from(requests) / last.max().unwrap().as_secs_f64();
            assert!(
                (rate / expected - 1.0).abs() < 0.02,
                "{discipline:?}: {rate}"
            );
        }
    }
}
