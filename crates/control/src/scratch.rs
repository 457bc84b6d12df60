//! A temporary directory of our own, in a place where other users may write, such
//! as /tmp, possibly as root.
//!
//! No other user can prepare it: its name is random, one mkdir makes it with mode
//! 0700, and an existing directory is refused. No other user can replace it: its
//! files are opened through a descriptor, whatever happens to its path.
//!
//! The directory and each process that works in it are in the journal, so the next
//! start ends those processes and removes the directory.

#[cfg(test)]
mod tests;

use crate::error::ControlError;
use crate::folder::PREFIX;
use crate::journal::{AtEnd, Change, Entry, Journal};
use crate::poll::until;
use crate::random::random;
use crate::stable::existing;
use crate::tasks::{self, Mark, ProcessKey, Tree};
use crate::tree;
use plimsoll_host::{Pid, ProcessStat, Root, mounted_within};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Signal, geteuid};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A directory that only this user can read. Clones share it; the last clone
/// removes it with all that is in it, unless something of it is kept.
#[derive(Debug, Clone)]
pub struct Scratch {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    path: PathBuf,
    folder: File,
    journal: Journal,
    entry: Entry,
    is_kept: AtomicBool,
}

/// A process that works in the directory. It stays in the journal until this is
/// dropped; drop it only after its whole process group has ended.
#[derive(Debug)]
pub struct Working {
    journal: Journal,
    entry: Entry,
    leader: ProcessKey,
    mark: Mark,
}

impl Working {
    /// Kills what has left the process group, of which its environment or its parent shows whose it
    /// is.
    ///
    /// # Errors
    /// A process cannot be killed.
    pub fn end_rest(&self) -> Result<(), ControlError> {
        let tree = Tree::marked(self.leader, Some(self.mark), &[]);
        tree::kill(self.journal.root(), tree)
    }
}

impl Scratch {
    /// Makes a directory below `parent`; `what` (`copies`) becomes part of its name.
    ///
    /// # Errors
    /// If it cannot be made, or other users can exchange it.
    pub fn make(journal: &Journal, parent: &Path, what: &str) -> Result<Scratch, ControlError> {
        // It is removed by its path, also by a repair: none that others can exchange.
        let parent = existing(parent).map_err(|source| ControlError::Unstable {
            folder: parent.to_owned(),
            source,
        })?;
        let path = parent.join(format!("{PREFIX}{what}-{:016x}", random()));
        let entry = journal.enter(&Change::FolderMade {
            folder: path.clone(),
        })?;
        match folder(&path) {
            Ok(folder) => Ok(Scratch {
                made: Arc::new(Made {
                    path,
                    folder,
                    journal: journal.clone(),
                    entry,
                    is_kept: AtomicBool::new(false),
                }),
            }),
            Err(source) => {
                journal.mark_undone(entry)?;
                Err(ControlError::file(&path, "made", source))
            }
        }
    }

    /// Starts a command that works in the directory, in its own process group.
    ///
    /// # Errors
    /// If it cannot be started or recorded in the journal; it does not run then.
    pub fn start(&self, command: &mut Command) -> io::Result<(Child, Working)> {
        let _starting = self.made.journal.starting();
        let mark = Mark::random();
        command.env(Mark::VARIABLE, mark.to_string());
        let mut child = command.process_group(0).spawn()?;
        match self.enter(&child, mark) {
            Ok(working) => Ok((child, working)),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::other(error))
            }
        }
    }

    fn enter(&self, child: &Child, mark: Mark) -> Result<Working, ControlError> {
        // A zombie is still visible until it is reaped.
        let journal = self.made.journal.clone();
        let leader = ProcessKey::now(journal.root(), child.id())?;
        let leader = leader.ok_or_else(|| ControlError::EndedEarly {
            command: child.id().to_string(),
        })?;
        let change = Change::TreeStarted {
            leader,
            at_end: AtEnd::Kill,
            mark: Some(mark),
            unmarked: Vec::new(),
        };
        let entry = journal.enter(&change)?;
        Ok(Working {
            journal,
            entry,
            leader,
            mark,
        })
    }

    /// Lets processes of other users reach what is in it and theirs, by names that they know. They
    /// can neither list nor change it.
    ///
    /// # Errors
    /// What the system says.
    pub fn let_through(&self) -> io::Result<()> {
        let mode = fs::Permissions::from_mode(0o711);
        self.made.folder.set_permissions(mode)
    }

    /// Removes what is in it at `name`.
    ///
    /// # Errors
    /// [`ControlError::Mounted`], with nothing removed, or it cannot be removed.
    pub fn remove(&self, name: &Path) -> Result<(), ControlError> {
        remove(self.made.journal.root(), &self.held().join(name))
    }

    /// Leaves what is in it at the end, for the user.
    pub fn keep(&self) {
        self.made.is_kept.store(true, Ordering::Relaxed);
    }

    /// For display; see [`Scratch::held`].
    pub fn path(&self) -> &Path {
        &self.made.path
    }

    /// A path through its descriptor. Valid while a clone of this exists, in this
    /// process and in a child before exec.
    pub fn held(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.made.folder.as_raw_fd()))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let is_kept = self.is_kept.load(Ordering::Relaxed);
        if is_kept {
            // Fails unless what was kept is gone.
            let _ = fs::remove_dir(&self.path);
        }
        // What cannot be removed, the next start tries again, and reports.
        if is_kept || remove(self.journal.root(), &self.path).is_ok() {
            let _ = self.journal.mark_undone(self.entry);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.journal.mark_undone(self.entry);
    }
}

