//! Our law: shrink at once, grow slowly, freeze with hold.
//!
//! All in shares of the machine; `h` is the headroom.
//!
//! ```text
//! room    = sideload + free - h                        what it could use so that h stays free
//! room   *= free / (full_below * h)   if that is < 1   a full machine hides what the service needs
//! bound   = the least of  room,
//!                         guard_keeps * its use, if a guard is over,
//!                         what it has, if an input is missing (nothing, if missing for long)
//! bound < floor            -> frozen, for a hold that doubles with each relapse
//! bound < what it has      -> bound, at once
//! room >= it + band, calm  -> grows by growth_per_s * period, to room at most
//! ```
//!
//! `room` alone lets go too slowly of a machine that is full: with weights that
//! give the sideload half of it, `room` falls by `h` per period only, because
//! what the service would take is not seen. Hence the second line: with nothing
//! idle, nothing is given. It begins at half of the headroom, so that noise
//! about the full headroom is met by `room` itself.
//!
//! Idle is counted without interrupts and steal. What a service lacks while other CPUs
//! are idle (it has one thread, or is bound to one CPU) is not seen by any of this: that
//! is what guards are for. Where an input is missing the law
//! is closed: it may shrink, not grow, and after `blind_periods` it freezes.

mod bounds;
mod parameters;
mod state;
#[cfg(test)]
mod tests;

pub use parameters::{ParameterError, Parameters};
pub use state::{Mode, PlimsollState};

use crate::view::share;
use crate::{Action, Headroom, Reason, Sample};
use bounds::Seen;
use plimsoll_model::Share;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest time that one step of growth counts: after a pause (a machine that
/// slept) the sideload does not make up for it at once.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// Our law, with a headroom and parameters that are within their ranges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Given")]
pub struct Plimsoll {
    #[serde(rename = "headroom_share")]
    headroom: Headroom,
    parameters: Parameters,
}

/// A law as it was written down, before its parameters are checked.
#[derive(Deserialize)]
struct Given {
    #[serde(rename = "headroom_share")]
    headroom: Headroom,
    parameters: Parameters,
}

impl TryFrom<Given> for Plimsoll {
    type Error = ParameterError;
    fn try_from(given: Given) -> Result<Plimsoll, ParameterError> {
        Plimsoll::with(given.headroom, given.parameters)
    }
}

impl Plimsoll {
    /// The law with the default [`Parameters`].
    pub fn new(headroom: Headroom) -> Plimsoll {
        Plimsoll {
            headroom,
            parameters: Parameters::default(),
        }
    }

    /// The law with other parameters.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] for the first parameter outside its range, and where
    /// headroom, floor and band leave no room in which it would ever run.
    pub fn with(headroom: Headroom, parameters: Parameters) -> Result<Plimsoll, ParameterError> {
        parameters.check()?;
        let most = 1.0 - parameters.floor.get() - parameters.band.get();
        // A hair of tolerance, because sums of decimal shares are not exact.
        if headroom.share().get() > most + 1e-9 {
            let allowed = format!(
                "at most {:.0} % where the sideload has no less than {} when it runs",
                (100.0 * most).floor(),
                parameters.floor
            );
            return Err(parameters::refused(
                "headroom",
                allowed,
                headroom.to_string(),
            ));
        }
        Ok(Plimsoll {
            headroom,
            parameters,
        })
    }

    /// The headroom that it keeps.
    pub fn headroom(&self) -> Headroom {
        self.headroom
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The most that one decision adds after a period of this length.
    pub fn step(&self, period: Duration) -> Share {
        share(self.parameters.growth_per_s.get() * period.min(LONGEST_STEP).as_secs_f64())
    }

    /// What the sideload may use, and why: see the module's text.
    pub fn decide(
        &self,
        state: &PlimsollState,
        sample: &Sample,
    ) -> (PlimsollState, Action, Reason) {
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
    ) -> (PlimsollState, Action, Reason) {
        let seen = self.see(state, has.get(), sample);
        let ran_for = ran_for.saturating_add(sample.period);
        let next = |new: f64, calm: Duration, reason: Reason| {
            let share = share(new);
            let state = PlimsollState {
                mode: Mode::Running { share, ran_for },
                calm,
                blind_periods: seen.blind_periods,
                hold: state.hold,
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
        let shown = share(room);
        if room < has.get() + p.band.get() {
            return next(has.get(), calm, Reason::Steady { room: shown });
        }
        if calm < p.settle {
            let remaining = p.settle - calm;
            let reason = Reason::Settling {
                room: shown,
                remaining,
            };
            return next(has.get(), calm, reason);
        }
        let grown = (has.get() + self.step(sample.period).get()).min(room);
        let reason = Reason::Grows {
            room: shown,
            share: share(grown),
        };
        next(grown, calm, reason)
    }

    /// A relapse within [`Parameters::hold_max`] of the last thaw doubles the hold.
    fn freeze(
        &self,
        state: &PlimsollState,
        ran_for: Duration,
        seen: Seen,
    ) -> (PlimsollState, Action, Reason) {
        let p = &self.parameters;
        let doubled = state.hold.saturating_mul(2);
        let hold = if ran_for < p.hold_max {
            doubled.clamp(p.hold_min, p.hold_max)
        } else {
            p.hold_min
        };
        let state = PlimsollState {
            mode: Mode::Frozen {
                frozen_for: Duration::ZERO,
            },
            calm: Duration::ZERO,
            blind_periods: seen.blind_periods,
            hold,
        };
        (state, Action::Frozen, seen.bound.reason)
    }

    /// The cause must be gone for the settling time, not for the whole hold: a
    /// burst of the service now and then must not keep the sideload frozen for ever.
    fn frozen(
        &self,
        state: &PlimsollState,
        frozen_for: Duration,
        sample: &Sample,
    ) -> (PlimsollState, Action, Reason) {
        let p = &self.parameters;
        let seen = self.see(state, 0.0, sample);
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
            hold: state.hold,
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
