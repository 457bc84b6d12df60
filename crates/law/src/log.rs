//! The log of decisions, and its replay.
//!
//! A log is JSON, one entry a line. A line that begins states the law and what it
//! remembers; the lines after it state each sample and what was decided. A
//! law that is changed while it runs (another headroom), and a log that is taken up in
//! a new file, begin again. What a law remembers is not on each line, for it follows
//! from the samples; that is what the replay shows.

#[cfg(test)]
mod tests;

use crate::{Action, Decision, Law, Reason, Sample, State};
use serde::{Deserialize, Serialize};

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// From here on this law decides.
    Begin {
        /// The law with its parameters.
        law: Law,
        /// What it remembers.
        state: State,
    },
    /// A decision.
    Decision {
        /// What was seen.
        sample: Sample,
        /// What the sideload may use.
        action: Action,
        /// Why.
        reason: Reason,
    },
}

impl Entry {
    /// The line of a decision.
    pub fn of(sample: &Sample, decision: &Decision) -> Entry {
        Entry::Decision {
            sample: sample.clone(),
            action: decision.action,
            reason: decision.reason.clone(),
        }
    }

    /// The entry as a line, without its end.
    ///
    /// # Errors
    ///
    /// Those of `serde_json`; no entry is known that brings one about.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Where a log and its replay part, or why it cannot be replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Difference {
    /// A line is no entry.
    #[error(
        "line {line} of the log is no entry ({why}); the lines before it were decided the same"
    )]
    Unreadable {
        /// Counted from 1.
        line: usize,
        /// What the parser said.
        why: String,
    },
    /// A decision before any law.
    #[error(
        "line {line} of the log is a decision, but no line before it states the law; give the log from its beginning"
    )]
    NoLaw {
        /// Counted from 1.
        line: usize,
    },
    /// The replay decides otherwise.
    #[error(
        "line {line} of the log, at {:.3} s, says '{} because {}', but this version decides '{} because {}'",
        .sample.at.as_secs_f64(), .logged.0, .logged.1, .replayed.0, .replayed.1
    )]
    Decides {
        /// Counted from 1.
        line: usize,
        /// What was seen.
        sample: Box<Sample>,
        /// What the log says.
        logged: Box<(Action, Reason)>,
        /// What the law says now.
        replayed: Box<(Action, Reason)>,
    },
}

/// Decides a log's samples again and returns how many decisions were the same, which
/// is all of them. Empty lines are left out.
///
/// # Errors
///
/// [`Difference`] for the first line that cannot be read or is decided otherwise.
///
/// ```
/// use plimsoll_law::{Difference, replay};
///
/// assert_eq!(replay([]), Ok(0));
/// assert!(matches!(replay(["half a li"]), Err(Difference::Unreadable { line: 1, .. })));
/// ```
pub fn replay<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<usize, Difference> {
    let mut current: Option<(Law, State)> = None;
    let mut decisions = 0;
    for (i, text) in lines.into_iter().enumerate() {
        let line = i + 1;
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
