//! Help pages: `-h` fits a screen; `--help` and the manual have all flags under
//! headings, examples and exit codes.

mod foreign;

use crate::args::Cli;
use crate::failure::Failure;
use crate::registry::EXPERIMENTS;
use crate::shell::EXIT_STATUS_BEGINS;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory};
use plimsoll_experiments::HelpPage;
use plimsoll_experiments::args::{FOR_A_SERVER, FOR_THE_HASH_SERVICE};
use plimsoll_model::{safe, shown_urls};
use std::ffi::OsString;
use std::io::Write;

/// What `plimsoll` alone says.
pub(crate) const FIRST_STEPS: &str = "\
Plimsoll tells how much load a machine can really carry. Try first:

  plimsoll sweep --quick                    what does this machine carry? (90 s)
  plimsoll sweep http://localhost:8080/     what does this server carry?
  plimsoll doctor                           what can be measured here?
  plimsoll --help                           all commands
";

const EXIT_STATUS: &str = "\
Exit status: 0 success, 1 the run failed, 2 usage error, 130 stopped by Ctrl-C.";

/// Of an experiment, whose run can be ended by a key.
const RUN_EXIT_STATUS: &str = "\
Exit status: 0 success, 1 the run failed or none of its trials is valid, 2 usage
error, 3 or 4 --require is broken or undecided, 130 stopped by Ctrl-C or q.";

/// Of an experiment that can measure a server.
const SERVER_EXIT_STATUS: &str = "\
Exit status: 0 success, 1 the run failed (for example, a server cannot be
reached or does not answer as expected) or none of its trials is valid, 2 usage
error, 3 or 4 --require is broken or undecided, 130 stopped by Ctrl-C or q.";

/// Lines of examples that a page asked for with `-h` has room for.
const SHORT_EXAMPLES: usize = 6;

/// Flags of what makes a trial invalid: part of every plan.
const BOUNDS: [&str; 3] = ["max_slip", "max_steal", "max_other"];

/// Headings of every experiment, below its own, and the flags under them.
const FRAME_HEADINGS: [Heading; 2] = [
    ("Validity", &BOUNDS),
    (
        "Output",
        &[
            "output", "resume", "require", "format", "metrics", "no_html", "plain",
        ],
    ),
];

const FRAME_SHORT: [(&str, &str); 4] = [
    ("output", "Where to write the record"),
    ("resume", "Resume an interrupted run"),
    ("require", "Exit with 0, 3 or 4 by a condition"),
    ("format", "How to print the findings"),
];

type Heading = (&'static str, &'static [&'static str]);

/// What was typed, which need not be UTF-8; clap reports any other mistake and ends the program.
pub(crate) fn parsed(words: &[OsString]) -> Result<ArgMatches, Failure> {
    let parse = |words: &[OsString]| command().try_get_matches_from(words);
    let not_utf8 = words.iter().find(|word| word.to_str().is_none());
    parse(words).map_err(|error| match (error.kind(), not_utf8) {
        (ErrorKind::InvalidUtf8, Some(word)) => Failure::Mistake(format!(
            "the argument '{}' is not UTF-8, which only names of files and the command of side \
             may be without; write it in UTF-8",
            word.to_string_lossy().escape_debug()
        )),
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _) => {
            let shown = error.print().and_then(|()| std::io::stdout().flush());
            shown.map_or_else(Failure::from, |()| std::process::exit(0))
        }
        _ => {
            // A message quotes words. `*` may have made them of names that others chose, and the
            // log of a job keeps what is printed.
            let printable = |word: &OsString| shown_urls(&safe(&word.to_string_lossy())).into();
            let words = words.iter().map(printable);
            let printable: Vec<OsString> = words.collect();
            let mut error = parse(&printable).err().unwrap_or(error);
            if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
                && let Some(tip) = foreign::tip(&printable, flag)
            {
                error.remove(ContextKind::SuggestedArg);
                let tip = ContextValue::StyledStrs(vec![tip.into()]);
                error.insert(ContextKind::Suggested, tip);
            }
            error.exit()
        }
    })
}

/// The command line as it is parsed, completed and documented.
pub(crate) fn command() -> Command {
    let mut cli = Cli::command();
    // Before the commands that use their records.
    for (order, entry) in EXPERIMENTS.iter().enumerate() {
        let experiment = experiment((entry.command)(), &entry.help);
        cli = cli.subcommand(experiment.display_order(order));
    }
    let mut command = cli.mut_args(only_in_long_help);
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name.clone(), |sub| ending(sub, &name));
    }
    command
}

