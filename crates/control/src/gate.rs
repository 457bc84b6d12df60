//! Who stands between a command and its start: a process that goes into the
//! command's groups, stops itself until it is let go on, and then becomes the
//! command, with its arguments and environment byte for byte. A shell would drop
//! variables whose names it does not know.

use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// How a process is started that calls [`pass_gate`] with the arguments that
/// follow these: a program and its first arguments.
#[derive(Debug, Clone)]
pub struct Gate {
    program: OsString,
    args: Vec<OsString>,
}

impl Gate {
    /// A gate that is `program` with `args` and more.
    pub fn new(program: impl Into<OsString>, args: impl IntoIterator<Item = OsString>) -> Gate {
        Gate {
            program: program.into(),
            args: args.into_iter().collect(),
        }
    }

    /// It, to be let through to a command whose program is the next argument, once
    /// it is in each of `folders`.
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
    /// It was started by somebody else.
    #[error(
        "only Plimsoll itself starts this: it stops until it is let go on; start a command by plimsoll side -- COMMAND"
    )]
    Unasked,
    /// It could not go into a group. Whoever started it says why.
    #[error("the cgroup {folder} cannot be joined: {source}; look whether somebody has removed it")]
    Outside {
        /// Which.
        folder: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no such program, or it is none.
    #[error("'{program}' cannot be started: {}", reason(source))]
    NoProgram {
        /// As it was named.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl NotPassed {
    /// The exit code, as of a shell that cannot start a command.
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

/// Goes into groups, stops, and becomes the command: `args` are a number of
/// folders, those folders, the program and its arguments. Returns only why it has
/// not. For a process with one thread: another one would
/// not go into the groups, and might take the stop.
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
    // It has stopped when this returns, since it has no other thread. Nobody can
    // refuse it.
    let _ = kill_process(getpid(), Signal::STOP);
    let source = Command::new(&program).args(args).exec();
    NotPassed::NoProgram {
        program: program.to_string_lossy().into_owned(),
        source,
    }
}

/// A thread that writes 0 into `tasks` moves itself, and that takes no lock of all
/// forks and exits, for which moving a process waits: `cgroup_procs_write_start`
/// (kernel/cgroup/cgroup.c, since Linux 5.8).
fn join(folder: &Path) -> io::Result<()> {
    let mut tasks = fs::OpenOptions::new()
        .write(true)
        .open(folder.join("tasks"))?;
    io::Write::write_all(&mut tasks, b"0")
}
