//! `plimsoll replay`: a log of decisions, decided again.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use plimsoll_law::{Difference, replay};
use std::path::PathBuf;

const REPLAY_HELP: &str = "\
Example:
  plimsoll side --log side.jsonl -- make && plimsoll replay side.jsonl

Exit status: 0 all decided the same, 1 one was decided otherwise, 2 a mistake in
what was asked, or no log.";

#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayArgs {
    /// A log of `plimsoll side --log`.
    log: PathBuf,
}

pub(crate) fn run(args: &ReplayArgs, output: &Output) -> Result<(), Failure> {
    let shown = args.log.display();
    let text = std::fs::read_to_string(&args.log).map_err(|e| {
        Failure::Mistake(format!(
            "the log {shown} cannot be read: {e}; give one that plimsoll side --log wrote"
        ))
    })?;
    match replay(text.lines()) {
        Ok(0) => Err(Failure::Mistake(format!(
            "{shown} holds no decisions; a command that ends within the first period leaves none"
        ))),
        Ok(1) => output.print("The only decision was the same.\n"),
        Ok(n) => output.print(&format!("All {n} decisions were the same.\n")),
        Err(difference @ Difference::Decides { .. }) => Err(Failure::Run(difference.to_string())),
        Err(unreadable) => Err(Failure::Mistake(format!("{shown}: {unreadable}"))),
    }
}
