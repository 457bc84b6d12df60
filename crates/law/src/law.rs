//! The laws as arms of one experiment.

use crate::{
    Koordinator, KoordinatorState, Plimsoll, PlimsollState, Reason, ResctlDemo, ResctlState, Sample,
};
use plimsoll_model::Share;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the sideload may use until the next decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// It runs, within a share of the machine.
    Run {
        /// The most it may use, of all the CPUs that the sample counts.
        #[serde(rename = "share")]
        share: Share,
    },
    /// It is stopped, and keeps its memory. Nothing is ever killed.
    Frozen,
}

impl Action {
    /// The share that the sideload may use; nothing when frozen.
    pub fn share(self) -> Share {
        match self {
            Action::Run { share } => share,
            Action::Frozen => Share::ZERO,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Run { share } => write!(f, "runs with {share}"),
            Action::Frozen => f.write_str("frozen"),
        }
    }
}

/// A law with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum Law {
    /// Ours.
    Plimsoll(Plimsoll),
    /// resctl-demo's sideloader.
    ResctlDemo(ResctlDemo),
    /// Koordinator's suppression of best-effort work, by quota.
    Koordinator(Koordinator),
}

/// What a law remembers between two decisions. It can be written down and
/// taken up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum State {
    /// Of [`Law::Plimsoll`].
    Plimsoll(PlimsollState),
    /// Of [`Law::ResctlDemo`].
    ResctlDemo(ResctlState),
    /// Of [`Law::Koordinator`].
    Koordinator(KoordinatorState),
}

/// What a law decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What it remembers.
    pub state: State,
    /// What the sideload may use.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

impl Law {
    /// The name by which tables and logs know it.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Plimsoll(_) => "plimsoll",
            Law::ResctlDemo(_) => "resctl_demo",
            Law::Koordinator(_) => "koordinator",
        }
    }

    /// What the law remembers before its first sample.
    pub fn start(&self) -> State {
        match self {
            Law::Plimsoll(_) => State::Plimsoll(PlimsollState::default()),
            Law::ResctlDemo(_) => State::ResctlDemo(ResctlState::default()),
            Law::Koordinator(_) => State::Koordinator(KoordinatorState::default()),
        }
    }

    /// What the sideload may use until the next decision, and why. The same
    /// arguments always give the same decision.
    ///
    /// A state of another law counts as none: the law begins as at its start.
    pub fn decide(&self, state: &State, sample: &Sample) -> Decision {
        match (self, state) {
            (Law::Plimsoll(law), State::Plimsoll(state)) => {
                let (state, action, reason) = law.decide(state, sample);
                decision(State::Plimsoll(state), action, reason)
            }
            (Law::ResctlDemo(law), State::ResctlDemo(state)) => {
                let (state, action, reason) = law.decide(state, sample);
                decision(State::ResctlDemo(state), action, reason)
            }
            (Law::Koordinator(law), State::Koordinator(state)) => {
                let (state, action, reason) = law.decide(state, sample);
                decision(State::Koordinator(state), action, reason)
            }
            (law, _) => law.decide(&law.start(), sample),
        }
    }
}

fn decision(state: State, action: Action, reason: Reason) -> Decision {
    Decision {
        state,
        action,
        reason,
    }
}
