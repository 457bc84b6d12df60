//! Runs of copies: a command several times at once.

use crate::{Copies, ImportedTable, RunPlan, Trial, TrialSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a run of copies is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CopiesWorkload {
    /// A command.
    Copies(Copies),
    /// A table of copies that somebody else measured.
    Imported(ImportedTable),
}

impl fmt::Display for CopiesWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopiesWorkload::Copies(c) => write!(f, "copies of {}", c.command.join(" ")),
            CopiesWorkload::Imported(table) => table.fmt(f),
        }
    }
}

/// The plan of a run of copies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CopiesPlan {
    /// What is run.
    pub workload: CopiesWorkload,
    /// The numbers of copies, ascending.
    #[serde(rename = "copies")]
    pub numbers: Vec<u32>,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunPlan,
}

/// What a trial of copies is made at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopiesSetting {
    Idle,
    /// This many copies at once.
    Copies {
        /// How many.
        copies: u32,
    },
}

impl TrialSetting for CopiesSetting {
    fn is_idle(&self) -> bool {
        *self == CopiesSetting::Idle
    }
}

/// What else a trial of copies measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CopiesOutcome {
    /// How long each copy took.
    #[serde(rename = "copy_times_ns", with = "crate::NsList")]
    pub copy_times: Vec<Duration>,
}

pub type CopiesTrial = Trial<CopiesSetting, CopiesOutcome>;
