//! The log of these decisions and its replay, as for the laws of a sideload
//! ([`crate::replay`]).

use super::{AwakeSample, AwakeState, Change, KeepAwake};
use plimsoll_model::{CpuSet, safe_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum AwakeEntry {
    /// The law that decides from here on.
    AwakeBegin { law: KeepAwake, state: AwakeState },
    /// What one sample led to.
    AwakeDecision {
        sample: AwakeSample,
        /// The CPUs to keep awake from here on.
        hold: CpuSet,
        /// What was held or released, and why; empty while all stays as it is.
        changes: Vec<Change>,
        /// Changes that wait for the bound on writes.
        #[serde(default)]
        deferred: u32,
    },
}

impl AwakeEntry {
    /// The entry as JSON, without a line end.
    ///
    /// # Errors
    /// Those of `serde_json`; no entry is known to cause one.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| safe_json(&json))
    }

    /// Whether a line begins a log of these decisions rather than of a sideload.
    pub fn begins(line: &str) -> bool {
        matches!(
            serde_json::from_str(line),
            Ok(AwakeEntry::AwakeBegin { .. })
        )
    }
}

/// The first difference between a log and its replay, or why it cannot be replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AwakeDifference {
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
        "line {line} of the log, at {:.3} s, holds the CPUs '{}' because [{}], but this version holds '{}' because [{}]",
        .sample.at.as_secs_f64(), .logged.0, sentences(&.logged.1), .replayed.0, sentences(&.replayed.1)
    )]
    Decides {
        line: usize,
        sample: Box<AwakeSample>,
        logged: Box<(CpuSet, Vec<Change>)>,
        replayed: Box<(CpuSet, Vec<Change>)>,
    },
}

fn sentences(changes: &[Change]) -> String {
    let all: Vec<String> = changes.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Replays the decisions of a log and returns their number. Empty lines are skipped.
///
/// # Errors
/// [`AwakeDifference`] for the first line that cannot be parsed or is decided
/// differently.
pub fn replay_awake(lines: impl IntoIterator<Item: AsRef<str>>) -> Result<usize, AwakeDifference> {
    let mut current: Option<(KeepAwake, AwakeState)> = None;
    let mut decisions = 0;
    for (i, text) in lines.into_iter().enumerate() {
        let (line, text) = (i + 1, text.as_ref());
        if text.trim().is_empty() {
            continue;
        }
        let entry = serde_json::from_str(text).map_err(|e| AwakeDifference::Unreadable {
            line,
            why: e.to_string(),
        })?;
        match entry {
            AwakeEntry::AwakeBegin { law, state } => current = Some((law, state)),
            AwakeEntry::AwakeDecision {
                sample,
                hold,
                changes,
                ..
            } => {
                let (law, state) = current.as_mut().ok_or(AwakeDifference::NoLaw { line })?;
                let again = law.decide(state, &sample);
                if (&again.hold, &again.changes) != (&hold, &changes) {
                    return Err(AwakeDifference::Decides {
                        line,
                        sample: Box::new(sample),
                        logged: Box::new((hold, changes)),
                        replayed: Box::new((again.hold, again.changes)),
                    });
                }
                *state = again.state;
                decisions += 1;
            }
        }
    }
    Ok(decisions)
}
