//! Whether a trial is valid, and why not.

use crate::Share;
use crate::units::human_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Why a trial is invalid. The same in the record and in the JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Invalid {
    /// The generator was late by its own fault.
    Slip {
        /// p99 of the slip.
        #[serde(rename = "p99_ns", with = "crate::Ns")]
        p99: Duration,
        /// What it may be.
        #[serde(rename = "bound_ns", with = "crate::Ns")]
        bound: Duration,
    },
    /// The hypervisor took CPU time.
    Steal {
        /// As a share of the CPU time of these CPUs.
        #[serde(rename = "stolen_share")]
        stolen: Share,
        /// What it may be.
        #[serde(rename = "bound_share")]
        bound: Share,
        /// The CPUs that it is a share of; older records were judged by all.
        #[serde(default)]
        on: CpusOf,
    },
    /// Other processes used CPU time.
    OtherLoad {
        /// As a share of the CPU time of these CPUs.
        #[serde(rename = "used_share")]
        used: Share,
        /// What it may be.
        #[serde(rename = "bound_share")]
        bound: Share,
        /// The CPUs that it is a share of; older records were judged by all.
        #[serde(default)]
        on: CpusOf,
    },
}

/// CPUs that a bound is judged on. A small part of a large machine may be much of
/// the service's or of the generator's CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpusOf {
    /// All CPUs.
    #[default]
    Machine,
    /// Those that the service may run on.
    Service,
    /// Those that the load generator is pinned to.
    Generator,
}

impl CpusOf {
    /// In words, after "of the CPU time".
    pub fn words(self) -> &'static str {
        match self {
            CpusOf::Machine => "",
            CpusOf::Service => " of the service's CPUs",
            CpusOf::Generator => " of the generator's CPUs",
        }
    }
}

/// An [`Invalid`] without its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InvalidKind {
    Steal,
    OtherLoad,
    Slip,
}

impl InvalidKind {
    /// The flag that permits more of it.
    pub fn flag(self) -> &'static str {
        match self {
            InvalidKind::Steal => "--max-steal",
            InvalidKind::OtherLoad => "--max-other",
            InvalidKind::Slip => "--max-slip",
        }
    }
}

impl Invalid {
    pub fn kind(&self) -> InvalidKind {
        match self {
            Invalid::Slip { .. } => InvalidKind::Slip,
            Invalid::Steal { .. } => InvalidKind::Steal,
            Invalid::OtherLoad { .. } => InvalidKind::OtherLoad,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Slip { p99, bound } => write!(
                f,
                "the generator was late: slip p99 {} (bound {})",
                human_duration(*p99),
                human_duration(*bound)
            ),
            Invalid::Steal { stolen, bound, on } => write!(
                f,
                "the hypervisor took {stolen} of the CPU time{} (bound {bound})",
                on.words()
            ),
            Invalid::OtherLoad { used, bound, on } => write!(
                f,
                "other processes used {used} of the CPU time{} (bound {bound})",
                on.words()
            ),
        }
    }
}

/// Whether a trial is valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Valid,
    /// For these reasons.
    Invalid(Vec<Invalid>),
}

impl Verdict {
    /// Valid when there is no reason against it.
    pub fn from_reasons(reasons: Vec<Invalid>) -> Verdict {
        if reasons.is_empty() {
            Verdict::Valid
        } else {
            Verdict::Invalid(reasons)
        }
    }

    pub fn is_valid(&self) -> bool {
        *self == Verdict::Valid
    }

    /// Why it is invalid; empty for a valid trial.
    pub fn reasons(&self) -> &[Invalid] {
        match self {
            Verdict::Valid => &[],
            Verdict::Invalid(reasons) => reasons,
        }
    }
}
