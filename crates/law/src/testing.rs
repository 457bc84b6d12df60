//! Synthetic samples: one second of a hundred CPUs, so that shares are percent.

use crate::Sample;
use plimsoll_model::{CpuTime, CpuUse};
use std::time::Duration;

/// CPU seconds of the service and of the sideload; the rest is idle.
pub(crate) fn sample(service: u64, sideload: u64) -> Sample {
    sample_with_iowait(service, sideload, 0)
}

/// Additionally, CPU seconds of iowait.
pub(crate) fn sample_with_iowait(service: u64, sideload: u64, iowait: u64) -> Sample {
    let cpus = |n| CpuTime(Duration::from_secs(n));
    Sample {
        period: Duration::from_secs(1),
        cpus: 100,
        machine: Some(CpuUse {
            user: cpus(service + sideload),
            idle: cpus(100 - service - sideload - iowait),
            iowait: cpus(iowait),
            ..CpuUse::default()
        }),
        sideload: Some(cpus(sideload)),
        ..Sample::default()
    }
}
