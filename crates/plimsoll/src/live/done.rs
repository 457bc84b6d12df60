//! Phases of trials as the strip shows them.

use plimsoll_model::Phase;

/// A part of a run, as the strip of trials shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Idle,
    Calibration,
    Levels,
    Threads,
    Search,
    Confirmation,
}

impl Group {
    pub(crate) fn of(phase: Phase) -> Group {
        match phase {
            Phase::Idle => Group::Idle,
            Phase::Calibration => Group::Calibration,
            Phase::Level { .. } => Group::Levels,
            Phase::OneThreadPerCore | Phase::TwoThreadsPerCore => Group::Threads,
            Phase::Search => Group::Search,
            Phase::Confirmation => Group::Confirmation,
        }
    }

    /// In a word or two.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Idle => "idle",
            Group::Calibration => "calibration",
            Group::Levels => "settings",
            Group::Threads => "threads",
            Group::Search => "search",
            Group::Confirmation => "confirmation",
        }
    }
}
