//! `plimsoll export`: a record's measurements in other formats.

use crate::failure::Failure;
use crate::output::Output;
use crate::registry;
use clap::Args;
use plimsoll_experiments::LoadLine;
use plimsoll_model::{Workload, safe};
use plimsoll_record::{Record, export_hdr};
use std::path::{Path, PathBuf};

const EXPORT_EXAMPLES: &str = "\
Example:
  plimsoll export FILE --hdr logs/     one log per level, to plot";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The record of a run.
    file: PathBuf,

    /// Write HdrHistogram interval logs, one per level, into this directory.
    #[arg(long, value_name = "DIR", required = true)]
    hdr: PathBuf,
}

pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<(), Failure> {
    let line = load_line(&args.file)?;
    let written = export_hdr(line.trials.into_iter().map(Ok), &args.hdr)?;
    if written.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} holds no latencies at load levels to export: the run ended before its levels",
            args.file.display()
        )));
    }
    for path in written {
        output.print(&(safe(&path.to_string_lossy()) + "\n"))?;
    }
    Ok(())
}

/// The load line of a record that has measured histograms at load levels.
fn load_line(file: &Path) -> Result<LoadLine, Failure> {
    let record = Record::open(file)?;
    let shown = file.display();
    let Some(line) = (registry::of(&record)?.load_line)(&record, &[])? else {
        return Err(Failure::Mistake(format!(
            "{shown} is a record of plimsoll {}; only a record of plimsoll sweep has histograms of load levels to export",
            record.experiment()
        )));
    };
    if matches!(line.plan.workload, Workload::Imported(_)) {
        return Err(Failure::Mistake(format!(
            "{shown} is an imported table, which has no histograms to export; export a record of plimsoll sweep"
        )));
    }
    Ok(line)
}
