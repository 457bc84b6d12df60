//! How many trials there are and why some of them do not count.

use plimsoll_model::{Invalid, Verdict};

/// The kinds of reason, in the words of a report.
const REASONS: [&str; 3] = [
    "the hypervisor took CPU time",
    "other processes used CPU time",
    "the load generator was late",
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
            // A generator that was disturbed is late for that reason.
            let disturbed = reasons.iter().any(|r| !matches!(r, Invalid::Slip { .. }));
            for reason in reasons {
                if !(disturbed && matches!(reason, Invalid::Slip { .. })) {
                    self.by_reason[place(reason)] += 1;
                }
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
        Invalid::Slip { .. } => 2,
        Invalid::Steal { .. } => 0,
        Invalid::OtherLoad { .. } => 1,
    }
}
