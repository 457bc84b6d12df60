//! What the periods so far say about the rate.

use super::LatencyGoal;
use plimsoll_model::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Periods count for this long, exponentially weighted.
const MEMORY_S: f64 = 20.0;

/// The log-likelihood ratio at which a halved share above the limit is taken for real: once
/// in a thousand clumps by chance.
const CLEAR: f64 = 6.9;

/// Weighted sums over the periods at about the same rate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Evidence {
    /// Seconds of the periods, not weighted.
    seconds: f64,
    /// Requests that may be above the limit, each period scaled to the rate now.
    allowed: f64,
    /// Requests that were above it.
    over: f64,
    /// Allowed requests of one period.
    one_period: f64,
    /// Evidence that the share above the limit is at most half of the allowed one.
    spare: f64,
}

impl Evidence {
    pub(super) fn add(&mut self, goal: LatencyGoal, rate: Rate, seconds: f64, counts: (u64, u64)) {
        let (ended, over) = (counts.0 as f64, counts.1 as f64);
        let allowed = goal.allowed() * ended;
        let kept = (-seconds / MEMORY_S).exp();
        self.seconds += seconds;
        self.allowed = self.allowed * kept + allowed;
        self.over = self.over * kept + over;
        self.one_period = allowed;
        // One clump is one observation, but a period is at least a small part of one: where
        // clumps are longer than the memory, nothing would ever be clear.
        let clump = goal.clump(rate.get()).min(8.0 * allowed.max(1.0));
        let ratio = (allowed / 2.0 - over * std::f64::consts::LN_2) / clump;
        self.spare = (self.spare + ratio).max(0.0);
    }

    /// The rate that the sums point to, as a factor of the rate now.
    pub(super) fn factor(&self, goal: LatencyGoal, rate: Rate) -> f64 {
        let prior = goal.clump(rate.get()).min(self.one_period.max(1.0));
        let ratio = (self.allowed + prior) / (self.over + prior);
        ratio.powf(1.0 / goal.slope(rate.get()))
    }

    /// Scales the sums to a rate that is `factor` times the rate now.
    pub(super) fn rescale(&mut self, goal: LatencyGoal, rate: Rate, factor: f64) {
        self.allowed *= factor.powf(-goal.slope(rate.get()));
    }

    /// The relative standard error of the rate.
    pub(super) fn standard_error(&self, goal: LatencyGoal, rate: Rate) -> f64 {
        goal.standard_error(rate, self.allowed.max(f64::MIN_POSITIVE))
    }

    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Whether far fewer than allowed were above the limit, for long.
    pub(super) fn has_spare(&self) -> bool {
        self.spare > CLEAR
    }

    /// Whether more were above the limit than three standard deviations of clumps explain.
    pub(super) fn clearly_missed(&self, goal: LatencyGoal, rate: Rate) -> bool {
        let deviation = (goal.clump(rate.get()) * self.allowed.max(1.0)).sqrt();
        self.over > self.allowed + 3.0 * deviation
    }
}
