//! Errors of changes to the machine.

use crate::TIMEOUT;
use crate::mechanism::Mechanism;
use plimsoll_host::{HostError, Pid};
use plimsoll_model::CpuId;
use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be changed or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    #[error("{mechanism} cannot be set here: {reason}")]
    NotHere {
        mechanism: Mechanism,
        /// A sentence without its full stop.
        reason: String,
    },
    #[error(
        "this user may not change {}; run as root, or in a cgroup of your own: \
         systemd-run --user --scope -p Delegate=yes COMMAND; without one, commands are held by \
         scheduling class and signals", .path.display()
    )]
    Denied { path: PathBuf },
    /// Another process removed the group while it was in use.
    #[error(
        "the cgroup {} was removed by someone else while it was in use; what ran in it is no \
         longer held, so start it again", .folder.display()
    )]
    Gone { folder: PathBuf },
    /// The group exists but lacks a controller's file.
    #[error(
        "{} is not there: its controller is not enabled for this cgroup, or the kernel is too old; \
         go without this setting, or enable it in cgroup.subtree_control of the group above",
        .path.display()
    )]
    NoController { path: PathBuf },
    #[error("the kernel does not take '{value}' for {}: {source}; {hint}", .path.display())]
    Refused {
        path: PathBuf,
        value: String,
        source: io::Error,
        /// What to check.
        hint: &'static str,
    },
    /// A file or folder could not be read or created.
    #[error("{} cannot be {verb}: {source}", .path.display())]
    File {
        path: PathBuf,
        /// The failed action, as a participle: read, made, removed.
        verb: &'static str,
        source: io::Error,
    },
    #[error("{} holds '{found}'; this kernel writes it in a way that is not known here", .path.display())]
    Malformed { path: PathBuf, found: String },
    #[error(
        "{what} did not stop within {} s; a process that waits for a disk or a driver cannot be \
         stopped until it has its answer, so try again or kill it", TIMEOUT.as_secs()
    )]
    NotFrozen { what: String },
    /// A group could not be emptied or removed.
    #[error(
        "{what} still has processes after {} s ({processes}); end them, and the next start removes \
         what is left", TIMEOUT.as_secs()
    )]
    StillThere {
        what: String,
        /// PIDs.
        processes: String,
    },
    #[error(
        "'{command}' cannot be started under control: {source}; see `ulimit -u` and pids.max of the cgroup, and whether \
         the program file of Plimsoll is still there"
    )]
    Start { command: String, source: io::Error },
    /// Everything is being undone, so nothing may start.
    #[error("this run is being ended, so nothing more is started; start it again")]
    Ending,
    /// The command ended before its limits were set.
    #[error("'{command}' ended before it was under control; somebody killed it, so start it again")]
    EndedEarly { command: String },
    /// A setting that works only before a command starts came too late.
    #[error("{mechanism} must be set before a command is started: {reason}")]
    TooLate {
        mechanism: Mechanism,
        /// A sentence without its full stop.
        reason: &'static str,
    },
    /// A value is outside the range that the kernel accepts.
    #[error("{what} is out of range; choose {range}")]
    OutOfRange {
        /// The setting and its value.
        what: String,
        /// With its unit.
        range: &'static str,
    },
    /// Another user can read or write the folder of the journals.
    #[error(
        "{} is not this user's alone (owner {owner}, mode {mode:03o}; it must be a folder of this \
         user with mode 700), so a journal in it is not to be trusted; remove it, or set \
         XDG_STATE_HOME to a folder of this user", .dir.display()
    )]
    UnsafeJournal { dir: PathBuf, owner: u32, mode: u32 },
    #[error(
        "{}, where changes are noted until they are undone, cannot be made: {source}; set \
         XDG_STATE_HOME to a folder of this user", .dir.display()
    )]
    NoJournals { dir: PathBuf, source: io::Error },
    /// Another user could have us remove or start something else.
    #[error(
        "no temporary folder is made in {}: {source}; set TMPDIR to a folder of this user, or to \
         /tmp", .folder.display()
    )]
    Unstable { folder: PathBuf, source: io::Error },
    /// A repair could not determine whether this process has ended.
    #[error(
        "{} is not of the PID namespace that this process runs in, so what a killed run has changed could not be given back; mount it (mount -t proc proc /proc, or unshare with --mount-proc)",
        .proc.display()
    )]
    OtherProc { proc: PathBuf },
    /// It holds files of another folder.
    #[error("{} is kept, because something is mounted at {}: unmount it, and the next start removes it", .folder.display(), .point.display())]
    Mounted { folder: PathBuf, point: PathBuf },
    /// Nothing tells which processes have ended.
    #[error(
        "{} shows no processes of this PID namespace, so nothing tells which runs have ended, and \
         their journals are kept; mount it (mount -t proc proc /proc) and run: plimsoll repair",
        .proc.display()
    )]
    NoProcesses { proc: PathBuf },
    /// Processes have other start times here.
    #[error(
        "this is a time namespace, in which processes have other start times, so nothing tells which runs have ended, and their journals are kept; run it outside (nsenter --time=/proc/1/ns/time)"
    )]
    OtherClock,
    #[error(
        "another run has been changing cgroups for {} s: it has {} locked; wait for its end, or \
         end it (fuser -v {} shows it)", TIMEOUT.as_secs(), .dir.display(), .dir.display()
    )]
    Busy { dir: PathBuf },
    /// A file that keeps CPUs awake.
    #[error(
        "this user may not write to {}; run as root (a container also needs a writable /sys), or \
         use a spinner, which anybody may", .path.display()
    )]
    IdleDenied { path: PathBuf },
    #[error("{} is not there: the CPU is offline, or this kernel has no such file", .path.display())]
    NoIdleFile { path: PathBuf },
    /// A thread that keeps a CPU awake could not be started there.
    #[error(
        "no spinner can run on CPU {cpu}: {source}; choose a CPU that is online and this process' \
         to use, and see `ulimit -u` and pids.max of the cgroup"
    )]
    NoSpinner { cpu: CpuId, source: io::Error },
    #[error(transparent)]
    Host(#[from] HostError),
}

impl ControlError {
    /// `verb` is the failed action, as a participle.
    pub(crate) fn file(path: &Path, verb: &'static str, source: io::Error) -> ControlError {
        let path = path.to_owned();
        ControlError::File { path, verb, source }
    }

    pub(crate) fn still_there(what: String, pids: &[Pid]) -> ControlError {
        let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
        let processes = match pids.is_empty() {
            true => "none with a number here".to_owned(),
            false => pids.join(", "),
        };
        ControlError::StillThere { what, processes }
    }
}
