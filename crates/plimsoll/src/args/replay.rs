//! The flags of `plimsoll replay`.

use clap::Args;
use std::path::PathBuf;

const REPLAY_HELP: &str = "\
Example:
  plimsoll side --log side.jsonl -- make && plimsoll replay side.jsonl

Exit status: 0 all decided the same, 1 one was decided otherwise, 2 a mistake in
what was asked, or no log.";

/// `plimsoll replay`
#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayArgs {
    /// A log of `plimsoll side --log`.
    pub(crate) log: PathBuf,
}
