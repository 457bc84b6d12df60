//! The flags of `plimsoll selftest`.

use clap::{Args, ValueEnum};

const SELFTEST_HELP: &str = "\
Servers on this machine answer by rules whose capacity is known (service times are waited for, \
not worked off), and Plimsoll measures them as it measures any server. The table tells what is \
known, what was found, and how far the two are apart. Nothing else should run meanwhile.

Tested: the load generator, how the rate at saturation is calibrated, how levels and search find a \
capacity, its interval, the knee (the load at which latency has tripled), and without --quick the \
trial that confirms a capacity. Not tested: how CPU use is measured and what is concluded from it.

An answer is recovered when it is within 5 % of the truth and its interval reaches no further from \
it than 5 % (with --quick 50 %, as its few trials allow no less); beyond that it could be luck, and \
the verdict is inconclusive.

Exit status: 0 all answers were recovered, 1 not all were, 2 a mistake in what was asked, 130 \
stopped by Ctrl-C.";

/// `plimsoll selftest`
#[derive(Debug, Args)]
#[command(after_help = SELFTEST_HELP)]
pub(crate) struct SelftestArgs {
    /// In under a minute, for gross errors. Without: about 5 minutes, or up to 11 where trials are
    /// disturbed and have to be made again.
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
