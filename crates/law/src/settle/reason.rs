use plimsoll_model::{Rate, Share, human_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Why a rate was decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum SettleReason {
    /// Far fewer requests than allowed are above the limit.
    FarBelow {
        #[serde(rename = "over_share")]
        over: Share,
        #[serde(rename = "allowed_share")]
        allowed: Share,
    },
    /// The queue has not yet adapted to the last change of rate.
    QueueAdapts,
    /// The estimate from all recent periods.
    Estimate {
        /// The relative standard error of the rate; may exceed 1.
        #[serde(rename = "standard_error_ratio")]
        standard_error: f64,
    },
    /// More work waits than at any rate that keeps the goal.
    Overload {
        #[serde(rename = "backlog_ns", with = "plimsoll_model::Ns")]
        backlog: Duration,
        #[serde(rename = "bound_ns", with = "plimsoll_model::Ns")]
        bound: Duration,
        #[serde(rename = "throughput_rps")]
        throughput: Rate,
    },
    /// The excess in the queue is taken out of the next period.
    Drain {
        #[serde(rename = "backlog_ns", with = "plimsoll_model::Ns")]
        backlog: Duration,
    },
    /// Requests are in flight and none ended.
    Stuck { in_flight: u64 },
    /// Nothing ended and nothing is in flight, or the period had no length.
    NoRequests,
    /// The goal is missed at the lowest rate.
    MissedAtFloor,
    /// The goal is kept at the highest rate.
    AtCeiling,
    /// The goal was replaced.
    NewGoal,
}

impl fmt::Display for SettleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettleReason::FarBelow { over, allowed } => {
                write!(f, "{over} above the limit of {allowed} allowed")
            }
            SettleReason::QueueAdapts => f.write_str("the queue adapts to the change of rate"),
            SettleReason::Estimate { standard_error } => {
                write!(f, "estimate, ±{:.1} %", standard_error * 100.0)
            }
            SettleReason::Overload {
                backlog,
                bound,
                throughput,
            } => write!(
                f,
                "overload: {} of work waits, at the goal less than {}; throughput {throughput}",
                human_duration(*backlog),
                human_duration(*bound)
            ),
            SettleReason::Drain { backlog } => {
                write!(f, "drains {} of work", human_duration(*backlog))
            }
            SettleReason::Stuck { in_flight } => {
                write!(f, "no request ended, {in_flight} in flight")
            }
            SettleReason::NoRequests => f.write_str("no requests"),
            SettleReason::MissedAtFloor => f.write_str("the goal is missed at the lowest rate"),
            SettleReason::AtCeiling => f.write_str("the goal is kept at the highest rate"),
            SettleReason::NewGoal => f.write_str("new goal"),
        }
    }
}
