//! Help pages: `-h` fits a screen; `--help` and the manual have all flags under
//! headings, examples and exit codes.

use crate::args::Cli;
use crate::registry::EXPERIMENTS;
use clap::{Arg, Command, CommandFactory};
use plimsoll_experiments::HelpPage;
use plimsoll_experiments::args::FOR_A_SERVER;

/// What `plimsoll` alone says.
pub(crate) const FIRST_STEPS: &str = "\
Plimsoll tells how much load a machine can really carry. Try first:

  plimsoll sweep --quick                    what does this machine carry? (90 s)
  plimsoll sweep http://localhost:8080/     what does this server carry?
  plimsoll doctor                           what can be measured here?
  plimsoll --help                           all commands
";

/// How the paragraph on exit codes begins on every page.
pub(crate) const EXIT_STATUS_BEGINS: &str = "Exit status: ";

const EXIT_STATUS: &str = "\
Exit status: 0 success, 1 the run failed, 2 usage error, 130 stopped by Ctrl-C.";

/// Of an experiment, whose run can be ended by a key.
const RUN_EXIT_STATUS: &str = "\
Exit status: 0 success, 1 the run failed (for example, a server cannot be
reached) or none of its trials is valid, 2 usage error, 130 stopped by Ctrl-C or
q.";

/// Lines of examples that a page asked for with `-h` has room for.
const SHORT_EXAMPLES: usize = 6;

/// Flags of what makes a trial invalid: part of every plan.
const BOUNDS: [&str; 3] = ["max_slip", "max_steal", "max_other"];

/// Headings of every experiment, below its own, and the flags under them.
const FRAME_HEADINGS: [Heading; 2] = [
    ("Validity", &BOUNDS),
    (
        "Output",
        &["output", "resume", "format", "no_html", "plain"],
    ),
];

/// What `-h` of every experiment shows of them.
const FRAME_SHORT: [(&str, &str); 3] = [
    ("output", "Where to write the record"),
    ("resume", "Resume an interrupted run"),
    ("format", "How to print the findings"),
];

