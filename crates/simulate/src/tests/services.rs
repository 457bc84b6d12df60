//! Services by their times.

use crate::Service;
use std::time::Duration;

pub(super) const MS: Duration = Duration::from_millis(1);

pub(super) fn exponential(mean: Duration, servers: u32) -> Service {
    Service::Exponential { mean, servers }
}

pub(super) fn deterministic(service: Duration, servers: u32) -> Service {
    Service::Deterministic { service, servers }
}

pub(super) fn stalls(base: Service, every: Duration, length: Duration) -> Service {
    Service::Stall {
        base: Box::new(base),
        every,
        length,
    }
}

pub(super) fn lock(parallel: Duration, servers: u32) -> Service {
    Service::Lock {
        parallel,
        serial: MS,
        servers,
    }
}

pub(super) fn saw_tooth(every: u32, growth: Duration, steps: u32) -> Service {
    Service::SawTooth {
        service: MS,
        every,
        first: MS,
        growth,
        steps,
    }
}
