//! Chores of those who work on Plimsoll, as `cargo xtask CHORE`.
//!
//! There is one: `guest` runs tests on a real kernel with cgroup v2, in a
//! virtual machine that any x86-64 Linux can emulate, root or not.
//!
//! ```text
//! cargo xtask guest                              all packages on the list
//! cargo xtask guest --package plimsoll-host      one of them
//! cargo xtask guest -- cgroup                    the tests with this in their name
//! ```
//!
//! This room must not be known by any other, and holds nothing that a user of
//! Plimsoll needs.

mod args;
mod error;
mod guest;

use args::Asked;
use error::XtaskError;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|arg| arg.to_string_lossy().into_owned());
    match run(typed) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Where standard error is closed there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "xtask: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(typed: impl Iterator<Item = String>) -> Result<u8, XtaskError> {
    match args::parse(typed)? {
        Asked::Help => {
            let shown = std::io::stdout().write_all(args::HELP.as_bytes());
            shown.map_err(XtaskError::Output)?;
            Ok(0)
        }
        Asked::Guest(args) => guest::run(&args),
    }
}
