//! The run that a document is of.

use super::tally::TrialTally;
use crate::secrets;
use plimsoll_model::{Findings, Plan, Provenance, Requirement, RunEnd, Workload};
use std::path::Path;

/// All that is shown of a run: of a sweep, unless its findings are another's.
#[derive(Debug, Clone)]
pub struct Report<'a, F = Findings> {
    /// What was concluded.
    pub findings: &'a F,
    /// What was asked.
    pub plan: &'a Plan,
    /// What machine and what program it comes from.
    pub provenance: &'a Provenance,
    /// What the run needed of the machine.
    pub requirements: &'a [Requirement],
    /// The file that the trials are in.
    pub record: RecordFacts<'a>,
}

/// What a report says about the file that its trials are in.
#[derive(Debug, Clone)]
pub struct RecordFacts<'a> {
    /// The file, as it was named.
    pub file: &'a Path,
    /// When it was made, in milliseconds since 1970.
    pub created_unix_ms: u64,
    /// How its run ended; `None` if it was killed, or still goes on.
    pub ended: Option<&'a RunEnd>,
    /// How many trials there are, of all phases, and how many are invalid.
    pub trials: TrialTally,
    /// What was typed when the run was made.
    pub command_line: &'a [String],
}

impl Report<'_> {
    /// Whether this is a run of copies, which has no rates and no latencies.
    pub fn is_copies(&self) -> bool {
        matches!(self.plan.workload, Workload::Copies(_)) || !self.plan.copies.is_empty()
    }

    pub(crate) fn is_imported(&self) -> bool {
        matches!(self.plan.workload, Workload::Imported(_))
    }
}

impl<F> Report<'_, F> {
    /// What was under test, in a few words that hide secrets.
    pub(crate) fn workload(&self) -> String {
        secrets::hide(self.plan).workload.to_string()
    }
}

/// What the frame says of a run, whatever its findings are.
pub(crate) struct Run<'a> {
    pub(crate) provenance: &'a Provenance,
    pub(crate) requirements: &'a [Requirement],
    pub(crate) record: RecordFacts<'a>,
    /// The command that continues it; `None` if nothing was run.
    pub(crate) resume: Option<&'static str>,
    /// What is visited in the same order again with the same seed.
    pub(crate) order_of: Option<&'static str>,
    pub(crate) seed: u64,
}

impl<'a> Run<'a> {
    /// One that `command` makes, in which `order_of` are visited.
    pub(crate) fn of<F>(
        report: &Report<'a, F>,
        command: &'static str,
        order_of: &'static str,
    ) -> Run<'a> {
        Run {
            resume: Some(command),
            order_of: Some(order_of),
            ..Run::imported(report)
        }
    }

    pub(crate) fn imported<F>(report: &Report<'a, F>) -> Run<'a> {
        Run {
            provenance: report.provenance,
            requirements: report.requirements,
            record: report.record.clone(),
            resume: None,
            order_of: None,
            seed: report.plan.seed,
        }
    }
}

/// What the download of a record's findings is called.
pub(crate) fn file_name(record: &Path) -> String {
    let stem = record.file_stem();
    let stem = stem.map_or_else(|| "findings".into(), |stem| stem.to_string_lossy());
    format!("{stem}.json")
}
