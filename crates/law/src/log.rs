//! The decision log and its replay.
//!
//! A log has one JSON entry per line. A `Begin` entry states the law and its
//! state; each following entry states a sample and the decision. A law whose
//! parameters change (for instance the headroom), and a log continued in a new
//! file, write a new `Begin`. The state is not on every line: the replay
//! derives it from the samples.

#[cfg(test)]
mod tests;

use crate::{Action, Decision, Law, Reason, Sample, State};
use plimsoll_model::safe_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// The first difference between a log and its replay, or why it cannot be
/// replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Difference {
    #[error("line {line} of the log is not an entry ({why}); the decisions before it are the same")]
    Unreadable {
        /// Counted from 1.
        line: usize,
        why: String,
    },
    #[error(
        "line {line} of the log is a decision, but no line before it states the law; give the complete log"
    )]
    NoLaw { line: usize },
    #[error(
        "line {line} of the log, at {:.3} s, says '{} because {}', but this version decides '{} because {}'",
        .sample.at.as_secs_f64(), .logged.0, .logged.1, .replayed.0, .replayed.1
    )]
    Decides {
        line: usize,
        sample: Box<Sample>,
        logged: Box<(Action, Reason)>,
        replayed: Box<(Action, Reason)>,
    },
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
    let mut current: Option<(Law, State)> = None;
    let mut decisions = 0;
    for (i, text) in lines.into_iter().enumerate() {
        let (line, text) = (i + 1, text.as_ref());
        if text.trim().is_empty() {
            continue;
        }
        let entry = serde_json::from_str(text).map_err(|e| Difference::Unreadable {
            line,
            why: e.to_string(),
        })?;
        match entry {
            Entry::Begin { law, state } => current = Some((law, state)),
            Entry::Decision {
                sample,
                action,
                reason,
            } => {
                let (law, state) = current.as_mut().ok_or(Difference::NoLaw { line })?;
                let again = law.decide(state, &sample);
                if (again.action, &again.reason) != (action, &reason) {
                    return Err(Difference::Decides {
                        line,
                        sample: Box::new(sample),
                        logged: Box::new((action, reason)),
                        replayed: Box::new((again.action, again.reason)),
                    });
                }
                *state = again.state;
                decisions += 1;
            }
        }
    }
    Ok(decisions)
}
