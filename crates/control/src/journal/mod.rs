//! The journal: changes that are not yet undone, on disk, so that the next start
//! can undo them if this process is killed.
//!
//! One file of JSON lines per process that changes something: a header that
//! identifies the process, then each change *before* it is made, then its undoing.
//! A torn line is a change that was never made. Nothing is synced to disk: a crash
//! that loses the page cache loses the cgroups, too.

mod at_once;
mod claims;
mod compact;
mod namespace;
mod only_one;
mod place;
mod repair;
#[cfg(test)]
mod tests;
mod undo;
mod unjournalled;

pub(crate) use claims::{Claim, claims, placed_by_other};
pub use only_one::{Asked, OnlyOne};
pub(crate) use place::lock;
pub use repair::Repaired;
pub use undo::Running;
pub(crate) use undo::{Undo, Undone, named};

use crate::error::ControlError;
use crate::idle::Knob;
use crate::placed::Placement;
use crate::tasks::{Mark, ProcessKey, check_shown};
use plimsoll_host::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// What happens to the remaining processes when a group is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// Killed, also by the repair after a killed run: processes that exist only to be
    /// measured.
    Kill,
    /// Killed by the run itself. The repair after a killed run leaves them until it is
    /// told ([`Running`]): they are somebody's work.
    KillByRun,
    /// They continue, thawed and without limits, in the group that they would have been
    /// in without us. Without cgroups they keep their nice value, class and CPUs.
    Leave,
}

/// A change to the machine, with the data that undoing it needs. Settings inside
/// our own group disappear with the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    GroupMade {
        folder: PathBuf,
        /// The group for the remaining processes if they are not killed.
        home: PathBuf,
        at_end: AtEnd,
    },
    /// A group enables more controllers than before.
    ControllersEnabled {
        folder: PathBuf,
        former: Vec<String>,
        added: Vec<String>,
    },
    /// A command was started in its own process group.
    TreeStarted {
        leader: ProcessKey,
        at_end: AtEnd,
        /// What its processes are told by; journals of older versions have none.
        #[serde(default)]
        mark: Option<Mark>,
        /// Of its processes those that do not have the mark, such as daemons that write their
        /// title over their environment.
        #[serde(default)]
        unmarked: Vec<ProcessKey>,
    },
    FolderMade {
        folder: PathBuf,
    },
    /// A file that says how deeply CPUs may sleep. It is given back only if it still holds
    /// `ours`.
    IdleKnobSet {
        knob: Knob,
        /// What was there before this and all other runs.
        former: String,
        ours: String,
    },
    /// Threads run on chosen CPUs, and what they start inherits these.
    TasksPlaced(Placement),
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    journal: u32,
    owner: ProcessKey,
    /// Identifies the boot: no change survives a reboot.
    boot_id: Option<String>,
    /// Machines may share a home directory; each leaves the journals of others alone.
    #[serde(default)]
    host: Option<String>,
    /// PIDs are valid in one PID namespace only.
    pid_namespace: Option<PathBuf>,
}

const VERSION: u32 = 1;
const ENDING: &str = ".jsonl";

impl Header {
    fn here(root: &Root, owner: ProcessKey) -> Header {
        let line = |file| fs::read_to_string(root.path(file)).ok();
        let line = |file| line(file).map(|text| text.trim().to_owned());
        Header {
            journal: VERSION,
            owner,
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            host: line("/proc/sys/kernel/hostname"),
            pid_namespace: fs::read_link(root.path("/proc/self/ns/pid")).ok(),
        }
    }
}

/// All further lines.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Change { nth: u64, change: Change },
    GivenBack { nth: u64 },
}

/// The folder of the journals of all runs of this user.
#[derive(Debug, Clone)]
pub struct Journals {
    dir: PathBuf,
}

impl Journals {
    /// The default folder: that of `place::usual`.
    pub fn usual() -> Journals {
        Journals::at(place::usual())
    }

    /// The default folder, and for root those that its runs use with another environment, as far as
    /// they exist.
    pub fn all_usual() -> Vec<Journals> {
        place::all_usual().into_iter().map(Journals::at).collect()
    }

    /// Uses this folder, which is created on demand.
    pub fn at(dir: impl Into<PathBuf>) -> Journals {
        Journals { dir: dir.into() }
    }

