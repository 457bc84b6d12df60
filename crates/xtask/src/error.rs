//! What can go wrong with a chore, each as one sentence with the way out.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a chore could not be done. A test that fails is no error but an exit
/// status.
#[derive(Debug, Error)]
pub(crate) enum XtaskError {
    /// What was typed makes no sense.
    #[error("{0}; see `cargo xtask --help`")]
    Usage(String),
    /// Another architecture.
    #[error(
        "the guest runs programs built for this machine on an x86-64 kernel, and this machine is \
         {arch}: run it on x86-64 Linux"
    )]
    Architecture {
        /// As Rust calls it.
        arch: &'static str,
    },
    /// Programs that the chore starts are not installed.
    #[error("{missing} not found: apt-get install --no-install-recommends {packages}")]
    Missing {
        /// The programs.
        missing: String,
        /// Debian's packages that hold them.
        packages: String,
    },
    /// No kernel package.
    #[error(
        "apt knows no kernel '{package}': run apt-get update, use Debian 12's package sources, or \
         give a vmlinuz with --kernel FILE"
    )]
    NoKernel {
        /// The package that depends on the kernel.
        package: &'static str,
    },
    /// A package without the file that it is for.
    #[error("{} holds no vmlinuz: give one with --kernel FILE", place.display())]
    NoImage {
        /// Where it was looked for.
        place: PathBuf,
    },
    /// A program did not start.
    #[error("{program} did not start: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed ({status}); {said}")]
    Command {
        /// With its arguments.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Its standard error, or where that went.
        said: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output is gone.
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    /// Cargo, or the image, is not what this program knows.
    #[error("{0}")]
    Unexpected(String),
    /// A shared library that a test needs.
    #[error("{} needs the library {library}, which is not here: install it", program.display())]
    Library {
        /// Who needs it.
        program: PathBuf,
        /// Its name.
        library: String,
    },
    /// The guest took too long.
    #[error(
        "the guest did not end in {seconds} s; it said last: '{last}' (--time-limit allows more)"
    )]
    TimeLimit {
        /// How long it had.
        seconds: u64,
        /// Its last line.
        last: String,
    },
    /// The guest's kernel gave up.
    #[error("the guest's kernel panicked ({panic}); the guest said last: '{last}'")]
    Panic {
        /// Why, in the kernel's words.
        panic: String,
        /// The last line that was not the kernel's.
        last: String,
    },
    /// The guest ended without a word.
    #[error("the guest ended before its tests did; it said last: '{last}'")]
    Died {
        /// Its last line.
        last: String,
    },
    /// The filter met nothing.
    #[error("no test ran in the guest: see that the names behind -- are right")]
    NothingRan,
}

impl XtaskError {
    /// 2 for what whoever typed it can put right before anything is started,
    /// else 1.
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
