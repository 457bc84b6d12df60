//! The flags of `plimsoll report`.

use super::Format;
use clap::Args;
use plimsoll_model::Goal;
use std::path::PathBuf;

/// `plimsoll report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The record of a run.
    pub(crate) file: PathBuf,

    /// How to print the findings (default: as the name after -o ends, else text).
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Write them to this file, such as report.html, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Another promise to hold the trials against. Repeatable; replaces those of the run.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<Goal>,
}
