//! Defaults that experiments share.

use plimsoll_model::{Bounds, CpuPlan, InterruptTime, Millicores, Rate, Share, WarmUp, Workload};
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

/// The first rate of the calibration: for the hash service half of what its
/// calibrated cost predicts, for an unknown server 1,000/s.
pub(crate) fn first_rate(workload: &Workload, cpus: &CpuPlan) -> Rate {
    let rate = match workload {
        Workload::Hash(hash) => {
            let usable = cpus.usable().map_or(1.0, Millicores::cpus);
            0.5 * usable / hash.request_cpu.0.as_secs_f64()
        }
        Workload::Http(_) | Workload::Imported(_) => 1000.0,
    };
    Rate::per_second(rate).unwrap_or(Rate::ZERO)
}

/// The default bounds of a valid trial.
///
/// A generator with a core of its own keeps a slip p99 of 100 us here
/// (docs/benchmarks.md); of longer latencies the slip may be a tenth. A busy cloud
/// machine shows steal below 2 % and other load below 5 % all the time.
pub(crate) fn bounds(interrupts: InterruptTime) -> Bounds {
    let share = |x| Share::new(x).unwrap_or(Share::ZERO);
    Bounds {
        slip: Duration::from_micros(100),
        slip_share: share(0.10),
        steal_share: share(0.02),
        other_share: share(0.05),
        interrupts,
        retries: 3,
    }
}
