//! resctl-demo's sideloader as a law.
//!
//! Source: `rd-agent/src/misc/sideloader.py` of
//! facebookexperimental/resctl-demo. In shares of the machine. `avg_T` is the
//! average over the last T, and 0 until T has passed, so that the law starts
//! overloaded. It decides once a second.
//!
//! ```text
//! cur_idle = min(avg_5s(idle), avg_1s(idle))     idle with iowait
//! cur_side = max(avg_5s(side), avg_1s(side))
//! share    = max(cur_side + cur_idle - headroom, floor)
//! margin   = max(avg_10s(side) + avg_10s(idle) - headroom, 0)
//! overload if margin < min_avail, or the memory pressure is over its limit
//!          -> frozen; entering it, hold = min(hold_base + hold, hold_max)
//! leaves overload when it has had no cause for longer than hold
//! not overloaded: hold falls by hold_decay per second
//! ```
//!
//! There are three differences. The original's *critical* state (swap, long
//! pressure) and a freeze of more than 30 s kill the sideload; no law here
//! kills, so both are a freeze. Its pressures are guards here: each guard over
//! its limit causes an overload. Its sum of all fields of /proc/stat counts
//! guest time twice; here it counts once.
//!
//! Missing input: the original ends with an exception and leaves the last quota
//! in force. So this law repeats its last decision and keeps its state.

#[cfg(test)]
mod tests;

use crate::law::Decided;
use crate::view::share;
use crate::{Action, Headroom, Missing, Reason, Sample};
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// resctl-demo's sideloader with its parameters; the defaults are
/// resctl-demo's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResctlDemo {
    /// Share that stays free. Default 20 %.
    #[serde(rename = "headroom_share")]
    pub headroom: Headroom,
    /// The long window of the share. Default 5 s.
    #[serde(rename = "headroom_window_ns", with = "plimsoll_model::Ns")]
    pub headroom_window: Duration,
    /// The short window of the share. Default 1 s, its interval.
    #[serde(rename = "short_window_ns", with = "plimsoll_model::Ns")]
    pub short_window: Duration,
    /// The minimum share while it runs. Default 5 %.
    #[serde(rename = "floor_share")]
    pub floor: Share,
    /// The margin below which it is overloaded. Default 10 %.
    #[serde(rename = "min_avail_share")]
    pub min_avail: Share,
    /// The window of the margin. Default 10 s.
    #[serde(rename = "overload_window_ns", with = "plimsoll_model::Ns")]
    pub overload_window: Duration,
    /// What an overload adds to the hold. Default 10 s.
    #[serde(rename = "hold_base_ns", with = "plimsoll_model::Ns")]
    pub hold_base: Duration,
    /// The maximum hold. Default 30 s.
    #[serde(rename = "hold_max_ns", with = "plimsoll_model::Ns")]
    pub hold_max: Duration,
    /// Decrease of the hold per second without overload. Default 0.5 s.
    #[serde(rename = "hold_decay_per_s_ns", with = "plimsoll_model::Ns")]
    pub hold_decay_per_s: Duration,
}

impl ResctlDemo {
    /// The default parameters with another headroom.
    pub fn new(headroom: Headroom) -> ResctlDemo {
        ResctlDemo {
            headroom,
            headroom_window: Duration::from_secs(5),
            short_window: Duration::from_secs(1),
            floor: share(0.05),
            min_avail: share(0.1),
            overload_window: Duration::from_secs(10),
            hold_base: Duration::from_secs(10),
            hold_max: Duration::from_secs(30),
            hold_decay_per_s: Duration::from_millis(500),
        }
    }
}

