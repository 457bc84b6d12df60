//! The flags of `plimsoll export`.

use clap::Args;
use std::path::PathBuf;

/// `plimsoll export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The record of a run.
    pub(crate) file: PathBuf,

    /// Write HdrHistogram interval logs, one per level, into this directory.
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) hdr: PathBuf,
}
