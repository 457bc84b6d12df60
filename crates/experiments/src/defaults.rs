//! Defaults that experiments share.

use plimsoll_model::{Bounds, CpuPlan, InterruptTime, Rate, Share, Workload};
use std::time::Duration;

/// How much disturbance a trial may show. What is `None` gets its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tolerance {
    /// p99 of the slip.
    pub slip: Option<Duration>,
    /// CPU time taken by the hypervisor, of all CPU time.
    pub steal: Option<Share>,
    /// CPU time used by others, of all CPU time.
    pub other: Option<Share>,
}

/// The first rate of the calibration: for the hash service half of what its
/// calibrated cost promises, for a server that is not known 1,000 a second.
pub(crate) fn first_rate(workload: &Workload, cpus: &CpuPlan) -> Rate {
    let rate = match workload {
        Workload::Hash(hash) => 0.5 * cpus.service.len() as f64 / hash.request_cpu.0.as_secs_f64(),
        Workload::Http(_) | Workload::Imported(_) => 1000.0,
    };
    Rate::per_second(rate).unwrap_or(Rate::ZERO)
}

/// What makes a trial invalid, unless asked otherwise.
///
/// A slip p99 of 100 us is what a generator with a core of its own keeps
/// here (docs/benchmarks.md); of longer latencies a tenth may be its fault.
/// Steal and other load are disturbances that a busy cloud machine shows
/// below 2 % and 5 % all the time.
pub(crate) fn bounds(tolerance: Tolerance, interrupts: InterruptTime) -> Bounds {
    let share = |x| Share::new(x).unwrap_or(Share::ZERO);
    Bounds {
        slip: tolerance.slip.unwrap_or(Duration::from_micros(100)),
        slip_share: share(0.10),
        steal_share: tolerance.steal.unwrap_or(share(0.02)),
        other_share: tolerance.other.unwrap_or(share(0.05)),
        interrupts,
        retries: 3,
    }
}
