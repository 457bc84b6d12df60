//! What the periods so far say about the rate.

use super::LatencyGoal;
use plimsoll_model::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Periods count for this long, exponentially weighted.
pub(super) const MEMORY_S: f64 = 40.0;

/// The log-likelihood ratio at which a halved share above the limit is taken for real: once
/// in a thousand clumps by chance.
const CLEAR: f64 = 6.9;

/// Above this share of what is allowed, the estimate alone leads to the rate: a slope twice
/// as high as stated has this share at 10 to 20 % below.
const FAR_BELOW: f64 = 0.125;

/// The observed clump is at most so many of M/M/1: the standard error at most doubles. The
/// statistic is the same for a stall and for a rate that is too high.
const MOST_OBSERVED: f64 = 4.0;

/// Weighted sums over the periods at about the same rate.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Evidence {
    /// Seconds of the periods, not weighted.
    seconds: f64,
    /// Requests that may be above the limit, each period scaled to the rate now.
    allowed: f64,
    /// Requests that were above it.
    over: f64,
    /// Sum over the periods of the squared difference of allowed and over.
    squares: f64,
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
        self.squares = self.squares * kept + (over - allowed).powi(2);
        self.one_period = allowed;
        // One clump is one observation, but a period is at least a small part of one: where
        // clumps are longer than the memory, nothing would ever be clear.
        let clump = self.clump(goal, rate).min(8.0 * allowed.max(1.0));
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
        let allowed = self.allowed.max(f64::MIN_POSITIVE);
        (self.clump(goal, rate) / allowed).sqrt() / goal.arrivals_in_limit(rate.get())
    }

    /// Variance by mean of the counts: that of M/M/1, or as observed where it is larger.
    fn clump(&self, goal: LatencyGoal, rate: Rate) -> f64 {
        let model = goal.clump(rate.get());
        let observed = self.squares / self.allowed.max(1.0);
        observed.clamp(model, MOST_OBSERVED * model)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Whether so much fewer than allowed were above the limit, for so long, that the rate
    /// is to rise fast. If they were only fewer, half of the old counts are forgotten.
    pub(super) fn far_below(&mut self) -> bool {
        if self.spare < CLEAR {
            return false;
        }
        self.spare = 0.0;
        if self.over < FAR_BELOW * self.allowed {
            return true;
        }
        self.over /= 2.0;
        false
    }

    /// Whether more were above the limit than three standard deviations of clumps explain.
    pub(super) fn clearly_missed(&self, goal: LatencyGoal, rate: Rate) -> bool {
        let deviation = (goal.clump(rate.get()) * self.allowed.max(1.0)).sqrt();
        self.over > self.allowed + 3.0 * deviation
    }
}

/// Of the looks, where the server has twice the throughput that it had: 0.75 with one worker, 0.67
/// with two (M/M/k).
const OFTEN_IDLE: f64 = 0.6;

/// No less is expected: a single idle look proves little.
const LEAST_IDLE: f64 = 0.05;

/// The throughput of recent periods in which requests always waited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct Saturation {
    ended: f64,
    seconds: f64,
    /// Evidence that the workers idle more than they would at this throughput.
    idle: f64,
}

/// Less weight than this says nothing any more: one period of 0.5 s after its half-life.
const LEAST_S: f64 = 0.25;

impl Saturation {
    /// A period, with the requests that ended if the workers were always busy.
    pub(super) fn pass(&mut self, seconds: f64, ended: Option<u64>) {
        let kept = (-seconds / MEMORY_S).exp();
        self.ended *= kept;
        self.seconds *= kept;
        if let Some(ended) = ended {
            self.ended += ended as f64;
            self.seconds += seconds;
        }
    }

    /// Whether the workers idle so often that the throughput is of another time: other load has
    /// ended, or the machine is faster now. `looks` is the share of an independent look that this
    /// one is.
    ///
    /// A sequential test of two shares of looks at which at most one request is in flight:
    /// [`OFTEN_IDLE`], against the most that a queue of this throughput has whatever its service
    /// times. In M/G/1 that share is `(1 - u) / E[exp(-rate * S)]`, at utilisation `u` and service time
    /// `S`, and by Jensen's inequality at most `(1 - u) exp(u)`.
    pub(super) fn is_refuted(&mut self, offered: Rate, in_flight: u64, looks: f64) -> bool {
        let used = self.throughput().map_or(0.0, |most| offered.get() / most);
        let expected = ((1.0 - used) * used.exp()).max(LEAST_IDLE);
        // Too little is offered for a difference, or nothing is known.
        if expected > OFTEN_IDLE / 2.0 {
            return false;
        }
        let is_idle = in_flight <= 1;
        let ratio = match is_idle {
            true => OFTEN_IDLE / expected,
            false => (1.0 - OFTEN_IDLE) / (1.0 - expected),
        };
        self.idle = (self.idle + ratio.ln() * looks.min(1.0)).max(0.0);
        self.idle >= CLEAR
    }

    /// One standard error above the mean, that of exponential service times: an upper bound.
    pub(super) fn throughput(&self) -> Option<f64> {
        (self.seconds >= LEAST_S).then(|| (self.ended + self.ended.sqrt()) / self.seconds)
    }
}
