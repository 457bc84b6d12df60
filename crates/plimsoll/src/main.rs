//! The command: what was typed, what is meant, experiment, view, exit code.
//!
//! This is the only room that knows flags, exit codes and colours. It
//! measures nothing and concludes nothing.

mod args;
mod compare;
mod doctor;
mod export;
mod failure;
mod import;
mod loaded;
mod meant;
mod output;
mod plan;
mod progress;
mod record_file;
mod remark;
mod report;
mod resume;
mod selftest;
mod sweep;

use args::{Cli, Command};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = output::Output::new(cli.color);
    let done = match cli.command {
        Command::Sweep(args) => sweep::run(*args, &output),
        Command::Report(args) => report::run(&args, &output),
        Command::Compare(args) => compare::run(&args, &output),
        Command::Plan(args) => plan::run(&args, &output),
        Command::Import(args) => import::run(&args, &output),
        Command::Export(args) => export::run(&args, &output),
        Command::Selftest(args) => selftest::run(&args, &output),
        Command::Doctor => doctor::run(&output),
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
