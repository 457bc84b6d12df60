//! A temporary directory of our own, in a place where other users may write, such
//! as /tmp, possibly as root.
//!
//! No other user can prepare it: its name is random, one mkdir makes it with mode
//! 0700, and an existing directory is refused. No other user can replace it: its
//! files are opened through a descriptor, whatever happens to its path.
//!
//! The directory and each process that works in it are in the journal, so the next
//! start ends those processes and removes the directory.

use crate::error::ControlError;
use crate::folder::PREFIX;
use crate::journal::{AtEnd, Change, Entry, Journal, random};
use crate::poll::until;
use crate::tasks::{self, Who};
use plimsoll_host::{Root, lives};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Signal, geteuid};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

/// A directory that only this user can read. Clones share it; the last clone
/// removes it if it is empty.
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
}

/// A process that works in the directory. It stays in the journal until this is
/// dropped; drop it only after its whole process group has ended.
#[derive(Debug)]
pub struct Working {
    journal: Journal,
    entry: Entry,
}

impl Scratch {
    /// Makes a directory below `parent`; `what` (`copies`) becomes part of its name.
    ///
    /// # Errors
    /// If it cannot be made, or is not ours afterwards.
    pub fn make(journal: &Journal, parent: &Path, what: &str) -> Result<Scratch, ControlError> {
        let path = parent.join(format!("{PREFIX}{what}-{}", random()));
        let path = std::path::absolute(&path).unwrap_or(path);
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
                }),
            }),
            Err(source) => {
                journal.given_back(entry)?;
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
        let mut child = command.process_group(0).spawn()?;
        match self.enter(&child) {
            Ok(working) => Ok((child, working)),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::other(error))
            }
        }
    }

    fn enter(&self, child: &Child) -> Result<Working, ControlError> {
        // A zombie is still visible until it is reaped.
        let journal = self.made.journal.clone();
        let leader = Who::now(journal.root(), child.id())?;
        let leader = leader.ok_or_else(|| ControlError::EndedEarly {
            command: child.id().to_string(),
        })?;
        let at_end = AtEnd::Kill;
        let change = Change::TreeStarted { leader, at_end };
        let entry = journal.enter(&change)?;
        Ok(Working { journal, entry })
    }

    /// Its path, for display.
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
        // Fails if a file in it is kept.
        let _ = fs::remove_dir(&self.path);
        let _ = self.journal.given_back(self.entry);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.journal.given_back(self.entry);
    }
}

/// Whether this looks like a directory made by [`Scratch::make`].
pub(crate) fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PREFIX) && fs::symlink_metadata(path).is_ok_and(|meta| is_for_us_alone(&meta))
}

fn is_for_us_alone(meta: &fs::Metadata) -> bool {
    meta.is_dir() && meta.uid() == geteuid().as_raw() && meta.mode() & 0o077 == 0
}

/// Kills all processes that work in a folder or below, until none is left; returns
/// how many there were.
pub(crate) fn kill_inside(root: &Root, folder: &Path) -> Result<usize, ControlError> {
    let works_inside = |pid| {
        let cwd = fs::read_link(root.path(format!("/proc/{pid}/cwd")));
        cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    let mut killed = BTreeSet::new();
    until(|| {
        let mut inside = lives(root)?;
        inside.retain(|life| !life.has_ended() && works_inside(life.pid));
        for life in &inside {
            let still = || Ok(works_inside(life.pid));
            tasks::signal(life.pid, Signal::KILL, still)?;
            killed.insert((life.pid, life.started));
        }
        Ok(inside.is_empty())
    })?;
    Ok(killed.len())
}

/// Removes a folder and its content. Does not follow links.
pub(crate) fn remove(folder: &Path) -> Result<(), ControlError> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(ControlError::file(folder, "removed", e))
        }
        _ => Ok(()),
    }
}

