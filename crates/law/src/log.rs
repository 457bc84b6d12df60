//! The decision log and its replay.
//!
//! A log has one JSON entry per line. A `Begin` entry states the law and its
//! state; each following entry states a sample and the decision. A law whose
//! parameters change (for instance the headroom), and a log continued in a new
//! file, write a new `Begin`. The state is not on every line: the replay
//! derives it from the samples.

#[cfg(test)]
mod tests;

use crate::replay::{Difference, Logged, Step, replay_as};
use crate::{Action, Decision, Law, Reason, Sample, State};
use plimsoll_model::safe_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The law that decides from here on.
    Begin { law: Law, state: State },
    Decision {
        sample: Sample,
        action: Action,
        reason: Reason,
    },
}

impl Entry {
    pub fn of(sample: &Sample, decision: &Decision) -> Entry {
        Entry::Decision {
            sample: sample.clone(),
            action: decision.action,
            reason: decision.reason.clone(),
        }
    }

    /// The entry as JSON, without a line end.
    ///
    /// # Errors
    /// Those of `serde_json`; no entry is known to cause one.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| safe_json(&json))
    }
}

impl Logged for Entry {
    type Current = (Law, State);
    type Sample = Sample;
    type Decided = (Action, Reason);

    fn read(self) -> Step<Entry> {
        match self {
            Entry::Begin { law, state } => Step::Begin((law, state)),
            Entry::Decision {
                sample,
                action,
                reason,
            } => Step::Decision(sample, (action, reason)),
        }
    }

    fn decide((law, state): &mut (Law, State), sample: &Sample) -> (Action, Reason) {
        let again = law.decide(state, sample);
        *state = again.state;
        (again.action, again.reason)
    }

    fn at(sample: &Sample) -> Duration {
        sample.at
    }

    fn shown((action, reason): &(Action, Reason)) -> String {
        format!("{action} because {reason}")
    }
}

/// Replays the decisions of a log and returns their number. Empty lines are
/// skipped.
///
/// # Errors
/// [`Difference`] for the first line that cannot be parsed or is decided
/// differently.
///
/// ```
/// use plimsoll_law::{Difference, replay};
///
/// assert_eq!(replay([""; 0]), Ok(0));
/// assert!(matches!(replay(["half a li"]), Err(Difference::Unreadable { line: 1, .. })));
/// ```
pub fn replay(lines: impl IntoIterator<Item: AsRef<str>>) -> Result<usize, Difference> {
    replay_as::<Entry>(lines)
}