/// Whether this looks like a directory made by [`Scratch::make`].
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PREFIX)
        && fs::symlink_metadata(path).is_ok_and(|meta| only_we_change(&meta, THROUGH))
}

/// The bits that [`Scratch::let_through`] sets.
const THROUGH: u32 = 0o011;

fn only_we_change(meta: &fs::Metadata, permitted: u32) -> bool {
    let open = meta.mode() & 0o077 & !permitted;
    meta.is_dir() && meta.uid() == geteuid().as_raw() && open == 0
}

/// Kills all processes that work in a folder or below and that Plimsoll has started, as the variable
/// of their mark shows, until none is left; returns how many there were, and which others work there.
pub(crate) fn kill_inside(root: &Root, folder: &Path) -> Result<(usize, Vec<Pid>), ControlError> {
    let works_inside = |pid| {
        let cwd = fs::read_link(root.path(format!("/proc/{pid}/cwd")));
        cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let (mut killed, mut others) = (BTreeSet::new(), Vec::new());
    until(|| {
        let mut inside = ProcessStat::all(root)?;
        inside.retain(|process| !process.has_ended() && works_inside(process.pid));
        let (ours, theirs): (Vec<_>, Vec<_>) = inside
            .into_iter()
            .partition(|process| Mark::is_any_on(root, process.pid));
        for process in &ours {
            let still = || Ok(works_inside(process.pid));
            tasks::signal(process.pid, Signal::KILL, still)?;
            killed.insert((process.pid, process.started));
        }
        others = theirs.iter().map(|process| process.pid).collect();
        Ok(ours.is_empty())
    })?;
    Ok((killed.len(), others))
}

/// Removes a folder and its content. Does not follow links, and removes nothing if something is
/// mounted in it.
pub(crate) fn remove(root: &Root, folder: &Path) -> Result<(), ControlError> {
    // The mount table has no links, and the path may lead through a descriptor.
    let resolved = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    if let Some(point) = mounted_within(root, &resolved)? {
        let folder = resolved;
        return Err(ControlError::Mounted { folder, point });
    }
    let removed = fs::remove_dir_all(folder).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied if !geteuid().is_root() => {
            make_writable(folder);
            fs::remove_dir_all(folder)
        }
        _ => Err(error),
    });
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(ControlError::file(folder, "removed", e))
        }
        _ => Ok(()),
    }
}

/// Gives a user other than root the right to remove what is in a folder of its own, which a program
/// may have taken from it (Go's module cache does). What fails shows when it is removed. Not for
/// root, who has that right: another process could put a link in place of a folder meanwhile.
fn make_writable(folder: &Path) {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let mut all = vec![folder.to_owned()];
    while let Some(one) = all.pop() {
        let _ = fs::set_permissions(&one, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&one).into_iter().flatten().flatten();
        all.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_folder(path)),
        );
    }
}

fn folder(path: &Path) -> io::Result<File> {
    DirBuilder::new().mode(0o700).create(path)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = folder.metadata()?;
    match only_we_change(&meta, 0) {
        true => Ok(folder),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "somebody has put another folder in its place",
        )),
    }
}
