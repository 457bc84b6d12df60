//! `plimsoll import`: a table of measurements becomes a record.

use crate::failure::Failure;
use crate::format::Format;
use crate::output::Output;
use crate::record_file::{Maker, check, read_table};
use crate::session::show;
use clap::Args;
use plimsoll_experiments::copies::CopiesOfCommand;
use plimsoll_experiments::import::{About, ImportedRows, Table};
use plimsoll_experiments::sweep::Sweep;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Provenance, RunEnd};
use plimsoll_record::{NewRun, Record};
use plimsoll_report::verdicts::Verdicts;
use std::path::{Path, PathBuf};

const IMPORT_HELP: &str = "\
The table is CSV: a line with the names of the columns, then a row per load.
Columns are
  rate_rps,cpu_pct,latency_us   a rate, CPU use (0 to 100), the latency at it
  copies,cpu_pct,seconds        copies of a job at once, CPU use, time of a copy
in any order. Repeated rows at one load are repeated trials. What is concluded
from a sweep is concluded from a table too, but a load with one row has no
interval of its own; what is fitted through several loads may have one, from how
they scatter. The table does not say which latency it has (a mean, a
percentile): --note can.

Worked example, with a table web1.csv of three rows
  rate_rps,cpu_pct,latency_us
  1000,12,800
  4000,41,950
  8000,83,2100
it is known that 4,000/s are carried within twice the latency of light load
(1600 us) and 8,000/s are not; what lies between is a gap, and the report says
so:
  plimsoll import web1.csv -o web1.plimsoll --cpus 8 --note 'p99, from wrk2'";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// The table, in CSV.
    table: PathBuf,

    /// Where to write the record.
    #[arg(short, long, value_name = "FILE", required = true)]
    output: PathBuf,

    /// What was measured, such as the machine's name (default: the name of the table's file).
    #[arg(long, value_name = "NAME", value_parser = words)]
    name: Option<String>,

    /// How many CPUs the machine has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    cpus: Option<u32>,

    /// How many threads its cores have. The first copies are then taken to have run on cores of their own.
    #[arg(long, value_name = "N", requires = "cpus", value_parser = clap::value_parser!(u32).range(1..=8))]
    threads_per_core: Option<u32>,

    /// Where the table comes from and what its latency is; the record keeps it.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    note: Option<String>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// Leave out the page with charts beside the record.
    #[arg(long)]
    no_html: bool,
}

/// The largest table.
const MOST_BYTES: u64 = 10_000_000;

pub(crate) fn run(args: &ImportArgs, output: &Output) -> Result<(), Failure> {
    if args.format.of_findings().is_none() {
        return Err(Failure::Mistake(format!(
            "--format {} has what --require found, which a table is not asked; import it, then use plimsoll report with --require",
            args.format.name()
        )));
    }
    let shown = args.table.display();
    let mistake = |why: &dyn std::fmt::Display| Failure::Mistake(format!("{shown}: {why}"));
    let table =
        Table::read(&read_table(&args.table, "table", MOST_BYTES)?).map_err(|e| mistake(&e))?;
    let imported = table.run(about(args)).map_err(|e| mistake(&e))?;
    check(&args.output, Maker::Import)?;
    let made_for = &imported.provenance;
    match &imported.rows {
        ImportedRows::Rates(plan, trials) => keep::<Sweep>(args, plan, trials, made_for, output),
        ImportedRows::Copies(plan, trials) => {
            keep::<CopiesOfCommand>(args, plan, trials, made_for, output)
        }
    }
}

/// Writes the record of an experiment, and shows its findings.
fn keep<E: Experiment>(
    args: &ImportArgs,
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    provenance: &Provenance,
    output: &Output,
) -> Result<(), Failure> {
    let record = write::<E>(&args.output, plan, trials, provenance, output)?;
    show::<E>(
        &record,
        &Verdicts::default(),
        args.format,
        !args.no_html,
        output,
    )
    .map(drop)
}

fn about(args: &ImportArgs) -> About {
    let stem = args.table.file_stem().unwrap_or(args.table.as_os_str());
    About {
        name: match &args.name {
            Some(name) => name.clone(),
            None => stem.to_string_lossy().into_owned(),
        },
        cpus: args.cpus,
        threads_per_core: args.threads_per_core,
        note: args.note.clone(),
        plimsoll_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Writes the whole record or none: half a table is of no use, and importing
/// it again costs nothing.
fn write<E: Experiment>(
    path: &Path,
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    provenance: &Provenance,
    output: &Output,
) -> Result<Record, Failure> {
    let command_line = output.shown_words(std::env::args_os());
    let run = NewRun {
        experiment: E::NAME,
        workload: E::workload(plan),
        plan,
        seed: E::run(plan).seed,
        provenance,
        command_line: &command_line,
        folder: None,
        requirements: &[],
    };
    let mut record = Record::create(path, &run)?;
    let appended = trials.iter().try_for_each(|trial| record.append(trial));
    let written = appended.and_then(|()| record.mark_finished(&RunEnd::Complete));
    match written {
        Ok(()) => Ok(record),
        Err(error) => {
            drop(record);
            // What cannot be written cannot always be removed; the first error
            // is the one to tell.
            let _ = std::fs::remove_file(path);
            Err(error.into())
        }
    }
}

fn words(text: &str) -> Result<String, String> {
    let words = text.trim();
    let fits = !words.is_empty() && words.chars().count() <= 500;
    fits.then(|| words.to_owned())
        .ok_or_else(|| "give 1 to 500 characters".into())
}