/// A heading, and the flags under it.
type Heading = (&'static str, &'static [&'static str]);

const REPORT_EXAMPLES: &str = "\
Examples:
  plimsoll report plimsoll-runs/FILE
  plimsoll report FILE -o report.html         as a page with charts
  plimsoll report FILE --goal 'p99<5ms'       by another goal
  plimsoll report FILE --no-charts --format csv > levels.csv";

const EXPORT_EXAMPLES: &str = "\
Example:
  plimsoll export FILE --hdr logs/     one log per level, to plot";

const SELFTEST_EXAMPLES: &str = "\
Example:
  plimsoll selftest --quick     how wrong is Plimsoll here? (under a minute)";

/// The command line as it is parsed, completed and documented.
pub(crate) fn command() -> Command {
    let mut cli = Cli::command();
    // Before the commands that use their records.
    for (order, entry) in EXPERIMENTS.iter().enumerate() {
        let experiment = experiment(entry.command(), &entry.help());
        cli = cli.subcommand(experiment.display_order(order));
    }
    let mut command = with_below(
        cli,
        &format!("{EXIT_STATUS} side ends as its command does."),
    )
    .mut_args(only_in_long_help)
    .mut_subcommand("report", |c| c.after_help(REPORT_EXAMPLES))
    .mut_subcommand("export", |c| c.after_help(EXPORT_EXAMPLES))
    .mut_subcommand("selftest", |c| with_below(c, SELFTEST_EXAMPLES));
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
fn experiment(command: Command, page: &HelpPage) -> Command {
    let headings: Vec<Heading> = page
        .headings
        .iter()
        .chain(&FRAME_HEADINGS)
        .copied()
        .collect();
    let short: Vec<(&str, &'static str)> = page.short.iter().chain(&FRAME_SHORT).copied().collect();
    let fixed: Vec<&'static str> = page.fixed.iter().chain(&BOUNDS).copied().collect();
    sorted(command, &headings, &short).mut_arg("resume", |arg| arg.conflicts_with_all(fixed))
}

/// One more paragraph below the flags.
fn with_below(command: Command, more: &str) -> Command {
    let known = below(&command);
    command.after_help(format!("{known}\n\n{more}"))
}

/// What stands below the flags.
fn below(command: &Command) -> String {
    let known = command.get_after_help().map(ToString::to_string);
    known.unwrap_or_default()
}

/// Sorts the flags of a command that has many under headings, and keeps the
/// rarer ones out of its `-h`.
fn sorted(mut sub: Command, headings: &[Heading], in_short: &[(&str, &'static str)]) -> Command {
    let short = |arg: &Arg| in_short.iter().find(|(id, _)| arg.get_id() == id);
    sub = sub.mut_args(|arg| match short(&arg) {
        Some((_, words)) => {
            let long = arg.get_help().cloned().unwrap_or_default();
            arg.help(*words).long_help(long).hide_possible_values(false)
        }
        None => only_in_long_help(arg),
    });
    for (heading, ids) in headings {
        for id in *ids {
            sub = sub.mut_arg(id, |arg| arg.help_heading(*heading));
        }
    }
    // Headings come in the order of their last flags: those of a server go
    // below those that every run has.
    let of_server = |arg: &&Arg| arg.get_help_heading() == Some(FOR_A_SERVER);
    let ids: Vec<clap::Id> = sub
        .get_arguments()
        .filter(of_server)
        .map(|arg| arg.get_id().clone())
        .collect();
    for id in ids {
        sub = sub.mut_arg(id, |arg| arg);
    }
    sub
}

/// Not in `-h`. The manual takes the long text of such a flag alone.
fn only_in_long_help(arg: Arg) -> Arg {
    let help = arg.get_help().cloned().unwrap_or_default();
    arg.long_help(help).hide_short_help(true)
}

/// What stands below the flags: examples and exit codes, or for a long page
/// where they are.
fn ending(sub: Command, name: &str) -> Command {
    let examples = below(&sub);
    let is_experiment = EXPERIMENTS.iter().any(|entry| entry.name() == name);
    let is_long = is_experiment || examples.lines().count() > SHORT_EXAMPLES;
    let status = match is_experiment {
        true => RUN_EXIT_STATUS,
        false => EXIT_STATUS,
    };
    let long = if examples.contains(EXIT_STATUS_BEGINS) {
        examples.clone()
    } else {
        format!("{examples}\n\n{status}")
    };
    let sub = sub.after_long_help(long);
    if is_long {
        sub.after_help(format!("All flags, with examples: plimsoll {name} --help"))
    } else {
        sub
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_fit_together_as_they_are_shown() {
        command().debug_assert();
    }

    #[test]
    fn short_help_fits_a_screen_and_80_columns() {
        for sub in command().term_width(80).get_subcommands_mut() {
            let help = sub.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 45, "{}: {lines} lines\n{help}", sub.get_name());
        }
    }

    #[test]
    fn no_page_runs_over_80_columns() {
        let mut command = command().term_width(80);
        let subs: Vec<Command> = command.get_subcommands().cloned().collect();
        let subs = subs.into_iter().map(|sub| sub.term_width(80));
        let pages = subs.map(|mut sub| (sub.get_name().to_owned(), sub.render_long_help()));
        let all = ("plimsoll".to_owned(), command.render_long_help());
        for (name, page) in pages.chain([all]) {
            for line in page.to_string().lines().chain(FIRST_STEPS.lines()) {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_page_has_examples_and_exit_codes() {
        for sub in command().get_subcommands_mut() {
            let help = sub.render_long_help().to_string();
            let name = sub.get_name();
            assert!(help.to_lowercase().contains("example"), "{name}:\n{help}");
            assert!(help.contains("Exit status"), "{name}:\n{help}");
        }
    }

    #[test]
    fn no_example_is_broken_on_80_columns() {
        let command = command();
        for page in command.get_subcommands().chain([&command]) {
            let help = [page.get_after_long_help(), page.get_after_help()];
            for help in help.into_iter().flatten() {
                let help = help.to_string();
                for line in help.lines().filter(|line| line.starts_with("  ")) {
                    assert!(line.chars().count() <= 80, "{}: {line}", page.get_name());
                }
            }
        }
    }
}
