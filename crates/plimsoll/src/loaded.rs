//! A record with what was concluded from it.

use crate::failure::Failure;
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

/// Refuses a record whose trials are at one load, with a job beside it or not:
/// no capacity follows from them.
pub(crate) fn refuse_yield(record: &Record) -> Result<(), Failure> {
    match record.plan().sideload {
        None => Ok(()),
        Some(_) => Err(Failure::Mistake(format!(
            "{path} is a record of plimsoll yield, which has no load levels; see it with plimsoll report {path}",
            path = record.path().display()
        ))),
    }
}

impl Loaded {
    /// Opens a record and makes its findings. `goals` replace its own where
    /// there are any: the trials are the same.
    pub(crate) fn open(file: &Path, goals: &[Goal]) -> Result<Loaded, Failure> {
        let record = Record::open(file)?;
        refuse_yield(&record)?;
        let trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
        let mut plan = record.plan().clone();
        if !goals.is_empty() {
            plan.goals = Vec::new();
            for goal in goals {
                if !plan.goals.contains(goal) {
                    plan.goals.push(*goal);
                }
            }
        }
        Ok(Loaded {
            file: file.to_owned(),
            provenance: record.provenance().clone(),
            findings: plimsoll_study::findings(&plan, &trials),
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
