//! What a run needs of the machine, as data: collected, not first-fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a run needs or would like, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requirement {
    /// What it is, in a few words: "pressure stall information".
    pub name: String,
    /// Whether it is there.
    pub outcome: Outcome,
}

/// Whether a requirement is met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is there; what was found.
    Met {
        /// What was found.
        found: String,
    },
    /// It is not there; the run goes on without.
    Missed {
        /// What is lost by it.
        lost: String,
        /// What can be done.
        remedy: String,
    },
    /// It is not there, and the run cannot start.
    Failed {
        /// Why not.
        why: String,
        /// What can be done.
        remedy: String,
    },
}

impl Requirement {
    /// The name of the requirement whose outcome says who the service is.
    pub const SERVICE: &str = "the service and its CPU time";

    /// That what listens at the service's address is of the service.
    pub const LISTENERS: &str = "CPU time of the processes that listen";
    /// That nobody else loads the service.
    pub const NO_OTHER_CLIENTS: &str = "a service without other clients";

    /// Whether figures of the service mean something else if it is missed, and not only less is known.
    pub fn is_about_figures(&self) -> bool {
        // One of two services has its name at the end.
        [Requirement::LISTENERS, Requirement::NO_OTHER_CLIENTS]
            .iter()
            .any(|name| self.name.starts_with(name))
    }

    /// Whether a run can start in spite of it.
    pub fn can_start(&self) -> bool {
        !matches!(self.outcome, Outcome::Failed { .. })
    }
}
