//! The command: what was typed, what is meant, experiment, view, exit code.
//!
//! This is the only room that knows flags, exit codes and colours. It
//! measures nothing and concludes nothing.

mod args;
mod burn;
mod compare;
mod doctor;
mod export;
mod failure;
mod gate;
mod help;
mod import;
mod leftovers;
mod live;
mod loaded;
mod needs;
mod output;
mod page_file;
mod plan;
mod progress;
mod record_file;
mod registry;
mod remark;
mod replay;
mod report;
mod selftest;
mod session;
mod shell;
mod shim;
mod side;
mod signals;
mod stop;
mod tally;
mod terminal;

use args::{Cli, Command, CommonArgs};
use clap::{ArgMatches, FromArgMatches};
use failure::Failure;
use registry::EXPERIMENTS;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() <= 1 {
        // Git and its like answer a bare command with what can be done, and
        // with failure, for nothing was.
        let _ = std::io::stderr().write_all(help::FIRST_STEPS.as_bytes());
        return Failure::Mistake(String::new()).exit_code();
    }
    if let Some(code) = gate::if_asked().or_else(burn::if_asked) {
        return code;
    }
    let matches = help::command().get_matches_from(shim::arguments(std::env::args_os()));
    let done = run(&matches);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(sentence) = failure.sentence() {
                // There is nobody left to tell if this fails too.
                let _ = writeln!(std::io::stderr(), "plimsoll: {sentence}");
            }
            failure.exit_code()
        }
    }
}

/// Runs an experiment, or a command of another kind.
fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let common = CommonArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    let output = output::Output::new(common.color, !common.no_charts);
    if let Some((name, of_experiment)) = matches.subcommand()
        && let Some(entry) = EXPERIMENTS.iter().find(|entry| entry.name() == name)
    {
        return entry.run(of_experiment, &output);
    }
    let cli = Cli::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    match cli.command {
        Command::Report(args) => report::run(&args, &output),
        Command::Compare(args) => compare::run(&args, &output),
        Command::Plan(args) => plan::run(&args, &output),
        Command::Import(args) => import::run(&args, &output),
        Command::Export(args) => export::run(&args, &output),
        Command::Side(args) => side::run(&args),
        Command::Replay(args) => replay::run(&args, &output),
        Command::Selftest(args) => selftest::run(&args, &output),
        Command::Doctor => doctor::run(&output),
        Command::Completions(args) => shell::completions(&args, &output),
        Command::Man(args) => shell::man(&args, &output),
    }
}
