//! The command line: flags, commands, output, exit codes.

mod args;
mod command_line;
mod compare;
mod demo;
mod disturbed;
mod doctor;
mod export;
mod failure;
mod format;
mod gate;
mod help;
mod helper;
mod import;
mod leftovers;
mod live;
mod load_record;
mod metrics;
mod note;
mod output;
mod page_file;
mod paint;
mod plan;
mod progress;
mod record_file;
mod registry;
mod replay;
mod report;
mod selftest;
mod service;
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
use plimsoll_load::open_files;
use registry::EXPERIMENTS;
use std::io::Write;
use std::process::ExitCode;

/// Experiments that offer requests. Others leave the limit on open files as it is, also
/// for what they start.
const OPENS_CONNECTIONS: [&str; 2] = ["sweep", "yield"];

fn main() -> ExitCode {
    if std::env::args_os().len() <= 1 {
        // As git does: a bare command prints first steps, and fails.
        let _ = std::io::stderr().write_all(help::FIRST_STEPS.as_bytes());
        return Failure::Mistake(String::new()).exit_code();
    }
    if let Some(code) = helper::run_if_asked() {
        return code;
    }
    signals::survive_file_limit();
    let typed = shim::arguments(std::env::args_os());
    match help::parsed(&typed).and_then(|matches| run(&matches)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let common = CommonArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    let output = output::Output::new(common.color, !common.no_charts, help::command);
    if let Some((name, of_experiment)) = matches.subcommand()
        && let Some(entry) = EXPERIMENTS.iter().find(|entry| entry.name == name)
    {
        match OPENS_CONNECTIONS.contains(&name) {
            true => open_files::raise()?,
            false => open_files::suffice()?,
        }
        return (entry.run)(of_experiment, &output);
    }
    let cli = Cli::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    match cli.command {
        Command::Report(args) => report::run(&args, &output),
        Command::Compare(args) => compare::run(&args, &output),
        Command::Plan(args) => plan::run(&args, &output),
        Command::Import(args) => import::run(&args, &output),
        Command::Export(args) => export::run(&args, &output),
        Command::Side(args) => {
            open_files::suffice()?;
            side::run(&args)
        }
        Command::Gate(args) => gate::run(&args),
        Command::Service(args) => {
            open_files::raise()?;
            service::run(&args, &output)
        }
        Command::Demo(args) => demo::run(&args, &output),
        Command::Replay(args) => replay::run(&args, &output),
        Command::Selftest(args) => {
            open_files::raise()?;
            selftest::run(&args, &output)
        }
        Command::Doctor => doctor::run(&output),
        Command::Repair(args) => leftovers::run(&args, &output),
        Command::Completions(args) => shell::completions(&args, help::command(), &output),
        Command::Man(args) => shell::man(&args, help::command(), &output),
    }
}
