//! Fixtures for the tests of sweeps.

use super::{Effort, Request};
use plimsoll_model::{Bytes, CpuPlan, CpuTime, HashService, Plan, Workload};
use std::time::Duration;

/// A quick sweep with defaults, of a service on CPU 0 by a generator on CPU 1.
pub(crate) fn request(workload: Workload) -> Request {
    let cpus = CpuPlan {
        service: [0].into_iter().collect(),
        generator: [1].into_iter().collect(),
        cores: Vec::new(),
    };
    Request::new(workload, Effort::Quick, cpus, 11)
}

/// A hash service whose requests cost 1 ms of CPU time.
pub(crate) fn hash() -> Workload {
    Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
    })
}

/// The plan of that sweep of that service.
pub(crate) fn plan() -> Plan {
    request(hash()).plan()
}
