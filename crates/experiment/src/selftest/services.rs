//! The services, and what is asked of them.

use plimsoll_load::known::Discipline;
use std::time::Duration;

/// A service whose answers are known by construction.
#[derive(Debug)]
pub struct KnownService {
    /// What it does, in a few words.
    pub name: &'static str,
    pub(super) asks: Asks,
    discipline: fn(u64) -> Discipline,
}

/// What is asked of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The highest rate that keeps a limit on latency.
    Latency,
    /// The highest rate at which hardly anything is refused.
    Refusals,
    /// How long it stalls.
    Stall,
}

impl KnownService {
    /// What it does; `seed` decides what is chance.
    pub(super) fn discipline(&self, seed: u64) -> Discipline {
        (self.discipline)(seed)
    }
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// All services of which a capacity is asked saturate at 2,500 to 4,000 a second, the limiter apart: far
/// below what the loopback carries, and often enough for the few seconds that
/// there are for each.
pub(super) static SERVICES: [KnownService; 7] = [
    KnownService {
        name: "fixed 0.4 ms in one server",
        asks: Asks::Latency,
        discipline: |_| Discipline::Servers {
            each: us(400),
            servers: 1,
        },
    },
    KnownService {
        name: "fixed 1.6 ms in four servers",
        asks: Asks::Latency,
        discipline: |_| Discipline::Servers {
            each: us(1600),
            servers: 4,
        },
    },
    KnownService {
        name: "exponential, 0.25 ms on average",
        asks: Asks::Latency,
        discipline: |seed| Discipline::Exponential {
            mean: us(250),
            servers: 1,
            seed,
        },
    },
    KnownService {
        name: "rate limiter at 1,000/s",
        asks: Asks::Refusals,
        discipline: |_| Discipline::TokenBucket {
            per_second: 1000,
            burst: 20,
        },
    },
    KnownService {
        name: "stall of 200 ms every 5 s",
        asks: Asks::Stall,
        discipline: |_| Discipline::Stall {
            every: Duration::from_secs(5),
            lasting: Duration::from_millis(200),
        },
    },
    KnownService {
        name: "pauses that grow from 0.5 to 4 ms",
        asks: Asks::Latency,
        discipline: |_| Discipline::SawTooth {
            each: us(300),
            every: 25,
            first: us(500),
            growth: us(500),
            steps: 8,
        },
    },
    KnownService {
        name: "lock around a third of the work",
        asks: Asks::Latency,
        discipline: |_| Discipline::Lock {
            serial: us(400),
            parallel: us(800),
            servers: 4,
        },
    },
];
