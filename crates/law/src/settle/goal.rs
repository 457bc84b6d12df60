//! The goal, and what follows from it at a rate.

use plimsoll_model::{Goal, LatencyLimit, Quantile, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Rates that differ by less than this share are not searched for one by one.
pub(super) const RESOLUTION: f64 = 0.02;

/// A queue this unlikely at the goal means overload: once in a thousand looks.
const FALSE_ALARM: f64 = 1e-3;

/// A latency quantile below a fixed limit, such as `p95<75ms`. Serialized as the text of
/// the goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Goal", into = "Goal")]
pub struct LatencyGoal {
    quantile: Quantile,
    limit: Duration,
}

/// Why a goal cannot be settled at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LatencyGoalError {
    #[error("the goal has no latency; write it like p95<75ms")]
    NotLatency,
    #[error("the limit must be a fixed time above zero; write it like p95<75ms")]
    NotFixed,
}

impl LatencyGoal {
    /// # Errors
    /// [`LatencyGoalError::NotFixed`] for a limit of zero.
    pub fn new(quantile: Quantile, limit: Duration) -> Result<LatencyGoal, LatencyGoalError> {
        match limit.is_zero() {
            true => Err(LatencyGoalError::NotFixed),
            false => Ok(LatencyGoal { quantile, limit }),
        }
    }

    pub fn quantile(self) -> Quantile {
        self.quantile
    }

    pub fn limit(self) -> Duration {
        self.limit
    }

    /// The share of requests that may be above the limit.
    pub(super) fn allowed(self) -> f64 {
        1.0 - self.quantile.fraction()
    }

    /// `ln(1 / allowed)`: the limit in mean latencies, where latency is exponential.
    fn means_in_limit(self) -> f64 {
        -self.allowed().ln()
    }

    /// Arrivals during the limit. In M/M/1 the derivative of the log of the share above the
    /// limit by the log of the rate.
    pub(super) fn arrivals_in_limit(self, rate: f64) -> f64 {
        (rate * self.limit.as_secs_f64()).max(1.0)
    }

    /// The slope that steps use: a smaller one makes larger steps.
    pub(super) fn slope(self, rate: f64) -> f64 {
        self.arrivals_in_limit(rate).min(1.0 / RESOLUTION)
    }

    /// Requests in the system, on average, where the goal is just met.
    pub(super) fn usual_in_flight(self, rate: f64) -> f64 {
        rate * self.limit.as_secs_f64() / self.means_in_limit()
    }

    /// Requests above the limit that come together, in one excursion of the queue.
    pub(super) fn clump(self, rate: f64) -> f64 {
        let usual = self.usual_in_flight(rate);
        (usual * (usual + 1.0)).max(1.0)
    }

    /// Seconds in which the queue forgets where it began.
    pub(super) fn relaxation_s(self, rate: f64) -> f64 {
        4.0 * self.clump(rate) / rate
    }

    /// The time in which a queue whose rate just keeps the goal forgets where it began.
    pub fn relaxation(self, rate: Rate) -> Duration {
        let seconds = self.relaxation_s(rate.get().max(f64::MIN_POSITIVE));
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Seconds of work that do not wait at a rate that keeps the goal.
    pub(super) fn overload(self) -> f64 {
        self.limit.as_secs_f64() * -FALSE_ALARM.ln() / self.means_in_limit()
    }

    /// The rate that meets the goal if the service is one M/M/1 queue of this throughput. At
    /// least half of it, because with several workers one long service is not a queue.
    pub(super) fn below_saturation(self, throughput: f64) -> f64 {
        let spare = self.means_in_limit() / self.limit.as_secs_f64();
        (throughput - spare).max(throughput / 2.0)
    }
}

impl fmt::Display for LatencyGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Goal::from(*self).fmt(f)
    }
}

impl TryFrom<Goal> for LatencyGoal {
    type Error = LatencyGoalError;

    fn try_from(goal: Goal) -> Result<LatencyGoal, LatencyGoalError> {
        match goal {
            Goal::Latency {
                quantile,
                limit: LatencyLimit::Absolute(limit),
            } => LatencyGoal::new(quantile, limit),
            Goal::Latency { .. } => Err(LatencyGoalError::NotFixed),
            _ => Err(LatencyGoalError::NotLatency),
        }
    }
}

impl From<LatencyGoal> for Goal {
    fn from(goal: LatencyGoal) -> Goal {
        Goal::Latency {
            quantile: goal.quantile,
            limit: LatencyLimit::Absolute(goal.limit),
        }
    }
}
