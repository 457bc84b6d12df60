//! `plimsoll replay`: a log of decisions, decided again.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use plimsoll_law::{AwakeEntry, Difference, replay, replay_awake};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

/// Bytes of a line. A decision has some hundred, and some more for each guard.
const LONGEST: u64 = 1 << 20;

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
    let cannot_be_read = |e: io::Error| {
        Failure::Mistake(format!(
            "the log {shown} cannot be read: {e}; give one that plimsoll side --log or gate --log wrote"
        ))
    };
    let file = File::open(&args.log).map_err(cannot_be_read)?;
    let mut lines = Lines {
        reader: BufReader::new(file),
        failed: None,
    };
    let replayed = replay_either(&mut lines, &shown.to_string());
    if let Some(error) = lines.failed {
        return Err(cannot_be_read(error));
    }
    match replayed? {
        0 => Err(Failure::Mistake(format!(
            "{shown} holds no decisions; a command that ends within the first period leaves none"
        ))),
        1 => output.print("The only decision was the same.\n"),
        n => output.print(&format!("All {n} decisions were the same.\n")),
    }
}

/// Replays a log of `side` or of `gate`, as its first line tells.
fn replay_either(lines: impl Iterator<Item = String>, shown: &str) -> Result<usize, Failure> {
    let mut lines = lines.peekable();
    let replayed = match lines.peek().is_some_and(|first| AwakeEntry::begins(first)) {
        true => replay_awake(lines),
        false => replay(lines),
    };
    replayed.map_err(|difference| match difference {
        Difference::Decides { .. } => Failure::Run(difference.to_string()),
        other => Failure::Mistake(format!("{shown}: {other}")),
    })
}

/// The lines of a log, up to the first that cannot be read.
struct Lines<R> {
    reader: R,
    failed: Option<io::Error>,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = (&mut self.reader).take(LONGEST).read_line(&mut line);
        let read = read.and_then(|n| match n as u64 {
            LONGEST => Err(io::Error::other("it has a line of more than 1 MiB")),
            n => Ok(n),
        });
        match read {
            Ok(0) => None,
            Ok(_) => Some(line),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut lines = Lines {
            reader: BufReader::new(b"one\ntwo".as_slice().chain(io::repeat(b'x'))),
            failed: None,
        };
        assert_eq!(lines.next().as_deref(), Some("one\n"));
        assert_eq!(lines.next(), None);
        let error = lines.failed.unwrap().to_string();
        assert!(error.contains("more than 1 MiB"), "{error}");
    }
}
