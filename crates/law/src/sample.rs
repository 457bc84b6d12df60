use plimsoll_model::{CpuTime, CpuUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The measurements of one control period. A failed reading is `None` or
/// [`Reading::Unknown`], never a number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The end of the period, since the controller started. For readers of the
    /// log; no law uses it.
    #[serde(rename = "at_ns", with = "plimsoll_model::Ns")]
    pub at: Duration,
    /// The measured length of the period, not the requested one.
    #[serde(rename = "period_ns", with = "plimsoll_model::Ns")]
    pub period: Duration,
    /// The number of CPUs that the sideload may run on at the end of the
    /// period. Shares of "the machine" are shares of these.
    pub cpus: u32,
    /// CPU time of these CPUs in the period, by mode. If it covers more CPUs
    /// than `cpus`, the laws give less, never more.
    pub machine: Option<CpuUse>,
    /// The sideload's own CPU time in the period.
    #[serde(rename = "sideload_ns")]
    pub sideload: Option<CpuTime>,
    /// Whether the kernel itself preempts the sideload when others want the CPU
    /// (a weight, SCHED_IDLE). Its time then counts as idle, and only the use
    /// of everything else can freeze it. Used by [`crate::Plimsoll`]; the other
    /// laws assume quotas.
    #[serde(default)]
    pub gives_way: bool,
    /// Other indicators of the service's health.
    pub guards: Vec<Guard>,
}

/// An SLO guard: one indicator of the service's health, such as its run delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    /// Its name including the unit of its values, such as `run_delay_ms`.
    pub name: String,
    pub reading: Reading,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Reading {
    Fine {
        /// In the unit of the guard's name.
        value: f64,
        /// In the same unit.
        limit: f64,
    },
    Over {
        /// Above the limit.
        value: f64,
        /// In the same unit.
        limit: f64,
    },
    /// The value could not be read.
    Unknown {
        /// The cause, as a clause such as "the server did not answer".
        why: String,
    },
}

impl Reading {
    /// Compares a value with its limit; a value at the limit is fine. A value
    /// that is not finite is unknown.
    pub fn of(value: f64, limit: f64) -> Reading {
        if !value.is_finite() || !limit.is_finite() {
            Reading::Unknown {
                why: "the value is not a finite number".to_owned(),
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
    fn reading_at_its_limit_is_fine_and_nan_is_unknown() {
        assert!(matches!(Reading::of(10.0, 10.0), Reading::Fine { .. }));
        assert!(matches!(Reading::of(10.1, 10.0), Reading::Over { .. }));
        for value in [f64::NAN, f64::INFINITY] {
            assert!(matches!(Reading::of(value, 1.0), Reading::Unknown { .. }));
        }
    }
}
