//! Values of settings, and their format in each version of cgroups.
//!
//! Documentation/admin-guide/cgroup-v2.rst; cgroup-v1/; scheduler/sched-bwc.rst.

use crate::error::ControlError;
use plimsoll_model::Bytes;
use std::time::Duration;

/// CPU or I/O weight relative to sibling groups: 1 to 10000, default 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u16);

impl Weight {
    pub const NORMAL: Weight = Weight(100);
    pub const LEAST: Weight = Weight(1);

    /// `weight` if it is within 1 to 10000.
    pub fn new(weight: u16) -> Result<Weight, ControlError> {
        match weight {
            1..=10_000 => Ok(Weight(weight)),
            _ => Err(ControlError::OutOfRange {
                what: format!("the weight {weight}"),
                range: "1 to 10000, where 100 is normal",
            }),
        }
    }

    pub fn get(self) -> u16 {
        self.0
    }

    /// The equivalent in `cpu.shares`, where 1024 is the default and 2 the minimum.
    pub(crate) fn shares(self) -> u32 {
        (u32::from(self.0) * 1024 / 100).max(2)
    }
}

/// CPU time per period, summed over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    time: Duration,
    period: Duration,
}

impl Quota {
    /// `time` of CPU in each `period`. Two full CPUs in a period of 10 ms are a time of
    /// 20 ms.
    ///
    /// # Errors
    /// [`ControlError::OutOfRange`] unless the period is 1 ms to 1 s and the time at
    /// least 1 ms: the kernel's limits.
    pub fn new(time: Duration, period: Duration) -> Result<Quota, ControlError> {
        const LEAST: Duration = Duration::from_millis(1);
        if period < LEAST || period > Duration::from_secs(1) {
            return Err(ControlError::OutOfRange {
                what: format!("a quota's period of {period:?}"),
                range: "1 ms to 1 s",
            });
        }
        if time < LEAST {
            return Err(ControlError::OutOfRange {
                what: format!("a quota of {time:?}"),
                range: "at least 1 ms; to give nothing at all, freeze",
            });
        }
        Ok(Quota { time, period })
    }

    pub(crate) fn time_us(self) -> u128 {
        self.time.as_micros()
    }

    pub(crate) fn period_us(self) -> u128 {
        self.period.as_micros()
    }
}

/// Memory limits; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryLimits {
    /// Above it, the group is throttled and its memory reclaimed. Version 2 only.
    pub high: Option<Bytes>,
    /// Hard limit: the kernel kills a process that exceeds it.
    pub max: Option<Bytes>,
    /// Maximum swap use.
    pub swap_max: Option<Bytes>,
}

/// How often a group hit its memory limits since it was made: `memory.events` of
/// version 2, `memory.oom_control` of version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryEvents {
    /// How often the group exceeded [`MemoryLimits::high`] and was reclaimed. `None`
    /// under version 1, which has no such limit.
    pub high: Option<u64>,
    /// Processes that the OOM killer ended. `None` before Linux 4.13, which does not
    /// count them.
    pub killed: Option<u64>,
}

/// Resource usage of a group since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time. Without a cgroup, that of the current processes and of the children
    /// that they waited for; it decreases when a process ends uncounted.
    pub cpu: Option<plimsoll_model::CpuTime>,
    /// Quota periods in which it ran.
    pub periods: Option<u64>,
    /// Periods in which the quota throttled it.
    pub throttled: Option<u64>,
    /// Throttled time, summed over CPUs.
    pub throttled_time: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_the_kernels_limits_are_refused() {
        assert!(Weight::new(0).is_err());
        assert!(Weight::new(10_001).is_err());
        let ms = Duration::from_millis;
        assert!(Quota::new(ms(1), ms(1)).is_ok());
        assert!(Quota::new(Duration::ZERO, ms(10)).is_err());
        assert!(Quota::new(ms(5), Duration::from_micros(999)).is_err());
        assert!(Quota::new(ms(5), ms(1001)).is_err());
    }

    #[test]
    fn weights_scale_to_shares() {
        assert_eq!(Weight::NORMAL.shares(), 1024);
        assert_eq!(Weight::LEAST.shares(), 10);
        assert_eq!(Weight::new(10_000).unwrap().shares(), 102_400);
    }
}
