//! `plimsoll export`: a record's measurements in other formats.

#[cfg(feature = "parquet")]
mod parquet;

use crate::failure::Failure;
use crate::output::Output;
use crate::record_file;
use crate::registry;
use clap::{ArgGroup, Args};
use plimsoll_model::{Workload, safe};
use plimsoll_record::{export_hdr, write_exported};
use serde::de::IgnoredAny;
use serde_json::Value;
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

    /// Write HdrHistogram interval logs, one per load level or setting, into this directory.
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
    let record = record_file::open(file)?;
    let line = (registry::of(&record)?.load_line)(&record, &[])?;
    if line.is_some_and(|line| matches!(line.plan.workload, Workload::Imported(_))) {
        return Err(Failure::Mistake(format!(
            "{} is an imported table, which has no histograms to export; export the record of a run",
            file.display()
        )));
    }
    let written = export_hdr(record.trials::<Value, IgnoredAny>()?, dir)?;
    if written.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} has no histograms of latency to export: its run measured none",
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
