//! The flags of `plimsoll copies`.

use crate::args::RunArgs;
use crate::args::value::positive_duration;
use crate::experiment::HelpPage;
use clap::Args;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll copies -- sh -c 'cp -r /src/. . && make -j1'
        1 to N copies of a build, each on a CPU and in a directory of its own
  plimsoll copies --numbers 1,4,8 -- gzip -k /data/file
        these numbers of copies
  plimsoll copies --resume plimsoll-runs/FILE
        resume an interrupted run";

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Question", &["numbers", "quick"]),
        ("Measurement", &["trials", "timeout", "seed", "cpus"]),
    ],
    short: &[
        ("command", "The command to copy, after `--`"),
        ("numbers", "Numbers of copies (default: 1 to one per CPU)"),
        ("quick", "Each number once"),
        ("cpus", "CPUs that copies are pinned to"),
    ],
    fixed: &[&["numbers", "quick", "trials", "timeout", "seed", "cpus"]],
};

/// `plimsoll copies`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CopiesArgs {
    /// The command to copy, after `--`: one that does the same work each time. One that runs for a fixed time, as a benchmark may, is never slowed.
    #[arg(last = true, value_name = "CMD", required_unless_present = "resume")]
    pub(super) command: Vec<String>,

    /// Numbers of copies, such as 1,4,8 (default: 1 to one per CPU).
    #[arg(long, visible_alias = "levels", value_name = "LIST", value_delimiter = ',', value_parser = number, allow_hyphen_values = true)]
    pub(super) numbers: Option<Vec<u32>>,

    /// Each number of copies once.
    #[arg(long)]
    pub(super) quick: bool,

    /// How often each number is tried, every second time in the reverse order (default: 2; with --quick 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(super) trials: Option<u32>,

    /// A copy that takes longer has failed (default: 1h).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(super) timeout: Option<Duration>,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

fn number(text: &str) -> Result<u32, String> {
    let number = text.trim().trim_end_matches('%').parse().ok();
    number
        .filter(|n| *n > 0)
        .ok_or_else(|| "give whole numbers of copies, such as 1,4,8".into())
}
