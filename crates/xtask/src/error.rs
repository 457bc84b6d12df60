//! Errors of a task, each a sentence with a remedy.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a task failed. A failing test is not an error but an exit status.
#[derive(Debug, Error)]
pub(crate) enum XtaskError {
    #[error("{0}; see `cargo xtask --help`")]
    Usage(String),
    /// Not an x86-64 machine.
    #[error(
        "the guest runs programs built for this machine on an x86-64 kernel, and this machine is \
         {arch}: run it on x86-64 Linux"
    )]
    Architecture {
        /// Rust's name for it.
        arch: &'static str,
    },
    /// Required programs are not installed.
    #[error("{missing} not found: apt-get install --no-install-recommends {packages}")]
    Missing {
        /// The programs.
        missing: String,
        /// Debian packages that contain them.
        packages: String,
    },
    /// Apt has no kernel package.
    #[error(
        "apt knows no kernel '{package}': run apt-get update, use Debian 12's package sources, or \
         give a vmlinuz with --kernel FILE"
    )]
    NoKernel {
        /// The package that depends on the kernel.
        package: &'static str,
    },
    /// A kernel package without an image.
    #[error("{} holds no vmlinuz: give one with --kernel FILE", place.display())]
    NoImage {
        /// Where it was searched.
        place: PathBuf,
    },
    #[error("{program} did not start: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{command}` failed ({status}); {said}")]
    Command {
        /// With its arguments.
        command: String,
        status: std::process::ExitStatus,
        /// Its standard error, or where that went.
        said: String,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    /// Unexpected output of cargo, or an invalid path.
    #[error("{0}")]
    Unexpected(String),
    /// A shared library that a test needs is missing.
    #[error("{} needs the library {library}, which is not here: install it", program.display())]
    Library { program: PathBuf, library: String },
    #[error(
        "the guest did not end in {seconds} s; it said last: '{last}' (--time-limit allows more)"
    )]
    TimeLimit {
        seconds: u64,
        /// The guest's last line.
        last: String,
    },
    #[error("the guest's kernel panicked ({panic}); the guest said last: '{last}'")]
    Panic {
        /// The kernel's panic message.
        panic: String,
        /// The last line that was not the kernel's.
        last: String,
    },
    /// The guest ended before its tests.
    #[error("the guest ended before its tests did; it said last: '{last}'")]
    Died {
        /// The guest's last line.
        last: String,
    },
    /// The filter matched no test.
    #[error("no test ran in the guest: see that the names behind -- are right")]
    NothingRan,
}

impl XtaskError {
    /// 2 for usage errors and missing prerequisites, otherwise 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            XtaskError::Usage(_)
            | XtaskError::Architecture { .. }
            | XtaskError::Missing { .. }
            | XtaskError::NoKernel { .. } => 2,
            _ => 1,
        }
    }
}
