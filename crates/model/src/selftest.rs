//! What a run against services of known behaviour came to.

use crate::{CapacityNote, Difference, Estimate, Goal, Invalid};
use schemars::JsonSchema;
use serde::Serialize;

/// All known answers of a self-test, and what was measured of each.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Selftest {
    /// Seeds the arrivals and the service times.
    pub seed: u64,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// One per service.
    pub answers: Vec<SelftestAnswer>,
    /// A/A: the service that was measured twice.
    pub repeat: SelftestRepeat,
}

/// A service that was measured twice, compared as `compare` does with a run of each.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SelftestRepeat {
    /// The second time against the first.
    pub difference: Difference,
    /// Missed where `compare` calls the two different; not measured where it has no
    /// interval; too wide where one of the two answers is.
    pub verdict: SelftestVerdict,
}

/// One service, its truth, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SelftestAnswer {
    /// What the service does.
    pub service: String,
    /// What is known of it, and what was found.
    #[serde(flatten)]
    pub known: KnownAnswer,
    /// How far the answer is from the truth, in percent of it; `None` without
    /// an answer.
    #[schemars(range(min = -100.0))]
    pub error_pct: Option<f64>,
    /// How far it may be, in percent.
    pub tolerance_pct: f64,
    /// How far the ends of its interval may be from the answer, in percent of
    /// it, for the answer to be more than luck.
    pub widest_pct: f64,
    /// Whether the truth was recovered.
    pub verdict: SelftestVerdict,
    /// Valid trials.
    pub trials: u32,
    /// Invalid trials.
    pub invalid_trials: u32,
    /// What a reader should know about it.
    pub notes: Vec<SelftestNote>,
}

/// What a reader should know about a known answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum SelftestNote {
    /// No valid trial of the calibration overloaded the service.
    NotSaturated,
    /// The goal was kept at the highest rate that was tried.
    NotReached,
    /// The longer trial at the lower end of the interval did not keep the goal.
    NotConfirmed,
    /// What there is to know about the capacity that was found.
    Capacity {
        /// What.
        note: CapacityNote,
    },
    /// Whether the 99.9th percentile shows the stall.
    Stall {
        /// Whether it does.
        shown: bool,
        /// That percentile, in microseconds.
        p999_us: f64,
    },
    /// Trials were invalid, and the truth was not recovered.
    InvalidTrials {
        /// How many.
        invalid: u32,
        /// Of how many.
        of: u32,
        /// Why the last of them is.
        last: Invalid,
    },
}

/// What was known, and what was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "quantity")]
pub enum KnownAnswer {
    /// The highest rate that keeps a goal.
    Capacity {
        /// The goal.
        goal: Goal,
        /// What it is by construction, in requests per second.
        truth_rps: f64,
        /// What the search found, in requests per second.
        answer_rps: Option<Estimate>,
        /// Whether a longer trial at the interval's lower end kept the goal;
        /// `None` where none was made there.
        confirmed: Option<bool>,
    },
    /// The throughput when there is always a request waiting.
    Saturation {
        /// What it is by construction, in requests per second.
        truth_rps: f64,
        /// What the calibration found, in requests per second.
        answer_rps: Option<Estimate>,
    },
    /// How long the service stalls, now and then.
    Stall {
        /// What it is by construction, in microseconds.
        truth_us: f64,
        /// The longest latency that was seen, in microseconds.
        answer_us: Option<Estimate>,
        /// The 99.9th percentile in microseconds, which is what people look at.
        p999_us: Option<f64>,
    },
}

impl KnownAnswer {
    pub fn answer(&self) -> Option<Estimate> {
        match self {
            KnownAnswer::Capacity { answer_rps, .. }
            | KnownAnswer::Saturation { answer_rps, .. } => *answer_rps,
            KnownAnswer::Stall { answer_us, .. } => *answer_us,
        }
    }

    /// What it is by construction, in the unit of the answer.
    pub fn truth(&self) -> f64 {
        match *self {
            KnownAnswer::Capacity { truth_rps, .. } | KnownAnswer::Saturation { truth_rps, .. } => {
                truth_rps
            }
            KnownAnswer::Stall { truth_us, .. } => truth_us,
        }
    }

    /// How far the answer is from the truth, in percent of the truth.
    pub fn error_pct(&self) -> Option<f64> {
        Some(100.0 * (self.answer()?.value / self.truth() - 1.0))
    }

    /// How far the further end of its interval is from the answer, in percent of
    /// the answer; `None` without both ends.
    pub fn reach_pct(&self) -> Option<f64> {
        let answer = self.answer()?;
        let (low, high) = answer.interval()?;
        let reach = (answer.value - low).max(high - answer.value);
        Some(100.0 * reach / answer.value)
    }

    /// Whether the interval holds the truth.
    pub fn is_held(&self) -> bool {
        self.answer()
            .is_some_and(|answer| answer.holds(self.truth()))
    }
}

/// Whether a known answer was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelftestVerdict {
    /// Within the tolerance, with an interval that shows it was no luck.
    Recovered,
    /// The interval is too wide: the answer may be near the truth by luck.
    TooWide,
    /// There is an answer, and it is too far off; or a stall does not show.
    Missed,
    /// The valid trials give no answer.
    NotMeasured,
}

impl Selftest {
    /// How many answers have this verdict.
    pub fn count(&self, verdict: SelftestVerdict) -> usize {
        let is = |a: &&SelftestAnswer| a.verdict == verdict;
        self.answers.iter().filter(is).count()
    }

    pub fn recovered(&self) -> usize {
        self.count(SelftestVerdict::Recovered)
    }

    pub fn is_passed(&self) -> bool {
        let repeated = self.repeat.verdict == SelftestVerdict::Recovered;
        repeated && self.recovered() == self.answers.len()
    }

    /// How far the worst answer is from its truth, in percent of it, upwards or
    /// downwards; `None` without any answer.
    pub fn largest_error_pct(&self) -> Option<f64> {
        let errors = self.answers.iter().filter_map(|a| a.error_pct);
        errors.map(f64::abs).reduce(f64::max)
    }
}
