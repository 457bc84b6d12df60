//! Development tasks, as `cargo xtask TASK`.
//!
//! The only task is `guest`: it runs tests on a real kernel with cgroup v2, in
//! a virtual machine emulated on any x86-64 Linux, without root.
//!
//! ```text
//! cargo xtask guest                              all packages on the list
//! cargo xtask guest --package plimsoll-host      one of them
//! cargo xtask guest -- cgroup                    the tests with this in their name
//! ```
//!
//! No other crate may depend on this one, and it contains nothing that users
//! need.

mod args;
mod error;
mod guest;

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
        Task::Help => {
            let shown = std::io::stdout().write_all(args::HELP.as_bytes());
            shown.map_err(XtaskError::Output)?;
            Ok(0)
        }
        Task::Guest(args) => guest::run(&args),
    }
}
