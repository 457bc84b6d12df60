//! The gate: a process that joins the command's groups, stops itself until it is
//! continued, and then becomes the command, with arguments and environment byte for
//! byte. A shell would drop variables whose names it does not accept.

use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// How to start a process that calls [`pass_gate`] with the arguments after these:
/// a program and its first arguments.
#[derive(Debug, Clone)]
pub struct Gate {
    program: OsString,
    args: Vec<OsString>,
}

impl Gate {
    /// A gate that runs `program` with `args` and further arguments.
    pub fn new(program: impl Into<OsString>, args: impl IntoIterator<Item = OsString>) -> Gate {
        Gate {
            program: program.into(),
            args: args.into_iter().collect(),
        }
    }

    /// A command line for the gate that joins each of `folders`. The program of the
    /// command is the next argument.
    pub(crate) fn command(&self, folders: &[&Path]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(folders.len().to_string());
        command.args(folders);
        command
    }
}

/// Why a process at the gate has not become the command.
#[derive(Debug, thiserror::Error)]
pub enum NotPassed {
    /// Another program started it.
    #[error(
        "only Plimsoll itself starts this: it stops until it is let go on; start a command by plimsoll side -- COMMAND"
    )]
    Unasked,
    /// It could not join a group. Its parent reports why.
    #[error("the cgroup {folder} cannot be joined: {source}; look whether somebody has removed it")]
    Outside { folder: String, source: io::Error },
    /// The program does not exist or is not executable.
    #[error("'{program}' cannot be started: {}", reason(source))]
    NoProgram {
        /// As given.
        program: String,
        source: io::Error,
    },
}

impl NotPassed {
    /// The exit code that a shell would use.
    pub fn code(&self) -> u8 {
        match self {
            NotPassed::NoProgram { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            _ => 126,
        }
    }
}

fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => {
            "it is not found; check its name and PATH, and for a script the interpreter in its first line".to_owned()
        }
        _ => format!("{source}; it must be a program for this machine, and executable"),
    }
}

/// Joins groups, stops, and becomes the command: `args` are a number of folders,
/// those folders, the program and its arguments. Returns only on failure. The
/// process must have one thread: another one would not join the groups, and might
/// take the stop.
pub fn pass_gate(args: impl IntoIterator<Item = OsString>) -> NotPassed {
    let mut args = args.into_iter();
    let Some(folders) = args.next().and_then(|n| n.to_str()?.parse().ok()) else {
        return NotPassed::Unasked;
    };
    for folder in args.by_ref().take(folders) {
        if let Err(source) = join(Path::new(&folder)) {
            let folder = folder.to_string_lossy().into_owned();
            return NotPassed::Outside { folder, source };
        }
    }
    let Some(program) = args.next() else {
        return NotPassed::Unasked;
    };
    // With one thread the stop takes effect before this returns. A process may always
    // stop itself.
    let _ = kill_process(getpid(), Signal::STOP);
    let source = Command::new(&program).args(args).exec();
    NotPassed::NoProgram {
        program: program.to_string_lossy().into_owned(),
        source,
    }
}

/// Writing 0 into `tasks` moves the calling thread. Unlike moving a process this
/// does not take the lock that waits for all forks and exits:
/// `cgroup_procs_write_start` (kernel/cgroup/cgroup.c, since Linux 5.8).
fn join(folder: &Path) -> io::Result<()> {
    let mut tasks = fs::OpenOptions::new()
        .write(true)
        .open(folder.join("tasks"))?;
    io::Write::write_all(&mut tasks, b"0")
}
