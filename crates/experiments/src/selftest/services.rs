//! The services of the self-test and the question for each.

use plimsoll_load::known::Discipline;
use std::time::Duration;

/// Tolerance of an answer, in percent of the truth.
pub(super) const TOLERANCE_PCT: f64 = 5.0;

/// A service whose capacity is known by construction.
#[derive(Debug)]
pub struct KnownService {
    /// Its behaviour, in a few words.
    pub name: &'static str,
    pub(super) asks: Asks,
    /// Its behaviour, with a seed of its random times.
    pub(super) discipline: fn(u64) -> Discipline,
}

/// The question for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The highest rate that meets a latency limit.
    Latency,
    /// The knee: the highest rate at which latency exceeds its light-load value by at
    /// most a factor.
    Knee,
    /// The highest rate at which almost no request is refused.
    Refusals,
    /// The throughput at saturation, from calibration.
    Saturation,
    /// The length of its stalls.
    Stall,
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// One server with a fixed service time; it answers two questions, one of them twice.
fn one_server(_: u64) -> Discipline {
    Discipline::Servers {
        each: us(400),
        servers: 1,
    }
}

/// Requests between two pauses, and pauses per cycle. A cycle takes 24 ms at
/// capacity: a trial covers at least sixteen, so its phase hardly matters.
const PAUSES: (u32, u32) = (14, 4);

/// Services with a latency goal saturate at about 2,500 to 4,000/s: far below the
/// capacity of the loopback, and enough requests for the few seconds available for
/// each. The last is the first again, for `super::repeat`; all others lie between.
pub(super) static SERVICES: [KnownService; 9] = [
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
    KnownService {
        name: "fixed 0.4 ms in one server, again",
        asks: Asks::Latency,
        discipline: one_server,
    },
];
