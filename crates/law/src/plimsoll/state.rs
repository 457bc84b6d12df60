use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    Running {
        /// The share that it may use.
        share: Share,
        /// For how long.
        #[serde(rename = "ran_for_ns", with = "plimsoll_model::Ns")]
        ran_for: Duration,
    },
    Frozen {
        /// For how long.
        #[serde(rename = "frozen_for_ns", with = "plimsoll_model::Ns")]
        frozen_for: Duration,
    },
}

impl Mode {
    /// Frozen from now on.
    pub(super) const FROZEN: Mode = Mode::Frozen {
        frozen_for: Duration::ZERO,
    };
}

/// State of the project's law between two decisions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlimsollState {
    pub mode: Mode,
    /// How long no bound has been below the current share.
    #[serde(rename = "calm_ns", with = "plimsoll_model::Ns")]
    pub calm: Duration,
    /// Consecutive periods with a missing input.
    pub blind_periods: u32,
    /// Hold of the last freeze; zero before the first.
    #[serde(rename = "hold_ns", with = "plimsoll_model::Ns")]
    pub hold: Duration,
}

impl Default for PlimsollState {
    /// Fail-safe: frozen until the first settling time has passed.
    fn default() -> PlimsollState {
        PlimsollState {
            mode: Mode::FROZEN,
            calm: Duration::ZERO,
            blind_periods: 0,
            hold: Duration::ZERO,
        }
    }
}