    /// Opens a journal for this process.
    ///
    /// # Errors
    /// [`ControlError::OtherProc`] in a PID namespace without a /proc of its own;
    /// [`ControlError::UnsafeJournal`] if others can write to the folder;
    /// [`ControlError::File`] if it cannot be created.
    pub fn open(&self, root: &Root) -> Result<Journal, ControlError> {
        let own = std::process::id();
        // Else this process has the number of another one there, which may never end.
        check_shown(root).map_err(|error| match error {
            ControlError::NoProcesses { proc } => ControlError::OtherProc { proc },
            other => other,
        })?;
        let owner = ProcessKey::now(root, own)?.ok_or_else(|| {
            let source = io::ErrorKind::NotFound.into();
            ControlError::file(&root.path("/proc/self/stat"), "read", source)
        })?;
        self.make_dir()?;
        let header = Header::here(root, owner);
        let (path, file) = compact::create(&self.dir, &header);
        let file = file.map_err(|source| ControlError::file(&path, "made", source))?;
        Ok(Journal {
            open: Arc::new(Mutex::new(Open {
                path,
                file,
                header,
                written: 0,
                kept: 0,
                next: 1,
                outstanding: BTreeMap::new(),
                is_closed: false,
            })),
            starts: Arc::default(),
            root: root.clone(),
            dir: self.dir.clone(),
        })
    }

    #[cfg(test)]
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder, made if need be, open to this user alone: its journals cause groups
    /// to be removed and processes to be killed.
    fn make_dir(&self) -> Result<(), ControlError> {
        place::make(&self.dir)
    }
}

/// The journal of this process. Clones share one file. The last clone removes it,
/// unless a change is not undone.
#[derive(Debug, Clone)]
pub struct Journal {
    open: Arc<Mutex<Open>>,
    /// Read-locked from before a process is started until its start is in the journal.
    starts: Arc<RwLock<()>>,
    root: Root,
    /// The folder of the journals.
    dir: PathBuf,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    header: Header,
    /// Bytes of all lines after the header.
    written: u64,
    /// Of these, what was not undone when the journal was written anew.
    kept: u64,
    next: u64,
    outstanding: BTreeMap<u64, Change>,
    /// Everything is being undone; no further changes are allowed.
    is_closed: bool,
}

/// The position of a change in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Journal {
    /// Records a change before it is made.
    pub(crate) fn enter(&self, change: &Change) -> Result<Entry, ControlError> {
        let mut open = self.lock();
        if open.is_closed {
            return Err(ControlError::Ending);
        }
        let nth = open.next;
        let line = Line::Change {
            nth,
            change: change.clone(),
        };
        open.append(&line)?;
        open.next += 1;
        open.outstanding.insert(nth, change.clone());
        Ok(Entry(nth))
    }

    /// Records that a change is another one than it was, before it is made.
    pub(crate) fn amend(&self, entry: Entry, change: &Change) -> Result<(), ControlError> {
        let mut open = self.lock();
        if open.is_closed {
            return Err(ControlError::Ending);
        }
        let (nth, change) = (entry.0, change.clone());
        open.outstanding.insert(nth, change.clone());
        open.append(&Line::Change { nth, change })?;
        open.shorten()
    }

    /// Records that a change was undone, or never made.
    pub(crate) fn mark_undone(&self, entry: Entry) -> Result<(), ControlError> {
        let mut open = self.lock();
        open.append(&Line::GivenBack { nth: entry.0 })?;
        open.outstanding.remove(&entry.0);
        open.shorten()
    }

    /// The folder of the journals.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Blocks [`Journal::at_once`] until the process that is being started is in the
    /// journal.
    pub(crate) fn starting(&self) -> RwLockReadGuard<'_, ()> {
        self.starts.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a change of this run is undone at its end.
    pub(crate) fn undo(&self) -> Undo<'_> {
        Undo {
            root: &self.root,
            journals: &self.dir,
            killed: None,
        }
    }

    /// Keeps other runs of this user from changing which controllers a cgroup enables,
    /// until dropped.
    ///
    /// # Errors
    /// [`ControlError::Busy`] if another run does so for too long.
    pub(crate) fn lock_controllers(&self) -> Result<File, ControlError> {
        place::lock(&self.dir)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn append(&mut self, line: &Line) -> Result<(), ControlError> {
        let appended = append(&mut self.file, line);
        self.written += appended.map_err(|source| self.not_written(source))?;
        Ok(())
    }

    fn shorten(&mut self) -> Result<(), ControlError> {
        self.compact().map_err(|source| self.not_written(source))
    }

    fn not_written(&self, source: io::Error) -> ControlError {
        ControlError::file(&self.path, "written", source)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.outstanding.is_empty() {
            // The next start removes an empty journal that remains.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Appends a line in one write, so that it is complete or torn at the end; returns its
/// length.
fn append(file: &mut File, line: &impl Serialize) -> io::Result<u64> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    Ok(text.len() as u64)
}
