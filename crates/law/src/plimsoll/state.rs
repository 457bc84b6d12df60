//! What our law remembers between two decisions.

use plimsoll_model::Share;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Whether the sideload runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    /// It runs.
    Running {
        /// What it may use.
        #[serde(rename = "share")]
        share: Share,
        /// For how long it has run.
        #[serde(rename = "ran_for_ns", with = "plimsoll_model::ns")]
        ran_for: Duration,
    },
    /// It is frozen.
    Frozen {
        /// For how long it has been.
        #[serde(rename = "frozen_for_ns", with = "plimsoll_model::ns")]
        frozen_for: Duration,
    },
}

/// What our law remembers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlimsollState {
    /// Whether the sideload runs.
    pub mode: Mode,
    /// For how long nothing has asked for less than the sideload has.
    #[serde(rename = "calm_ns", with = "plimsoll_model::ns")]
    pub calm: Duration,
    /// How many periods in a row something was missing.
    pub blind_periods: u32,
    /// How long the last freeze was to hold; none before the first.
    #[serde(rename = "hold_ns", with = "plimsoll_model::ns")]
    pub hold: Duration,
}

impl Default for PlimsollState {
    /// Closed: frozen until the first calm time, with nothing to hold.
    fn default() -> PlimsollState {
        PlimsollState {
            mode: Mode::Frozen {
                frozen_for: Duration::ZERO,
            },
            calm: Duration::ZERO,
            blind_periods: 0,
            hold: Duration::ZERO,
        }
    }
}
