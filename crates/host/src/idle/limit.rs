//! The limit on the wake-up latency of one CPU,
//! `cpuN/power/pm_qos_resume_latency_us`: one slot, which all programs share.

use crate::error::{HostError, Malformed, number};
use crate::root::Root;
use plimsoll_model::CpuId;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long a CPU may take to wake up, as the kernel's file has it.
///
/// In the file `0` means no limit and `n/a` means a limit of zero. To mix them up turns a
/// request for the shortest latency into none, so a limit below 1 us is written as `n/a`.
///
/// ```
/// use plimsoll_host::idle::ResumeLatency;
/// use std::time::Duration;
///
/// assert_eq!("0".parse(), Ok(ResumeLatency::NoLimit));
/// assert_eq!(ResumeLatency::at_most(Duration::ZERO), ResumeLatency::PollOnly);
/// assert_eq!(ResumeLatency::PollOnly.to_string(), "n/a");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeLatency {
    /// `0`: all idle states are permitted.
    NoLimit,
    /// States that take longer to leave are not permitted. In whole microseconds of at
    /// least 1 if made by [`ResumeLatency::at_most`] or read.
    AtMost(Duration),
    /// `n/a`: state 0 alone, which polls on most architectures.
    PollOnly,
}

impl ResumeLatency {
    /// The largest limit that the kernel takes: 2147483647 is its own "no limit"
    /// (`PM_QOS_RESUME_LATENCY_NO_CONSTRAINT` in include/linux/pm_qos.h).
    const MOST_US: u64 = 2_147_483_646;

    /// A limit in whole microseconds, rounded down. Below 1 us only polling is left.
    pub fn at_most(latency: Duration) -> ResumeLatency {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        match us.min(Self::MOST_US) {
            0 => ResumeLatency::PollOnly,
            us => ResumeLatency::AtMost(Duration::from_micros(us)),
        }
    }

    /// The latency above which a state is not permitted; `None` without a limit.
    pub fn longest(self) -> Option<Duration> {
        match self {
            ResumeLatency::NoLimit => None,
            ResumeLatency::AtMost(latency) => Some(latency),
            ResumeLatency::PollOnly => Some(Duration::ZERO),
        }
    }

    /// Whether this limit permits everything that `other` permits, and more.
    pub fn is_looser_than(self, other: ResumeLatency) -> bool {
        let longest = |limit: ResumeLatency| limit.longest().unwrap_or(Duration::MAX);
        longest(self) > longest(other)
    }
}

/// As the file has it.
impl fmt::Display for ResumeLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeLatency::NoLimit => f.write_str("0"),
            ResumeLatency::AtMost(latency) if latency.as_micros() > 0 => {
                write!(f, "{}", latency.as_micros())
            }
            ResumeLatency::AtMost(_) | ResumeLatency::PollOnly => f.write_str("n/a"),
        }
    }
}

impl FromStr for ResumeLatency {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        const EXPECTED: &str = "a number of microseconds or n/a";
        match text.trim() {
            "n/a" => Ok(ResumeLatency::PollOnly),
            "0" => Ok(ResumeLatency::NoLimit),
            us => match number(us, EXPECTED)? {
                0 => Err(Malformed::new(EXPECTED, us)),
                us => Ok(ResumeLatency::AtMost(Duration::from_micros(us))),
            },
        }
    }
}

/// The limit on one CPU; `None` if this kernel has no such file (before Linux 4.11, or
/// without `CONFIG_PM`).
///
/// # Errors
/// If the file cannot be read, or holds something else.
pub fn resume_latency(root: &Root, cpu: CpuId) -> Result<Option<ResumeLatency>, HostError> {
    root.parse_optional(resume_latency_file(cpu), str::parse)
}

/// The file of the limit on one CPU.
pub fn resume_latency_file(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn zero_is_no_limit_and_not_available_is_zero() {
        let us = |n| ResumeLatency::AtMost(Duration::from_micros(n));
        for (text, limit, longest) in [
            ("0\n", ResumeLatency::NoLimit, None),
            ("n/a\n", ResumeLatency::PollOnly, Some(0)),
            ("1\n", us(1), Some(1)),
            ("170\n", us(170), Some(170)),
        ] {
            let tree = FakeTree::new().file(&resume_latency_file(3), text);
            let read = resume_latency(tree.root(), 3).unwrap();
            assert_eq!(read, Some(limit), "{text}");
            assert_eq!(limit.longest(), longest.map(Duration::from_micros));
            assert_eq!(limit.to_string(), text.trim());
        }
        assert_eq!(resume_latency(FakeTree::new().root(), 3).unwrap(), None);
        for text in ["", "-1", "fast", "0x5", "00"] {
            let tree = FakeTree::new().file(&resume_latency_file(3), text);
            let error = resume_latency(tree.root(), 3).unwrap_err().to_string();
            assert!(error.contains("pm_qos_resume_latency_us"), "{error}");
        }
    }

    #[test]
    fn no_limit_is_never_written_for_a_short_latency() {
        for ns in [0, 1, 999] {
            let short = Duration::from_nanos(ns);
            assert_eq!(ResumeLatency::at_most(short), ResumeLatency::PollOnly);
            assert_eq!(ResumeLatency::AtMost(short).to_string(), "n/a");
        }
        let written = |latency| ResumeLatency::at_most(latency).to_string();
        assert_eq!(written(Duration::from_nanos(5_999)), "5");
        assert_eq!(written(Duration::MAX), "2147483646");
    }

    #[test]
    fn limits_are_ordered_by_what_they_permit() {
        let us = |n| ResumeLatency::AtMost(Duration::from_micros(n));
        let from_loose = [
            ResumeLatency::NoLimit,
            us(9),
            us(5),
            ResumeLatency::PollOnly,
        ];
        for (nth, looser) in from_loose.into_iter().enumerate() {
            for (other, stricter) in from_loose.into_iter().enumerate() {
                assert_eq!(looser.is_looser_than(stricter), nth < other);
            }
        }
    }
}
