//! What can go wrong in changing the machine.

use crate::mechanism::Mechanism;
use plimsoll_host::HostError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why something could not be changed or given back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The mechanism cannot be used here.
    #[error("{mechanism} cannot be set here: {reason}")]
    NotHere {
        /// Which.
        mechanism: Mechanism,
        /// Why, as a sentence without its end.
        reason: String,
    },
    /// The kernel does not let this user do it.
    #[error(
        "this user may not change {}; run as root, or in a cgroup of your own: \
         systemd-run --user --scope -p Delegate=yes COMMAND; without one, commands are held by \
         scheduling class and signals", .path.display()
    )]
    Denied {
        /// Which file or folder.
        path: PathBuf,
    },
    /// Somebody else removed the group while it was in use.
    #[error(
        "the cgroup {} was removed by someone else while it was in use; what ran in it is no \
         longer held, so start it again", .folder.display()
    )]
    Gone {
        /// Its folder.
        folder: PathBuf,
    },
    /// The group is there but not the file of a controller.
    #[error(
        "{} is not there: its controller is not enabled for this cgroup, or the kernel is too old; \
         go without this setting, or enable it in cgroup.subtree_control of the group above",
        .path.display()
    )]
    NoController {
        /// Which file.
        path: PathBuf,
    },
    /// The kernel does not take a value.
    #[error("the kernel does not take '{value}' for {}: {source}; {hint}", .path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// What was written.
        value: String,
        /// What the kernel said.
        source: io::Error,
        /// What to look at.
        hint: &'static str,
    },
    /// A file or folder could not be read or made.
    #[error("{} cannot be {verb}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried, as a participle: read, made, removed.
        verb: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file holds something else than is documented.
    #[error("{} holds '{found}'; this kernel writes it in a way that is not known here", .path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Its text.
        found: String,
    },
    /// What was to stand still does not.
    #[error(
        "{what} did not stop within {} s; a process that waits for a disk or a driver cannot be \
         stopped until it has its answer, so try again or kill it", .patience.as_secs()
    )]
    NotFrozen {
        /// Which group.
        what: String,
        /// How long was waited.
        patience: Duration,
    },
    /// A group could not be emptied or removed.
    #[error(
        "{what} still has processes after {} s ({processes}); end them, and the next start removes \
         what is left", .patience.as_secs()
    )]
    StillThere {
        /// Which group.
        what: String,
        /// Their numbers.
        processes: String,
        /// How long was waited.
        patience: Duration,
    },
    /// A command could not be started.
    #[error(
        "'{command}' cannot be started under control: {source}; see `ulimit -u` and pids.max of the cgroup, and whether \
         the program file of Plimsoll is still there"
    )]
    Start {
        /// Its program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// All is being given back.
    #[error("this run is being ended, so nothing more is started; start it again")]
    Ending,
    /// The command ended before its limits stood.
    #[error("'{command}' ended before it was under control; somebody killed it, so start it again")]
    EndedEarly {
        /// Its program.
        command: String,
    },
    /// What can only be set before a command starts came after.
    #[error("{mechanism} must be set before a command is started: {reason}")]
    TooLate {
        /// Which.
        mechanism: Mechanism,
        /// Why, as a sentence without its end.
        reason: &'static str,
    },
    /// A value lies outside what any kernel takes.
    #[error("{what} is out of range; choose {range}")]
    OutOfRange {
        /// What, with the value.
        what: String,
        /// The range, with its unit.
        range: &'static str,
    },
    /// The journals' folder belongs to someone else.
    #[error(
        "{} is not this user's alone, so a journal in it is not to be trusted; remove it, or set \
         XDG_RUNTIME_DIR to a folder that is", .dir.display()
    )]
    UnsafeJournal {
        /// Which folder.
        dir: PathBuf,
    },
    /// The machine could not be read.
    #[error(transparent)]
    Host(#[from] HostError),
}
