//! A record of a load line with its findings, as `compare` and `plan` need it.

use crate::failure::Failure;
use crate::registry;
use plimsoll_experiments::LoadLine;
use plimsoll_model::{Findings, Goal, Plan, Provenance, RunEnd, Trial, Workload};
use plimsoll_record::{MemoryBudget, Record};
use plimsoll_report::compare::Source;
use std::path::{Path, PathBuf};

/// A record of a load line with its findings.
pub(crate) struct LoadRecord {
    pub(crate) file: PathBuf,
    pub(crate) created_unix_ms: u64,
    /// Whether all trials of its plan were made.
    pub(crate) is_complete: bool,
    pub(crate) plan: Plan,
    pub(crate) provenance: Provenance,
    pub(crate) trials: Vec<Trial>,
    pub(crate) findings: Findings,
}

impl LoadRecord {
    /// Opens a record and derives its findings. `goals`, if any, replace its own.
    pub(crate) fn open(
        file: &Path,
        goals: &[Goal],
        budget: &mut MemoryBudget,
    ) -> Result<LoadRecord, Failure> {
        let record = Record::open_within(file, budget)?;
        let Some(LoadLine {
            plan,
            trials,
            findings,
        }) = (registry::of(&record)?.load_line)(&record, goals)?
        else {
            let (path, made_by) = (record.path().display(), record.experiment());
            return Err(Failure::Mistake(format!(
                "{path} is a record of plimsoll {made_by}, which has no capacity; name records of plimsoll sweep, or see this one with plimsoll report {path}"
            )));
        };
        Ok(LoadRecord {
            file: file.to_owned(),
            created_unix_ms: record.created_unix_ms(),
            is_complete: record.end() == Some(&RunEnd::Complete),
            provenance: record.provenance().clone(),
            findings,
            plan,
            trials,
        })
    }

    /// The CPUs that the service may use; `None` where they cannot be seen.
    pub(crate) fn cpus(&self) -> Option<u32> {
        plimsoll_study::picture::service_cpus(&self.plan, &self.trials)
    }

    /// What the machine is called: by its imported table, else by its host.
    pub(crate) fn name(&self) -> String {
        match &self.plan.workload {
            Workload::Imported(table) => table.name.clone(),
            _ => self
                .provenance
                .hostname
                .clone()
                .unwrap_or_else(|| self.stem()),
        }
    }

    /// The record's file without folder and extension.
    pub(crate) fn stem(&self) -> String {
        let stem = self.file.file_stem().unwrap_or(self.file.as_os_str());
        stem.to_string_lossy().into_owned()
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source {
            file: &self.file,
            plan: &self.plan,
        }
    }
}
