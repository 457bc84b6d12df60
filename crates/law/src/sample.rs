//! What the law is told once per control period.

use plimsoll_model::{CpuTime, CpuUse};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What was seen in one control period.
///
/// A reading that failed is `None` or [`Reading::Unknown`], never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The end of the period, since the controller started. For the reader of
    /// the log: no law looks at it.
    #[serde(rename = "at_ns", with = "plimsoll_model::ns")]
    pub at: Duration,
    /// How long the period was, as the clock says and not as was asked for.
    #[serde(rename = "period_ns", with = "plimsoll_model::ns")]
    pub period: Duration,
    /// How many CPUs the sideload may run on at the end of the period; they are
    /// "the machine" of every share here.
    pub cpus: u32,
    /// CPU time of these CPUs in the period, by kind. That of more CPUs than
    /// `cpus` makes the laws careful, not wrong.
    pub machine: Option<CpuUse>,
    /// The sideload's own CPU time in the period.
    #[serde(rename = "sideload_ns")]
    pub sideload: Option<CpuTime>,
    /// Whether the kernel takes that time back by itself when others want it, as by
    /// a weight or SCHED_IDLE: then it is as good as idle, and only what everything
    /// else uses can freeze the sideload. For [`crate::Plimsoll`]; the other laws know
    /// quotas alone.
    #[serde(default)]
    pub gives_way: bool,
    /// What else was asked whether the service is well.
    pub guards: Vec<Guard>,
}

/// One thing that was asked whether the service is well, such as how long its
/// tasks waited for a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// Its name, with the unit of its values, such as `run_delay_ms`.
    pub name: String,
    /// What it said.
    pub reading: Reading,
}

/// What a guard said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Reading {
    /// The service is well.
    Fine {
        /// What was read, in the unit that the guard's name states.
        value: f64,
        /// What it was held against.
        limit: f64,
    },
    /// The service is not well.
    Over {
        /// What was read.
        value: f64,
        /// What it was held against.
        limit: f64,
    },
    /// Nobody knows.
    Unknown {
        /// Why not, as a part of a sentence such as "the server did not answer".
        why: String,
    },
}

impl Reading {
    /// Holds a value against its limit: over only beyond it. What is no finite
    /// number is unknown.
    pub fn of(value: f64, limit: f64) -> Reading {
        if !value.is_finite() || !limit.is_finite() {
            Reading::Unknown {
                why: "it gave no number".to_owned(),
            }
        } else if value > limit {
            Reading::Over { value, limit }
        } else {
            Reading::Fine { value, limit }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_at_its_limit_is_fine_and_no_number_is_unknown() {
        assert!(matches!(Reading::of(10.0, 10.0), Reading::Fine { .. }));
        assert!(matches!(Reading::of(10.1, 10.0), Reading::Over { .. }));
        for value in [f64::NAN, f64::INFINITY] {
            assert!(matches!(Reading::of(value, 1.0), Reading::Unknown { .. }));
        }
    }
}
