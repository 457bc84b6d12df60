//! `plimsoll replay`: a log of decisions, decided again.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use plimsoll_law::{AwakeDifference, AwakeEntry, Difference, replay, replay_awake};
use std::path::PathBuf;

const REPLAY_HELP: &str = "\
Example:
  plimsoll side --log side.jsonl -- make && plimsoll replay side.jsonl

Exit status: 0 all decided the same, 1 one was decided otherwise, 2 a mistake in
what was asked, or no log.";

#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayArgs {
    /// A log of `plimsoll side --log` or `plimsoll gate --log`.
    log: PathBuf,
}

pub(crate) fn run(args: &ReplayArgs, output: &Output) -> Result<(), Failure> {
    let shown = args.log.display();
    let text = std::fs::read_to_string(&args.log).map_err(|e| {
        Failure::Mistake(format!(
            "the log {shown} cannot be read: {e}; give one that plimsoll side --log or gate --log wrote"
        ))
    })?;
    let first = text.lines().find(|line| !line.trim().is_empty());
    let decisions = match first.is_some_and(AwakeEntry::begins) {
        true => replay_awake(text.lines()).map_err(|difference| match difference {
            AwakeDifference::Decides { .. } => Failure::Run(difference.to_string()),
            unreadable => Failure::Mistake(format!("{shown}: {unreadable}")),
        }),
        false => replay(text.lines()).map_err(|difference| match difference {
            Difference::Decides { .. } => Failure::Run(difference.to_string()),
            unreadable => Failure::Mistake(format!("{shown}: {unreadable}")),
        }),
    };
    match decisions? {
        0 => Err(Failure::Mistake(format!(
            "{shown} holds no decisions; a command that ends within the first period leaves none"
        ))),
        1 => output.print("The only decision was the same.\n"),
        n => output.print(&format!("All {n} decisions were the same.\n")),
    }
}
