//! `plimsoll report`: the findings of a record, made again.

use crate::failure::Failure;
use crate::format::{Format, choose};
use crate::output::{Output, spare_sources};
use crate::record_file;
use crate::registry;
use crate::session::require::{self, Required};
use clap::Args;
use plimsoll_model::Goal;
use std::path::PathBuf;

const REPORT_EXAMPLES: &str = "\
Examples:
  plimsoll report plimsoll-runs/FILE
  plimsoll report FILE -o report.html         as a page with charts
  plimsoll report FILE --goal 'p99<5ms'       by another goal
  plimsoll report FILE --no-charts --format csv > levels.csv";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The record of a run.
    file: PathBuf,

    /// How to print the findings (default: as the name after -o ends, else text).
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write them to this file, such as report.html, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Judge the trials by another goal. Repeatable; replaces those of the run.
    #[arg(long = "goal", value_name = "GOAL")]
    goals: Vec<Goal>,

    /// The run passes if this holds, such as 'capacity>5000', 'p99<10ms at 2000' or 'no worse than BASELINE by 5%' of a sweep, 'p99<10ms' of a run, 'change of cpu<3%' of a versus, 'gain of plimsoll>30%' of a yield, 'p99 of gate<20us' of a wake, 'metg50 of ours<1us' of a rig. Exit status 0 if it does, 3 if it does not, 4 if the figures allow both. Repeatable.
    #[arg(long = "require", value_name = "CONDITION")]
    require: Vec<Required>,
}

pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<(), Failure> {
    let file = args.output.as_deref();
    let format = choose(args.format, file)?;
    require::check_format(format, &args.require)?;
    spare_sources(file, &[&args.file])?;
    let record = record_file::open(&args.file)?;
    let experiment = registry::of(&record)?;
    let look = output.look(file);
    let verdicts = (experiment.judge)(&record, &args.goals, &args.require)?;
    let mut written = require::written(format, &verdicts);
    if let Some(format) = format.of_findings() {
        written += &(experiment.report)(&record, &args.goals, format, look, output)?;
    }
    output.put(&written, file)?;
    require::conclude(&verdicts)
}
