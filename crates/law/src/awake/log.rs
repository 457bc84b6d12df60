//! The log of these decisions and its replay, as for the laws of a sideload
//! ([`crate::replay()`]).

use super::{AwakeSample, AwakeState, Change, KeepAwake};
use crate::replay::{Difference, Logged, Step, replay_as};
use plimsoll_model::{CpuSet, safe_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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

impl Logged for AwakeEntry {
    type Current = (KeepAwake, AwakeState);
    type Sample = AwakeSample;
    type Decided = (CpuSet, Vec<Change>);

    fn read(self) -> Step<AwakeEntry> {
        match self {
            AwakeEntry::AwakeBegin { law, state } => Step::Begin((law, state)),
            AwakeEntry::AwakeDecision {
                sample,
                hold,
                changes,
                ..
            } => Step::Decision(sample, (hold, changes)),
        }
    }

    fn decide(
        (law, state): &mut (KeepAwake, AwakeState),
        sample: &AwakeSample,
    ) -> (CpuSet, Vec<Change>) {
        let again = law.decide(state, sample);
        *state = again.state;
        (again.hold, again.changes)
    }

    fn at(sample: &AwakeSample) -> Duration {
        sample.at
    }

    fn shown((hold, changes): &(CpuSet, Vec<Change>)) -> String {
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        format!("holds the CPUs '{hold}' because [{}]", changes.join("; "))
    }
}

/// Replays the decisions of a log and returns their number. Empty lines are skipped.
///
/// # Errors
/// [`Difference`] for the first line that cannot be parsed or is decided
/// differently.
pub fn replay_awake(lines: impl IntoIterator<Item: AsRef<str>>) -> Result<usize, Difference> {
    replay_as::<AwakeEntry>(lines)
}
