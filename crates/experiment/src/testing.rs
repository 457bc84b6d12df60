//! What tests of this room ask for.

use crate::sweep::{Effort, Request, Tolerance};
use plimsoll_model::{Arrivals, Bytes, CpuPlan, CpuTime, HashService, Plan, Workload};
use std::time::Duration;

/// A quick sweep with nothing but defaults, of a service on CPU 0 by a
/// generator on CPU 1.
pub(crate) fn request(workload: Workload) -> Request {
    Request {
        workload,
        effort: Effort::Quick,
        goals: vec![],
        arrivals: Arrivals::Poisson,
        levels: None,
        copies: vec![],
        trials: None,
        window: None,
        precision: None,
        restart: None,
        rated: None,
        cpus: CpuPlan {
            service: [0].into_iter().collect(),
            generator: [1].into_iter().collect(),
        },
        tolerance: Tolerance::default(),
        seed: 11,
    }
}

/// A hash service whose requests cost a millisecond.
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
