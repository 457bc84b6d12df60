use plimsoll_model::{Plan, Provenance, Requirement, RunEnd};

/// The row of `run`: everything except trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) provenance: Provenance,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) command_line: Vec<String>,
    pub(crate) created_unix_ms: u64,
    pub(crate) end: Option<RunEnd>,
}
