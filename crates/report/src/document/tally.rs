//! How many trials there are, and why some of them are invalid.

use crate::number::for_count;
use plimsoll_model::{CpusOf, InvalidKind};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrialTally {
    pub all: u64,
    pub invalid: u64,
    /// Why most of those are.
    pub commonest: Option<InvalidKind>,
    /// Why the last trial without load is invalid; `None` if it is valid, or if
    /// there is none.
    pub idle_invalid: Option<InvalidKind>,
    /// What drawing the live view took while trials were measured, in percent of
    /// one CPU; `None` if nothing was drawn.
    pub view_pct: Option<f64>,
    /// The most of some CPUs' time, in percent, that was used in a valid trial by
    /// nobody knows what; `None` where the kernel measures that of all tasks.
    pub unseen: Option<(f64, CpusOf)>,
}

pub fn reason(kind: InvalidKind) -> &'static str {
    match kind {
        InvalidKind::Steal => "the hypervisor took CPU time",
        InvalidKind::OtherLoad => "other processes used CPU time",
        InvalidKind::Slip => "the load generator was late",
    }
}

/// When to run it again after invalid trials, most of them for this reason: `when the machine is
/// quieter, or allow more with --max-steal`.
pub fn retry_when(commonest: Option<InvalidKind>) -> String {
    let or = commonest.map(|kind| format!(", or allow more with {}", kind.flag()));
    format!("when the machine is quieter{}", or.unwrap_or_default())
}

impl TrialTally {
    /// `3 of 34 trials are invalid, most often because …`.
    pub(crate) fn in_words(&self) -> String {
        let (all, invalid) = (self.all, self.invalid);
        let trials = for_count(all, "trial", "trials");
        let are = for_count(invalid, "is", "are");
        match (invalid, self.commonest) {
            (0, _) if all == 1 => "The only trial is valid".to_owned(),
            (0, _) => format!("All {all} {trials} are valid"),
            (_, Some(why)) => {
                let often = for_count(invalid, "", "most often ");
                let why = reason(why);
                format!("{invalid} of {all} {trials} {are} invalid, {often}because {why}")
            }
            _ => format!("{invalid} of {all} {trials} {are} invalid"),
        }
    }

    /// Whether the invalid ones are more than a few: one in five, so that a
    /// reader of the answer alone should know.
    pub(super) fn are_many_invalid(&self) -> bool {
        self.invalid > 0 && 5 * self.invalid >= self.all
    }

    pub(super) fn asks_for_quiet(&self) -> bool {
        2 * self.invalid > self.all
    }
}
