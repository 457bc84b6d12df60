//! Development tasks, as `cargo xtask TASK`.
//!
//! `guest` runs tests on a real kernel with cgroup v2, in a virtual machine
//! emulated on any x86-64 Linux, without root; `guest burst` measures servers in
//! such machines. `dist` makes what is handed out.
//! `reliability` tries faults on real runs. `fuzz` looks for input on which a
//! parser fails.
//!
//! No other crate may depend on this one, and it contains nothing that users
//! need.

mod args;
mod cargo;
mod dist;
mod error;
mod fuzz;
mod guest;
mod reliability;
mod tools;
mod workspace;

use args::Task;
use error::XtaskError;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|arg| arg.to_string_lossy().into_owned());
    match run(typed) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // If standard error is closed, the message is lost.
            let _ = writeln!(std::io::stderr(), "xtask: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(typed: impl Iterator<Item = String>) -> Result<u8, XtaskError> {
    match args::parse(typed)? {
        Task::Help => show(args::HELP.trim_end()).map(|()| 0),
        Task::Reliability => reliability::run(),
        Task::Dist(args) => dist::run(&args),
        Task::Guest(args) => guest::run(&args),
        Task::GuestBurst(args) => guest::burst::run(&args),
        Task::GuestPressure(pressure, flags) => guest::pressure::run(pressure, &flags),
        Task::Fuzz(args) => fuzz::run(&args),
    }
}

/// A line of standard output.
fn show(line: &str) -> Result<(), XtaskError> {
    writeln!(std::io::stdout(), "{line}").map_err(XtaskError::Output)
}
