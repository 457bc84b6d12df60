//! `plimsoll export`: a record's measurements in other formats.

#[cfg(feature = "parquet")]
mod parquet;

use crate::failure::Failure;
use crate::output::Output;
use crate::record_file;
use crate::registry;
use clap::{ArgGroup, Args};
use plimsoll_experiments::LoadLine;
use plimsoll_model::{Workload, safe};
use plimsoll_record::{export_hdr, write_exported};
use std::path::{Path, PathBuf};

const EXPORT_EXAMPLES: &str = "\
Examples:
  plimsoll export FILE --hdr logs/     one log per level, to plot
  plimsoll export FILE --plots plots/  its charts for gnuplot, and their data";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES, group = ArgGroup::new("format").required(true).multiple(true))]
pub(crate) struct ExportArgs {
    /// The record of a run.
    file: PathBuf,

    /// Write HdrHistogram interval logs, one per level, into this directory.
    #[arg(long, value_name = "DIR", group = "format")]
    hdr: Option<PathBuf>,

    /// Write each chart of the report as a gnuplot script, and each of its series as CSV, into this directory.
    #[arg(long, value_name = "DIR", group = "format")]
    plots: Option<PathBuf>,

    /// Write trials and seconds as Parquet files into this directory.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR", group = "format")]
    parquet: Option<PathBuf>,
}

pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<(), Failure> {
    let mut written = Vec::new();
    if let Some(dir) = &args.hdr {
        written.extend(hdr_logs(&args.file, dir)?);
    }
    if let Some(dir) = &args.plots {
        written.extend(plots(&args.file, dir, output)?);
    }
    #[cfg(feature = "parquet")]
    if let Some(dir) = &args.parquet {
        written.extend(parquet::files(&args.file, dir)?);
    }
    for path in written {
        output.print(&(safe(&path.to_string_lossy()) + "\n"))?;
    }
    Ok(())
}

fn hdr_logs(file: &Path, dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let line = load_line(file)?;
    let written = export_hdr(line.trials.into_iter().map(Ok), dir)?;
    if written.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} holds no latencies at load levels to export: the run ended before its levels",
            file.display()
        )));
    }
    Ok(written)
}

fn plots(file: &Path, dir: &Path, output: &Output) -> Result<Vec<PathBuf>, Failure> {
    let record = record_file::open(file)?;
    let files = (registry::of(&record)?.plots)(&record, output)?;
    if files.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} has no charts to export: the run ended before it had valid trials",
            file.display()
        )));
    }
    let named = files.into_iter();
    let files: Vec<(PathBuf, Vec<u8>)> = named
        .map(|file| (dir.join(file.name), file.text.into_bytes()))
        .collect();
    write_exported(dir, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The load line of a record that has measured histograms at load levels.
fn load_line(file: &Path) -> Result<LoadLine, Failure> {
    let record = record_file::open(file)?;
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
