use super::SettleReason;
use plimsoll_model::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What was measured in one control period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettleSample {
    /// The measured length; usually 0.5 s.
    #[serde(rename = "period_ns", with = "plimsoll_model::Ns")]
    pub period: Duration,
    /// The rate that was offered.
    #[serde(rename = "offered_rps")]
    pub offered: Rate,
    /// Requests that ended in the period.
    pub ended: u64,
    /// Those of `ended` with a latency above the limit.
    pub over_limit: u64,
    /// Requests that arrived and did not end, at the end of the period.
    pub in_flight: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettlePhase {
    /// The rate is being searched for.
    Settling,
    /// The rate is known to its standard error and held.
    Settled,
    /// The goal is missed at the lowest rate.
    Unreachable,
}

/// The rate to offer until the next decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettleDecision {
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
    pub phase: SettlePhase,
    pub reason: SettleReason,
}
