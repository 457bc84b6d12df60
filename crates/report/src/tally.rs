//! How many trials there are and why some of them do not count.

use crate::number::for_count;
use plimsoll_model::{Invalid, MachineUse, Phase, Trial, Verdict};
use std::time::Duration;

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
    idle_invalid: Option<Option<usize>>,
    drawn: Duration,
    drawn_within: Duration,
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

    /// Notes the look at the machine without load, if that is what the trial
    /// is: the last one of several.
    pub fn add_idle(&mut self, trial: &Trial) {
        if trial.spec.phase == Phase::Idle {
            self.idle_invalid = match &trial.verdict {
                Verdict::Valid => None,
                Verdict::Invalid(reasons) => Some(reasons.first().map(place)),
            };
        }
    }

    /// Why the look at the machine without load does not count, as a clause;
    /// `None` if it does, or if there was none.
    pub(crate) fn idle_missing(&self) -> Option<&'static str> {
        let place = self.idle_invalid?;
        Some(place.map_or("it was disturbed", |place| REASONS[place]))
    }

    /// Adds what drawing took while a trial was measured.
    pub fn add_view(&mut self, machine: &MachineUse) {
        if let Some(view) = machine.view_cpu {
            self.drawn += view.0;
            self.drawn_within += machine.window;
        }
    }

    /// What drawing took while trials were measured, in percent of one CPU;
    /// `None` if nothing was drawn.
    pub(crate) fn view_pct(&self) -> Option<f64> {
        let within = self.drawn_within.as_secs_f64();
        (within > 0.0).then(|| 100.0 * self.drawn.as_secs_f64() / within)
    }

    /// All trials.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Those that do not count.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    /// How many count, in few words: `3 of 34 trials do not count, because …`.
    pub(crate) fn in_words(&self) -> String {
        let (all, invalid) = (self.all, self.invalid);
        let trials = for_count(all, "trial", "trials");
        let does = for_count(invalid, "does", "do");
        match (invalid, self.commonest_reason()) {
            (0, _) => format!("All {all} {trials} count"),
            (_, Some(why)) => {
                let often = for_count(invalid, "", "most often ");
                format!("{invalid} of {all} {trials} {does} not count, {often}because {why}")
            }
            _ => format!("{invalid} of {all} {trials} {does} not count"),
        }
    }

    /// Whether those that do not count are more than a few: one in five, so that
    /// whoever reads no further than the answer should know.
    pub(crate) fn are_many_invalid(&self) -> bool {
        self.invalid > 0 && 5 * self.invalid >= self.all
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
