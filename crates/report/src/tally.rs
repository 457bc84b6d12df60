//! How many trials there are and why some of them do not count.

use plimsoll_model::{Invalid, Verdict};

/// The kinds of reason, in the words of a report.
const REASONS: [&str; 3] = [
    "the load generator was late",
    "the hypervisor took CPU time",
    "other processes used CPU time",
];

/// Counts trials by what was said against them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialTally {
    all: u64,
    invalid: u64,
    by_reason: [u64; REASONS.len()],
}

impl TrialTally {
    /// Counts one trial.
    pub fn add(&mut self, verdict: &Verdict) {
        self.all += 1;
        if let Verdict::Invalid(reasons) = verdict {
            self.invalid += 1;
            for reason in reasons {
                self.by_reason[place(reason)] += 1;
            }
        }
    }

    /// All trials.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Those that do not count.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    /// Why most of them do not count; the first of those that tie.
    pub fn commonest_reason(&self) -> Option<&'static str> {
        let most = *self.by_reason.iter().max()?;
        let place = self.by_reason.iter().position(|n| *n == most && most > 0)?;
        Some(REASONS[place])
    }
}

fn place(reason: &Invalid) -> usize {
    match reason {
        Invalid::Slip { .. } => 0,
        Invalid::Steal { .. } => 1,
        Invalid::OtherLoad { .. } => 2,
    }
}
