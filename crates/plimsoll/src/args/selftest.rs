//! The flags of `plimsoll selftest`.

use clap::{Args, ValueEnum};

const SELFTEST_HELP: &str = "\
Servers on this machine answer by rules whose capacity is known (service times are waited for, \
not worked off), and Plimsoll measures them as it measures any server. The table tells what is \
known, what was found, and how far the two are apart. Nothing else should run meanwhile.

Exit status: 0 all answers were recovered within 5 %, 1 not all were.";

/// `plimsoll selftest`
#[derive(Debug, Args)]
#[command(after_help = SELFTEST_HELP)]
pub(crate) struct SelftestArgs {
    /// In under a minute. Without: under 6 minutes, and with a third of the error that is chance.
    #[arg(long)]
    pub(crate) quick: bool,

    /// How to print the answers.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SelftestFormat,

    /// Seed of the arrivals and of the service times (default: any; the JSON output has it).
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Progress as plain lines, also on a terminal.
    #[arg(long)]
    pub(crate) plain: bool,
}

/// How the answers of a self-test are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelftestFormat {
    /// A table and what it means.
    Text,
    /// JSON, with its unit in the name of each value.
    Json,
}
