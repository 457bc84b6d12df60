//! The project's own law: shrink at once, grow slowly, freeze with hysteresis.
//!
//! All quantities are shares of the machine; `h` is the headroom.
//!
//! ```text
//! available  = sideload + free - h                      what it may use while h stays free
//! available *= free / (full_below * h)  if that is < 1  a full machine hides the service's demand
//! bound      = min(available,
//!                  guard_keeps * its use   if a guard is over its limit,
//!                  its current share       if an input is missing (0 if missing for long))
//! bound < floor                      -> frozen, for a hold that doubles with each relapse
//! bound < current share              -> bound, at once
//! available >= current + band, calm  -> grows by growth_per_s * period, at most to available
//! ```
//!
//! Without the second line the law releases a full machine too slowly: with
//! weights that give the sideload half of it, `available` falls by only `h` per
//! period, because the service's unmet demand is not visible. The factor starts
//! at `full_below` (half) of the headroom, so that noise near the full headroom
//! does not trigger it.
//!
//! Interrupts and steal are not idle time. The law does not detect a service
//! that lacks CPU while other CPUs are idle (it has one thread, or is pinned to
//! one CPU); guards do. With a missing input the law may shrink but not grow,
//! and after `blind_periods` it freezes.

mod bounds;
mod parameters;
mod state;
#[cfg(test)]
mod tests;

pub use parameters::{ParameterError, Parameters};
pub use state::{Mode, PlimsollState};

