//! The content of a record besides its trials.

use plimsoll_model::{Provenance, Requirement, RunEnd};
use serde::Serialize;
use std::path::PathBuf;

/// The content of a new record.
#[derive(Debug, Clone)]
pub struct NewRun<'a, P> {
    /// The name of the experiment, which decides what plan, settings and
    /// outcomes are.
    pub experiment: &'a str,
    /// What is under test, in a few words.
    pub workload: String,
    pub plan: &'a P,
    pub seed: u64,
    pub provenance: &'a Provenance,
    /// The program and its arguments as typed.
    pub command_line: &'a [String],
    /// The working directory; `None` if it is unknown or nothing is looked up in it.
    pub folder: Option<PathBuf>,
    /// What the run needs of the machine, met or missed.
    pub requirements: &'a [Requirement],
}

/// The row of `run`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) experiment: String,
    pub(crate) workload: String,
    pub(crate) seed: String,
    pub(crate) plan_json: String,
    pub(crate) provenance: Provenance,
    /// Not UTF-8 is replaced.
    pub(crate) folder: Option<String>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) command_line: Vec<String>,
    pub(crate) created_unix_ms: u64,
    pub(crate) end: Option<RunEnd>,
}

impl Run {
    pub(crate) fn new<P: Serialize>(
        new: &NewRun<'_, P>,
        created_unix_ms: u64,
    ) -> serde_json::Result<Run> {
        Ok(Run {
            experiment: new.experiment.to_owned(),
            workload: new.workload.clone(),
            seed: new.seed.to_string(),
            plan_json: serde_json::to_string(new.plan)?,
            provenance: new.provenance.clone(),
            folder: new
                .folder
                .as_ref()
                .map(|folder| folder.to_string_lossy().into_owned()),
            requirements: new.requirements.to_vec(),
            command_line: new.command_line.to_vec(),
            created_unix_ms,
            end: None,
        })
    }
}
