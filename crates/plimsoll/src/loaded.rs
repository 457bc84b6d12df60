//! A record with what was concluded from it.

use crate::failure::Failure;
use crate::registry;
use plimsoll_experiments::LoadLine;
use plimsoll_model::{Findings, Goal, Plan, Provenance, Trial, Workload};
use plimsoll_record::Record;
use plimsoll_report::compare::Source;
use std::path::{Path, PathBuf};

/// A record with what was concluded from it.
pub(crate) struct Loaded {
    pub(crate) file: PathBuf,
    pub(crate) plan: Plan,
    pub(crate) provenance: Provenance,
    pub(crate) trials: Vec<Trial>,
    pub(crate) findings: Findings,
}

impl Loaded {
    /// Opens a record and makes its findings. `goals` replace its own where
    /// there are any: the trials are the same.
    pub(crate) fn open(file: &Path, goals: &[Goal]) -> Result<Loaded, Failure> {
        let record = Record::open(file)?;
        let line = registry::of(&record)?.load_line(&record, goals)?;
        let LoadLine {
            plan,
            trials,
            findings,
        } = line.ok_or_else(|| without_line(&record))?;
        Ok(Loaded {
            file: file.to_owned(),
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

fn without_line(record: &Record) -> Failure {
    let (path, made_by) = (record.path().display(), record.experiment());
    Failure::Mistake(format!(
        "{path} is a record of plimsoll {made_by}, which has no capacity; name records of plimsoll sweep, or see this one with plimsoll report {path}"
    ))
}
