//! The run that a document is of.

use super::tally::TrialTally;
use plimsoll_model::{
    CopiesFindings, CopiesPlan, CopiesWorkload, Findings, ImportedTable, Plan, Provenance,
    Requirement, RunEnd, Workload,
};
use std::path::Path;

/// All that a document of a run is made from, but the picture. `P` is the plan,
/// with secrets hidden, and `F` the findings of its experiment.
#[derive(Debug, Clone)]
pub struct Report<'a, P = Plan, F = Findings> {
    /// The name of the experiment: its command, and the kind of its JSON.
    pub experiment: &'static str,
    /// What is under test, in a few words, with secrets hidden.
    pub workload: String,
    pub findings: &'a F,
    pub plan: &'a P,
    pub seed: u64,
    pub provenance: &'a Provenance,
    /// What the run needs of the machine, and what of it is there.
    pub requirements: &'a [Requirement],
    pub record: RecordFacts<'a>,
}

#[derive(Debug, Clone)]
pub struct RecordFacts<'a> {
    pub file: &'a Path,
    /// When it was made, in milliseconds since 1970.
    pub created_unix_ms: u64,
    /// How its run ended; `None` if it was killed, or still goes on.
    pub ended: Option<&'a RunEnd>,
    /// How many trials there are, of all phases, and how many are invalid.
    pub trials: TrialTally,
    /// With secrets hidden; empty if it cannot be shown.
    pub command_line: &'a [String],
}

impl<'a> Report<'a> {
    pub(crate) fn table(&self) -> Option<&'a ImportedTable> {
        match &self.plan.workload {
            Workload::Imported(table) => Some(table),
            Workload::Hash(_) | Workload::Http(_) | Workload::Command(_) => None,
        }
    }

    pub(crate) fn is_imported(&self) -> bool {
        self.table().is_some()
    }
}

impl<'a> Report<'a, CopiesPlan, CopiesFindings> {
    pub(crate) fn table(&self) -> Option<&'a ImportedTable> {
        match &self.plan.workload {
            CopiesWorkload::Imported(table) => Some(table),
            CopiesWorkload::Copies(_) => None,
        }
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
    /// A run in which `order_of` are visited in an order that the seed decides.
    pub(crate) fn of<P, F>(report: &Report<'a, P, F>, order_of: &'static str) -> Run<'a> {
        Run {
            resume: Some(report.experiment),
            order_of: Some(order_of),
            ..Run::imported(report)
        }
    }

    pub(crate) fn imported<P, F>(report: &Report<'a, P, F>) -> Run<'a> {
        Run {
            provenance: report.provenance,
            requirements: report.requirements,
            record: report.record.clone(),
            resume: None,
            order_of: None,
            seed: report.seed,
        }
    }
}

pub(crate) fn file_name(record: &Path) -> String {
    let stem = record.file_stem();
    let stem = stem.map_or_else(|| "findings".into(), |stem| stem.to_string_lossy());
    format!("{stem}.json")
}

/// Where figures come from: a record, as it was named, and its plan.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a Path,
    pub plan: &'a Plan,
}

impl Source<'_> {
    pub(crate) fn workload(&self) -> String {
        self.plan.workload.to_string()
    }

    pub(crate) fn file(&self) -> String {
        self.file.to_string_lossy().into_owned()
    }
}