use crate::law::Decided;
use crate::view::share;
use crate::{Action, Headroom, Reason, Sample};
use bounds::Evaluation;
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Upper bound on the period that counts for growth: after a pause (a suspended
/// machine) the sideload does not catch up at once.
const MAX_STEP_PERIOD: Duration = Duration::from_secs(1);

/// The law with a headroom and checked parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Unchecked")]
pub struct Plimsoll {
    #[serde(rename = "headroom_share")]
    headroom: Headroom,
    parameters: Parameters,
}

/// Deserialized law, before its parameters are checked.
#[derive(Deserialize, JsonSchema)]
struct Unchecked {
    #[serde(rename = "headroom_share")]
    headroom: Headroom,
    parameters: Parameters,
}

impl TryFrom<Unchecked> for Plimsoll {
    type Error = ParameterError;
    fn try_from(given: Unchecked) -> Result<Plimsoll, ParameterError> {
        Plimsoll::with(given.headroom, given.parameters)
    }
}

impl Plimsoll {
    pub fn new(headroom: Headroom) -> Plimsoll {
        Plimsoll {
            headroom,
            parameters: Parameters::default(),
        }
    }

    /// # Errors
    /// [`ParameterError`] for the first parameter out of range, or if headroom,
    /// floor and band leave no share in which the sideload could ever run.
    pub fn with(headroom: Headroom, parameters: Parameters) -> Result<Plimsoll, ParameterError> {
        parameters.check()?;
        let most = 1.0 - parameters.floor.get() - parameters.band.get();
        // Tolerance, because sums of decimal shares are not exact.
        if headroom.share().get() > most + 1e-9 {
            let allowed = format!(
                "at most {:.0} % for a sideload that runs with at least {}",
                (100.0 * most).floor(),
                parameters.floor
            );
            let given = headroom.to_string();
            return Err(parameters::out_of_range("headroom", allowed, given));
        }
        Ok(Plimsoll {
            headroom,
            parameters,
        })
    }

    pub fn headroom(&self) -> Headroom {
        self.headroom
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The maximum growth of one decision after a period of this length.
    pub fn step(&self, period: Duration) -> Share {
        share(self.parameters.growth_per_s.get() * period.min(MAX_STEP_PERIOD).as_secs_f64())
    }

    /// Decides by the formula in the module documentation.
    pub fn decide(&self, state: &PlimsollState, sample: &Sample) -> Decided<PlimsollState> {
        match state.mode {
            Mode::Running { share, ran_for } => self.running(state, share, ran_for, sample),
            Mode::Frozen { frozen_for } => self.frozen(state, frozen_for, sample),
        }
    }

    fn running(
        &self,
        state: &PlimsollState,
        has: Share,
        ran_for: Duration,
        sample: &Sample,
    ) -> Decided<PlimsollState> {
        let seen = self.evaluate(state, has.get(), sample);
        let ran_for = ran_for.saturating_add(sample.period);
        let next = |new: f64, calm: Duration, reason: Reason| {
            let share = share(new);
            let state = PlimsollState {
                mode: Mode::Running { share, ran_for },
                calm,
                blind_periods: seen.blind_periods,
                ..*state
            };
            (state, Action::Run { share }, reason)
        };
        let p = &self.parameters;
        if seen.bound.share < p.floor.get() {
            return self.freeze(state, ran_for, seen);
        }
        if seen.bound.share < has.get() {
            return next(seen.bound.share, Duration::ZERO, seen.bound.reason);
        }
        let Some(room) = seen.room.filter(|_| seen.blind_periods == 0) else {
            return next(has.get(), Duration::ZERO, seen.bound.reason);
        };
        let calm = state.calm.saturating_add(sample.period);
        let grown = (has.get() + self.step(sample.period).get()).min(room);
        let grows = room >= has.get() + p.band.get();
        let (room, share) = (share(room), share(grown));
        if !grows {
            return next(has.get(), calm, Reason::Steady { room });
        }
        if calm < p.settle {
            let remaining = p.settle - calm;
            return next(has.get(), calm, Reason::Settling { room, remaining });
        }
        next(grown, calm, Reason::Grows { room, share })
    }

    /// A relapse within [`Parameters::hold_max`] of the last thaw doubles the
    /// hold.
    fn freeze(
        &self,
        state: &PlimsollState,
        ran_for: Duration,
        seen: Evaluation,
    ) -> Decided<PlimsollState> {
        let p = &self.parameters;
        let hold = match ran_for < p.hold_max {
            true => state.hold.saturating_mul(2).clamp(p.hold_min, p.hold_max),
            false => p.hold_min,
        };
        let state = PlimsollState {
            mode: Mode::FROZEN,
            calm: Duration::ZERO,
            blind_periods: seen.blind_periods,
            hold,
        };
        (state, Action::Frozen, seen.bound.reason)
    }

    /// The cause must be absent for the settling time, not for the whole hold:
    /// occasional bursts of the service must not keep the sideload frozen
    /// forever.
    fn frozen(
        &self,
        state: &PlimsollState,
        frozen_for: Duration,
        sample: &Sample,
    ) -> Decided<PlimsollState> {
        let p = &self.parameters;
        let seen = self.evaluate(state, 0.0, sample);
        let frozen_for = frozen_for.saturating_add(sample.period);
        let thaws_at = p.floor.get() + p.band.get();
        let room = seen.room.filter(|_| seen.bound.share >= thaws_at);
        let calm = match room {
            Some(_) => state.calm.saturating_add(sample.period),
            None => Duration::ZERO,
        };
        let stays = PlimsollState {
            mode: Mode::Frozen { frozen_for },
            calm,
            blind_periods: seen.blind_periods,
            ..*state
        };
        let Some(room) = room else {
            return (stays, Action::Frozen, seen.bound.reason);
        };
        let remaining = state
            .hold
            .saturating_sub(frozen_for)
            .max(p.settle.saturating_sub(calm));
        if !remaining.is_zero() {
            return (stays, Action::Frozen, Reason::Held { remaining });
        }
        let runs = PlimsollState {
            mode: Mode::Running {
                share: p.floor,
                ran_for: Duration::ZERO,
            },
            calm: Duration::ZERO,
            ..stays
        };
        let reason = Reason::Thaws { room: share(room) };
        (runs, Action::Run { share: p.floor }, reason)
    }
}
