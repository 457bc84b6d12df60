//! Flags of the session.

use super::require::Required;
use crate::format::Format;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Flags that every experiment has.
#[derive(Debug, Args)]
pub(crate) struct FrameArgs {
    /// Where to write the record (default: plimsoll-runs/TIME-NAME.plimsoll).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Resume the interrupted run in this record. It runs the commands in the record, so the file must be yours and writable by you alone.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) resume: Option<PathBuf>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// The run passes if this holds, such as 'capacity>5000', 'p99<10ms at 2000' or 'no worse than BASELINE by 5%' of a sweep, 'p99<10ms' of a run, 'change of cpu<3%' of a versus, 'gain of plimsoll>30%' of a yield, 'p99 of gate<20us' of a wake, 'metg50 of ours<1us' of a rig. Exit status 0 if it does, 3 if it does not, 4 if the figures allow both. Repeatable.
    #[arg(long = "require", value_name = "CONDITION")]
    pub(crate) require: Vec<Required>,

    /// Serve the state of the run as OpenMetrics text at /metrics of this address, such as 127.0.0.1:9464, without TLS or a password.
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,

    /// Leave out the page with charts next to the record.
    #[arg(long)]
    pub(crate) no_html: bool,

    /// Progress as plain lines, also on a terminal.
    #[arg(long)]
    pub(crate) plain: bool,
}
