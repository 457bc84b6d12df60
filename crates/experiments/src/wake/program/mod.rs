//! A program as the measured load: schbench or pgbench, once per trial.
//!
//! It runs on the gated CPUs, with the server that a run starts for it, so that the gate has CPUs to
//! leave asleep.

mod cluster;
mod parse;
mod run;

pub(super) use run::{Ready, is_installed, prepare};

use plimsoll_model::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A program that measures latency by itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Wake-ups of worker threads by message threads.
    Schbench,
    /// Read-only transactions of PostgreSQL, ten a second.
    Pgbench,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Program::Schbench => "schbench",
            Program::Pgbench => "pgbench",
        })
    }
}

/// A program, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramPlan {
    pub program: Program,
    /// The CPUs that it is restricted to: those of the gate.
    pub cpus: CpuSet,
    /// The database of pgbench; null for a temporary one.
    pub database: Option<String>,
}

/// A figure that a program printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramFigure {
    /// Such as `p99` or `average`.
    pub name: String,
    pub unit: String,
    pub value: f64,
}
