//! The command: what was typed, what is meant, experiment, view, exit code.
//!
//! This is the only room that knows flags, exit codes and colours. It
//! measures nothing and concludes nothing.

mod args;
mod best;
mod burn;
mod compare;
mod concluded;
mod doctor;
mod export;
mod failure;
mod finish;
mod gate;
mod help;
mod import;
mod leftovers;
mod live;
mod loaded;
mod meant;
mod needs;
mod output;
mod page_file;
mod plan;
mod progress;
mod record_file;
mod remark;
mod replay;
mod report;
mod resume;
mod selftest;
mod shell;
mod side;
mod signals;
mod stop;
mod sweep;
mod yields;

use args::{Cli, Command};
use clap::FromArgMatches;
use failure::Failure;
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
    let cli = Cli::from_arg_matches(&help::command().get_matches()).unwrap_or_else(|e| e.exit());
    let output = output::Output::new(cli.color, !cli.no_charts);
    let done = match cli.command {
        Command::Sweep(args) => sweep::run(*args, &output),
        Command::Yield(args) => yields::run(&args, &output),
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
    };
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
