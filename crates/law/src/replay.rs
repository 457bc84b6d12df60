//! Replays a log: every decision is made again from its sample and compared.

use serde::de::DeserializeOwned;
use std::time::Duration;

/// An entry of a log of one kind of decisions.
pub(crate) trait Logged: DeserializeOwned {
    /// A law with its state.
    type Current;
    type Sample;
    type Decided: PartialEq;

    fn read(self) -> Step<Self>;

    /// Decides again, and moves the state on.
    fn decide(current: &mut Self::Current, sample: &Self::Sample) -> Self::Decided;

    fn at(sample: &Self::Sample) -> Duration;

    /// For messages.
    fn shown(decided: &Self::Decided) -> String;
}

pub(crate) enum Step<L: Logged> {
    Begin(L::Current),
    Decision(L::Sample, L::Decided),
}

/// The first difference between a log and its replay, or why it cannot be replayed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Difference {
    #[error(
        "line {line} of the log is not an entry ({why}){}",
        if *.same == 0 { "" } else { "; the decisions before it are the same" }
    )]
    Unreadable {
        /// Counted from 1.
        line: usize,
        /// The decisions before it, which are the same.
        same: usize,
        why: String,
    },
    #[error(
        "line {line} of the log is a decision, but no line before it states the law; give the complete log"
    )]
    NoLaw { line: usize },
    #[error(
        "line {line} of the log, at {:.3} s, says '{logged}', but this version decides '{replayed}'",
        .at.as_secs_f64()
    )]
    Decides {
        line: usize,
        /// The time of the sample.
        at: Duration,
        logged: String,
        replayed: String,
    },
}

/// Replays the decisions of a log and returns their number. Empty lines are skipped.
pub(crate) fn replay_as<L: Logged>(
    lines: impl IntoIterator<Item: AsRef<str>>,
) -> Result<usize, Difference> {
    let mut current: Option<L::Current> = None;
    let mut decisions = 0;
    for (i, text) in lines.into_iter().enumerate() {
        let (line, text) = (i + 1, text.as_ref());
        if text.trim().is_empty() {
            continue;
        }
        let entry: L = serde_json::from_str(text).map_err(|e| Difference::Unreadable {
            line,
            same: decisions,
            why: e.to_string(),
        })?;
        match entry.read() {
            Step::Begin(begun) => current = Some(begun),
            Step::Decision(sample, logged) => {
                let current = current.as_mut().ok_or(Difference::NoLaw { line })?;
                let replayed = L::decide(current, &sample);
                if replayed != logged {
                    return Err(Difference::Decides {
                        line,
                        at: L::at(&sample),
                        logged: L::shown(&logged),
                        replayed: L::shown(&replayed),
                    });
                }
                decisions += 1;
            }
        }
    }
    Ok(decisions)
}
