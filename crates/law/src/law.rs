//! The laws behind one interface.

use crate::{
    Koordinator, KoordinatorState, Plimsoll, PlimsollState, Reason, ResctlDemo, ResctlState, Sample,
};
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the sideload may use until the next decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    Run {
        /// The upper limit, as a share of all CPUs that the sample counts.
        share: Share,
    },
    /// Stopped, with its memory kept. No action kills.
    Frozen,
}

impl Action {
    /// The share that the sideload may use; 0 when frozen.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum Law {
    Plimsoll(Plimsoll),
    ResctlDemo(ResctlDemo),
    Koordinator(Koordinator),
}

/// State of a law between two decisions; serializable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum State {
    Plimsoll(PlimsollState),
    ResctlDemo(ResctlState),
    Koordinator(KoordinatorState),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub state: State,
    pub action: Action,
    pub reason: Reason,
}

impl Law {
    /// The name in tables and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Plimsoll(_) => "plimsoll",
            Law::ResctlDemo(_) => "resctl_demo",
            Law::Koordinator(_) => "koordinator",
        }
    }

    pub fn start(&self) -> State {
        match self {
            Law::Plimsoll(_) => State::Plimsoll(PlimsollState::default()),
            Law::ResctlDemo(_) => State::ResctlDemo(ResctlState::default()),
            Law::Koordinator(_) => State::Koordinator(KoordinatorState::default()),
        }
    }

    /// Decides deterministically from its arguments. A state of another law is
    /// ignored: the law restarts from [`Law::start`].
    pub fn decide(&self, state: &State, sample: &Sample) -> Decision {
        match (self, state) {
            (Law::Plimsoll(law), State::Plimsoll(state)) => {
                Decision::of(law.decide(state, sample), State::Plimsoll)
            }
            (Law::ResctlDemo(law), State::ResctlDemo(state)) => {
                Decision::of(law.decide(state, sample), State::ResctlDemo)
            }
            (Law::Koordinator(law), State::Koordinator(state)) => {
                Decision::of(law.decide(state, sample), State::Koordinator)
            }
            (law, _) => law.decide(&law.start(), sample),
        }
    }
}

/// The next state of one of the laws, its action and its reason.
pub(crate) type Decided<S> = (S, Action, Reason);

impl Decision {
    fn of<S>((state, action, reason): Decided<S>, wrap: fn(S) -> State) -> Decision {
        Decision {
            state: wrap(state),
            action,
            reason,
        }
    }
}