/// Creates a folder and opens it.
fn folder(path: &Path) -> io::Result<File> {
    DirBuilder::new().mode(0o700).create(path)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = folder.metadata()?;
    match is_for_us_alone(&meta) {
        true => Ok(folder),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "somebody has put another folder in its place",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Journals;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn journals(parent: &TempDir) -> Journals {
        Journals::at(parent.path().join("journals"))
    }

    fn make(parent: &TempDir) -> Scratch {
        let journal = journals(parent).open(&Root::machine()).unwrap();
        Scratch::make(&journal, parent.path(), "test").unwrap()
    }

    fn sleeper(scratch: &Scratch) -> (Child, Working) {
        let mut command = Command::new("sleep");
        let started = command.arg("1000").current_dir(scratch.held());
        scratch.start(started).unwrap()
    }

    /// The journal of a process that was killed, as a copy of a live one's.
    fn left_behind(parent: &TempDir) -> Journals {
        let mut live = fs::read_dir(journals(parent).dir()).unwrap();
        let live = live.next().unwrap().unwrap().path();
        let journals = Journals::at(parent.path().join("left"));
        drop(journals.open(&Root::machine()).unwrap());
        let text = fs::read_to_string(live).unwrap();
        fs::write(journals.dir().join("4194304-1-x.jsonl"), text).unwrap();
        journals
    }

    #[test]
    fn it_is_new_and_private() {
        let parent = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| make(&parent));
        assert_ne!(one.path(), other.path());
        let meta = fs::symlink_metadata(one.path()).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o700);
        let path = one.path().to_owned();
        fs::write(one.held().join("file"), "kept").unwrap();
        let kept = one.clone();
        drop(one);
        fs::remove_file(path.join("file")).unwrap();
        assert!(path.exists());
        drop((kept, other));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(journals(&parent).dir()).unwrap().count(), 0);
    }

    #[test]
    fn the_next_start_ends_processes_and_removes_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = make(&parent);
        let (mut known, working) = sleeper(&scratch);
        fs::write(scratch.held().join("file"), "").unwrap();
        let left = left_behind(&parent);
        // Its start is not in the copied journal.
        let (mut unknown, _) = sleeper(&scratch);
        let repaired = left.repair(&Root::machine()).unwrap();
        assert_eq!(repaired.len(), 1);
        assert_eq!(repaired[0].left, [] as [String; 0]);
        assert_eq!(repaired[0].done.len(), 2, "{repaired:?}");
        assert!(!known.wait().unwrap().success());
        assert!(!unknown.wait().unwrap().success());
        assert!(!scratch.path().exists());
        drop(working);
    }

    #[test]
    fn undoing_at_once_refuses_further_starts() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = make(&parent);
        let (mut child, _working) = sleeper(&scratch);
        let at_once = scratch.made.journal.at_once();
        at_once();
        assert!(!child.wait().unwrap().success());
        assert!(!scratch.path().exists());
        assert_eq!(fs::read_dir(journals(&parent).dir()).unwrap().count(), 0);
        let refused = scratch.start(&mut Command::new("true")).unwrap_err();
        assert!(refused.to_string().contains("being ended"), "{refused}");
        drop((_working, scratch));
        at_once();
    }

    #[test]
    fn folders_of_others_are_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let [open, link, other] =
            ["plimsoll-open", "plimsoll-link", "other"].map(|n| parent.path().join(n));
        for folder in [&open, &other] {
            DirBuilder::new().mode(0o700).create(folder).unwrap();
        }
        assert!(is_ours(&open));
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&open, all).unwrap();
        symlink(&other, &link).unwrap();
        for path in [&open, &link, &other] {
            assert!(!is_ours(path), "{}", path.display());
        }
    }

    #[test]
    fn an_existing_name_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let [there, link] = ["there", "link"].map(|name| parent.path().join(name));
        fs::create_dir(&there).unwrap();
        symlink(&there, &link).unwrap();
        for path in [&there, &link] {
            let refused = folder(path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        }
    }

    #[test]
    fn a_replaced_path_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = make(&parent);
        let (moved, theirs) = (parent.path().join("moved"), parent.path().join("theirs"));
        fs::rename(scratch.path(), &moved).unwrap();
        fs::create_dir(&theirs).unwrap();
        symlink(&theirs, scratch.path()).unwrap();
        fs::write(scratch.held().join("file"), "ours").unwrap();
        assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "ours");
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }
}