/// CPU time of one period, in seconds summed over the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
struct PeriodUse {
    /// How long it was.
    #[serde(rename = "period_ns", with = "plimsoll_model::Ns")]
    period: Duration,
    /// All time.
    #[serde(rename = "total_s")]
    total: f64,
    /// Idle time, iowait included.
    #[serde(rename = "idle_s")]
    idle: f64,
    /// The sideload's.
    #[serde(rename = "sideload_s")]
    sideload: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResctlState {
    /// The last periods, oldest first, as far back as the longest window.
    seen: Vec<PeriodUse>,
    /// How long the overload has had no cause; `None` without overload.
    #[serde(rename = "without_cause_ns", with = "plimsoll_model::OptionNs")]
    without_cause: Option<Duration>,
    #[serde(rename = "hold_ns", with = "plimsoll_model::Ns")]
    hold: Duration,
    last: Action,
}

impl Default for ResctlState {
    fn default() -> ResctlState {
        ResctlState {
            seen: Vec::new(),
            without_cause: None,
            hold: Duration::ZERO,
            last: Action::Frozen,
        }
    }
}

impl ResctlDemo {
    /// Decides by the formula in the module documentation.
    pub fn decide(&self, state: &ResctlState, sample: &Sample) -> Decided<ResctlState> {
        let mut state = state.clone();
        if let Err(missing) = self.push_period(&mut state.seen, sample) {
            let last = state.last;
            return (state, last, Reason::ignored(missing));
        }
        let reason = match self.overload(&state.seen, sample) {
            Some(cause) => {
                if state.without_cause.is_none() {
                    state.hold = state.hold.saturating_add(self.hold_base).min(self.hold_max);
                }
                state.without_cause = Some(Duration::ZERO);
                Some(cause)
            }
            None => self.hold_reason(&mut state, sample.period),
        };
        let (action, reason) = match reason {
            Some(reason) => (Action::Frozen, reason),
            None => {
                let decayed = self.hold_decay_per_s.as_secs_f64() * sample.period.as_secs_f64();
                let decayed = Duration::try_from_secs_f64(decayed).unwrap_or(Duration::MAX);
                state.hold = state.hold.saturating_sub(decayed);
                let share = self.share(&state.seen);
                (Action::Run { share }, Reason::Follows { share })
            }
        };
        state.last = action;
        (state, action, reason)
    }

    /// Appends the sample and drops periods beyond the longest window.
    fn push_period(&self, seen: &mut Vec<PeriodUse>, sample: &Sample) -> Result<(), Missing> {
        let machine = sample.machine.ok_or(Missing::Machine)?;
        let sideload = sample.sideload.ok_or(Missing::Sideload)?;
        let total = machine.total().0;
        if total.is_zero() {
            return Err(Missing::Stuck);
        }
        seen.push(PeriodUse {
            period: sample.period,
            total: total.as_secs_f64(),
            idle: (machine.idle + machine.iowait).0.as_secs_f64(),
            sideload: sideload.0.as_secs_f64(),
        });
        let longest = self.headroom_window.max(self.overload_window);
        let periods = periods_covering(seen, longest).unwrap_or(seen.len());
        seen.drain(..seen.len() - periods);
        Ok(())
    }

    fn overload(&self, seen: &[PeriodUse], sample: &Sample) -> Option<Reason> {
        let (idle, side) = averages(seen, self.overload_window);
        let margin = (side + idle - self.headroom.share().get()).max(0.0);
        if margin < self.min_avail.get() {
            let (margin, needed) = (share(margin), self.min_avail);
            return Some(Reason::Overload { margin, needed });
        }
        Reason::guard_over(sample)
    }

    /// Continues or ends an overload whose cause is gone.
    fn hold_reason(&self, state: &mut ResctlState, period: Duration) -> Option<Reason> {
        let without = state.without_cause?.saturating_add(period);
        if without > state.hold {
            state.without_cause = None;
            return None;
        }
        state.without_cause = Some(without);
        let remaining = state.hold - without;
        Some(Reason::Held { remaining })
    }

    fn share(&self, seen: &[PeriodUse]) -> Share {
        let long = averages(seen, self.headroom_window);
        let short = averages(seen, self.short_window);
        let (idle, side) = (long.0.min(short.0), long.1.max(short.1));
        let formula = side + idle - self.headroom.share().get();
        share(formula.max(self.floor.get()))
    }
}

/// How many of the last periods cover `window`; `None` if there are too few.
fn periods_covering(seen: &[PeriodUse], window: Duration) -> Option<usize> {
    let mut covered = Duration::ZERO;
    let last = seen.iter().rev().position(|seen| {
        covered += seen.period;
        covered >= window
    });
    last.map(|index| index + 1)
}

/// Average shares of idle and of the sideload over a window; 0 until it is
/// full.
fn averages(seen: &[PeriodUse], window: Duration) -> (f64, f64) {
    let Some(periods) = periods_covering(seen, window) else {
        return (0.0, 0.0);
    };
    let last = &seen[seen.len() - periods..];
    let sum = |of: fn(&PeriodUse) -> f64| last.iter().map(of).sum::<f64>();
    let share = |of| (sum(of) / sum(|s| s.total)).clamp(0.0, 1.0);
    (share(|s| s.idle), share(|s| s.sideload))
}
