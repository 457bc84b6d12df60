//! What has to hold for a run to pass: `capacity>5000`, `p99<10ms at 2000`, `errors<1%`.

use crate::{Goal, Rate};
use std::fmt;
use std::str::FromStr;

/// A condition on the findings of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// The rate that keeps all goals of the run is above this one.
    Capacity { above: Rate },
    /// A goal is kept at a rate; `None` for the only one of a run.
    Kept { goal: Goal, at: Option<Rate> },
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Capacity { above } => write!(f, "capacity>{}", above.get()),
            Condition::Kept { goal, at: None } => goal.fmt(f),
            Condition::Kept { goal, at: Some(at) } => write!(f, "{goal} at {}", at.get()),
        }
    }
}

/// Why a condition could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a condition; write it like 'capacity>5000', 'p99<10ms at 2000', 'p99<10ms' or 'errors<1%'"
)]
pub struct ConditionError(String);

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let fail = || ConditionError(text.to_owned());
        let rate = |text: &str| {
            let number: f64 = text.trim().trim_end_matches("/s").parse().ok()?;
            Rate::per_second(number).filter(|rate| rate.get() > 0.0)
        };
        if let Some(rest) = text.trim().strip_prefix("capacity") {
            let limit = rest
                .trim()
                .strip_prefix(">=")
                .or(rest.trim().strip_prefix('>'));
            let above = limit.and_then(rate).ok_or_else(fail)?;
            return Ok(Condition::Capacity { above });
        }
        let (goal, at) = match text.split_once(" at ") {
            Some((goal, at)) => (goal, Some(rate(at).ok_or_else(fail)?)),
            None => (text, None),
        };
        let goal: Goal = goal.parse().map_err(|_| fail())?;
        Ok(Condition::Kept { goal, at })
    }
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Its opposite is excluded, at 95 %.
    Yes,
    /// The figures allow both.
    Undecided,
    /// It is excluded, at 95 %.
    No,
}

/// What the findings say about a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub holds: Holds,
    /// The figures that decide it, or why nothing does.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written() {
        for (text, written) in [
            ("capacity>5000", "capacity>5000"),
            ("capacity >= 5000/s", "capacity>5000"),
            ("p99<10ms at 2000", "p99<10ms at 2000"),
            ("errors<1%", "errors<1%"),
            ("p99.9 < 20ms at 12.5", "p99.9<20ms at 12.5"),
        ] {
            let read: Condition = text.parse().unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(written.parse(), Ok(read));
        }
        for bad in [
            "",
            "capacity",
            "capacity<5",
            "capacity>-1",
            "capacity>NaN",
            "p99",
            "p99<1ms at x",
            "no worse",
        ] {
            let why = bad.parse::<Condition>().unwrap_err().to_string();
            assert!(why.contains("capacity>5000"), "{why}");
        }
    }
}
