//! The flags of `plimsoll import`.

use super::Format;
use super::value::words;
use clap::Args;
use std::path::PathBuf;

const IMPORT_HELP: &str = "\
The table is CSV: a line with the names of the columns, then a row per load.
Columns are
  rate_rps,cpu_pct,latency_us   a rate, CPU use (0 to 100), the latency at it
  copies,cpu_pct,seconds        copies of a job at once, CPU use, time of a copy
in any order. Repeated rows at one load are repeated trials. What is concluded
from a sweep is concluded from a table too, but a load with one row has no
interval of its own; what is fitted through several loads may have one, from how
they scatter. Which latency it is (a mean, a percentile) only whoever measured
it knows.

Worked example, with a table web1.csv of three rows
  rate_rps,cpu_pct,latency_us
  1000,12,800
  4000,41,950
  8000,83,2100
it is known that 4,000/s are carried within twice the latency of light load
(1600 us) and 8,000/s are not; what lies between is a gap, and the report says
so:
  plimsoll import web1.csv -o web1.plimsoll --cpus 8 --note 'p99, from wrk2'";

/// `plimsoll import`
#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// The table, in CSV.
    pub(crate) table: PathBuf,

    /// Where to write the record.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,

    /// What was measured, such as the machine's name (default: the name of the table's file).
    #[arg(long, value_name = "NAME", value_parser = words)]
    pub(crate) name: Option<String>,

    /// How many CPUs the machine has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub(crate) cpus: Option<u32>,

    /// How many threads its cores have. The first copies are then taken to have run on cores of their own.
    #[arg(long, value_name = "N", requires = "cpus", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) threads_per_core: Option<u32>,

    /// Where the table comes from and what its latency is; the record keeps it.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) note: Option<String>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Leave out the page with charts beside the record.
    #[arg(long)]
    pub(crate) no_html: bool,
}