/// The help of an experiment: its flags under headings, and the rarer ones left
/// out of `-h`.
fn experiment(mut command: Command, page: &HelpPage) -> Command {
    let short = |arg: &Arg| {
        let mut short = page.short.iter().chain(&FRAME_SHORT);
        short.find(|(id, _)| arg.get_id() == id)
    };
    command = command.mut_args(|arg| match short(&arg) {
        Some((_, words)) => {
            let long = arg.get_help().cloned().unwrap_or_default();
            arg.help(*words).long_help(long).hide_possible_values(false)
        }
        None => only_in_long_help(arg),
    });
    for (heading, ids) in page.headings.iter().chain(&FRAME_HEADINGS) {
        for id in *ids {
            command = command.mut_arg(id, |arg| arg.help_heading(*heading));
        }
    }
    // Headings come in the order of their last flags: those of a server go
    // below those that every run has.
    let ids = command.get_arguments().filter(is_for_a_server);
    let ids: Vec<clap::Id> = ids.map(|arg| arg.get_id().clone()).collect();
    for id in ids {
        command = command.mut_arg(id, |arg| arg);
    }
    let names_slip = page.short.iter().any(|(id, _)| *id == "max_slip");
    if !offers_requests(&command) && !names_slip {
        // It has no slip; the flag is accepted, as in scripts for all experiments.
        command = command.mut_arg("max_slip", |arg| arg.hide(true));
    }
    // The hash service is part of every plan that has one.
    let is_of_service = |arg: &&Arg| arg.get_help_heading() == Some(FOR_THE_HASH_SERVICE);
    let of_service = command.get_arguments().filter(is_of_service);
    let of_service: Vec<clap::Id> = of_service.map(|arg| arg.get_id().clone()).collect();
    let fixed = page.fixed.iter().copied().flatten();
    let fixed = fixed.chain(&BOUNDS).map(clap::Id::from);
    let fixed: Vec<clap::Id> = fixed.chain(of_service).collect();
    command.mut_arg("resume", |arg| arg.conflicts_with_all(fixed))
}

fn is_for_a_server(arg: &&Arg) -> bool {
    arg.get_help_heading() == Some(FOR_A_SERVER)
}

/// Whether an experiment sends requests, to a server or to the hash service.
fn offers_requests(command: &Command) -> bool {
    command.get_arguments().any(|arg| is_for_a_server(&arg))
}

/// Not in `-h`. The manual takes the long text of such a flag alone.
fn only_in_long_help(arg: Arg) -> Arg {
    let help = arg.get_help().cloned().unwrap_or_default();
    arg.long_help(help).hide_short_help(true)
}

/// What stands below the flags: examples and exit codes, or for a long page
/// where they are.
fn ending(sub: Command, name: &str) -> Command {
    let examples = sub.get_after_help().map(ToString::to_string);
    let examples = examples.unwrap_or_default();
    let is_experiment = EXPERIMENTS.iter().any(|entry| entry.name == name);
    let is_long = is_experiment || examples.lines().count() > SHORT_EXAMPLES;
    let status = match is_experiment {
        true if offers_requests(&sub) => SERVER_EXIT_STATUS,
        true => RUN_EXIT_STATUS,
        false => EXIT_STATUS,
    };
    let long = match examples.contains(EXIT_STATUS_BEGINS) {
        true => examples,
        false => format!("{examples}\n\n{status}"),
    };
    let sub = sub.after_long_help(long);
    match is_long {
        true => sub.after_help(format!("All flags, with examples: plimsoll {name} --help")),
        false => sub,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pages, 80 columns wide.
    fn pages() -> Vec<Command> {
        let command = command().term_width(80);
        let subs: Vec<Command> = command.get_subcommands().cloned().collect();
        let subs = subs.into_iter().map(|sub| sub.term_width(80));
        subs.chain([command]).collect()
    }

    #[test]
    fn the_flags_fit_together_as_they_are_shown() {
        command().debug_assert();
    }

    #[test]
    fn every_page_fits_its_window_and_has_examples_and_exit_codes() {
        for mut page in pages() {
            let name = page.get_name().to_owned();
            let short = page.render_help().to_string();
            let lines = short.lines().count();
            let long = page.render_long_help().to_string();
            // Examples must not be broken into lines.
            let below = [page.get_after_long_help(), page.get_after_help()];
            let below: Vec<String> = below.into_iter().flatten().map(|s| s.to_string()).collect();
            let examples = below.iter().flat_map(|text| text.lines());
            let examples = examples.filter(|line| line.starts_with("  "));
            for line in long.lines().chain(FIRST_STEPS.lines()).chain(examples) {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
            if name != "plimsoll" {
                assert!(lines <= 45, "{name}: {lines} lines\n{short}");
                assert!(long.to_lowercase().contains("example"), "{name}:\n{long}");
                assert!(long.contains("Exit status"), "{name}:\n{long}");
            }
        }
    }
}
