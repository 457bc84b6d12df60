//! Errors of a task, each a sentence with a remedy.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a task failed. A failing test is not an error but an exit status.
#[derive(Debug, Error)]
pub(crate) enum XtaskError {
    #[error("{0}; see `cargo xtask --help`")]
    Usage(String),
    #[error(
        "the guest runs programs built for this machine on an x86-64 kernel, and this machine is \
         {arch}: run it on x86-64 Linux"
    )]
    Architecture { arch: &'static str },
    #[error("{missing} not found: {install}")]
    Missing {
        missing: String,
        /// The command that installs them.
        install: String,
    },
    #[error(
        "apt knows no kernel '{package}': run apt-get update, use Debian 12's package sources, or \
         give a vmlinuz with --kernel FILE"
    )]
    NoKernel {
        /// The package that depends on the kernel.
        package: &'static str,
    },
    #[error("{} contains no {wanted}: see what Debian's package holds now", place.display())]
    NotInPackage { wanted: String, place: PathBuf },
    #[error("{program} did not start: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{command}` failed ({status}); {output}")]
    Command {
        command: String,
        status: std::process::ExitStatus,
        /// Its standard error, or where that went.
        output: String,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    /// Unexpected output of cargo, or an invalid path.
    #[error("{0}")]
    Unexpected(String),
    #[error("{} needs the library {library}, which is not installed: install it", program.display())]
    Library { program: PathBuf, library: String },
    #[error(
        "the guest did not end within {seconds} s; its last line: '{last}' (raise --time-limit)"
    )]
    TimeLimit { seconds: u64, last: String },
    #[error("the guest's kernel panicked ({panic}); the guest's last line: '{last}'")]
    Panic {
        panic: String,
        /// The last line that was not the kernel's.
        last: String,
    },
    #[error("the guest ended before its tests; its last line: '{last}'")]
    Died { last: String },
    /// A guest that serves did not.
    #[error("{0}")]
    Guest(String),
    #[error("no test ran in the guest: check the names after --")]
    NothingRan,
}

impl XtaskError {
    /// Converts an error of the operating system on a file.
    pub(crate) fn on(path: &Path) -> impl FnOnce(io::Error) -> XtaskError {
        let path = path.to_owned();
        move |source| XtaskError::File { path, source }
    }

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
