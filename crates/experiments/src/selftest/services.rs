//! The services, and what is asked of them.

use plimsoll_load::known::Discipline;
use std::time::Duration;

/// How far an answer may be from the truth, in percent of it.
pub(super) const TOLERANCE_PCT: f64 = 5.0;

/// A service whose answers are known by construction.
#[derive(Debug)]
pub struct KnownService {
    /// What it does, in a few words.
    pub name: &'static str,
    pub(super) asks: Asks,
    pub(super) discipline: fn(u64) -> Discipline,
}

/// What is asked of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The highest rate that keeps a limit on latency.
    Latency,
    /// The knee: the highest rate at which latency has not left its value at
    /// light load by more than a factor.
    Knee,
    /// The highest rate at which hardly anything is refused.
    Refusals,
    /// The throughput at saturation, which the calibration has to find.
    Saturation,
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

/// One server with a fixed time: two questions are asked of it.
fn one_server(_: u64) -> Discipline {
    Discipline::Servers {
        each: us(400),
        servers: 1,
    }
}

/// Requests between two pauses, and pauses until the shortest comes again.
/// The whole cycle takes 24 ms at the capacity: a trial sees sixteen of them and
/// more, so that it hardly matters where in one it begins or ends.
const PAUSES: (u32, u32) = (14, 4);

/// All of which a latency is asked saturate at about 2,500 to 4,000 a second: far
/// below what the loopback carries, and often enough for the few seconds that
/// there are for each.
pub(super) static SERVICES: [KnownService; 8] = [
    KnownService {
        name: "fixed 0.4 ms in one server",
        asks: Asks::Latency,
        discipline: one_server,
    },
    KnownService {
        name: "the same, calibrated",
        asks: Asks::Saturation,
        discipline: one_server,
    },
    KnownService {
        name: "fixed 1.6 ms in four servers",
        asks: Asks::Knee,
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
        name: "pauses that grow from 0.5 to 2 ms",
        asks: Asks::Latency,
        discipline: |seed| Discipline::SawTooth {
            each: us(300),
            every: PAUSES.0,
            first: us(500),
            growth: us(500),
            steps: PAUSES.1,
            into: (seed % u64::from(PAUSES.0 * PAUSES.1)) as u32,
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
