//! Defaults that experiments share.

use plimsoll_model::{CpuPlan, Millicores, Rate, WarmUp, Workload};
use std::time::Duration;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// From `min` to `max` milliseconds.
pub(crate) const fn warm_up(min: u64, max: u64) -> WarmUp {
    WarmUp {
        min: ms(min),
        max: ms(max),
    }
}

/// Twice what an asyncio server takes for a new connection.
const CONNECTION_OPENS_WITHIN: Duration = Duration::from_micros(250);

/// How long the client's connections may take to open, with what a server does for each.
pub(crate) fn connections_open_within(workload: &Workload) -> Duration {
    match workload {
        Workload::Http(http) => CONNECTION_OPENS_WITHIN * http.connections,
        Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => Duration::ZERO,
    }
}

/// The first rate of the calibration: for the hash service half of what its
/// calibrated cost predicts, for an unknown server 1,000/s.
pub(crate) fn first_rate(workload: &Workload, cpus: &CpuPlan) -> Rate {
    let rate = match workload {
        Workload::Hash(hash) => {
            let usable = cpus.usable().map_or(1.0, Millicores::cpus);
            0.5 * usable / hash.request_cpu.0.as_secs_f64()
        }
        Workload::Http(_) | Workload::Command(_) | Workload::Imported(_) => 1000.0,
    };
    Rate::per_second(rate).unwrap_or(Rate::ZERO)
}
