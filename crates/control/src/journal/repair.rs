//! Restores at the next start what killed processes have left.

use super::namespace::{has_processes, is_in_initial_namespace, lives};
use super::undo::left;
use super::{
    Change, ENDING, Header, Journals, Line, Running, Undo, Undone, VERSION, append, place,
};
use crate::error::ControlError;
use crate::tasks::{ProcessKey, check_shown};
use plimsoll_host::{Pid, ProcessStat, Root};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The result of restoring the changes of one dead process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub owner: u32,
    /// Restored changes, one sentence each.
    pub done: Vec<String>,
    /// Changes not restored, one sentence each with the reason. The next start tries
    /// again.
    pub left: Vec<String>,
    /// What still runs, one sentence each. It stays until the repair is told what to do
    /// with it ([`Running`]).
    pub still_runs: Vec<String>,
}

impl Repaired {
    pub(super) fn nothing(owner: ProcessKey) -> Repaired {
        Repaired {
            owner: owner.pid,
            done: Vec::new(),
            left: Vec::new(),
            still_runs: Vec::new(),
        }
    }

    /// Whether all is restored.
    pub fn is_whole(&self) -> bool {
        self.left.is_empty() && self.still_runs.is_empty()
    }
}

/// A journal of a dead process, which no other process repairs meanwhile.
struct Dead {
    file: File,
    text: String,
}

impl Journals {
    /// Finds journals of dead processes and restores their changes. Leaves journals of
    /// live processes and groups in use alone. Call it at the start, and again at the
    /// end for changes that had to wait for other runs.
    ///
    /// # Errors
    /// If the folder cannot be read, or other users can write to it;
    /// [`ControlError::NoProcesses`], with nothing undone, if there are journals and /proc
    /// does not show whose runs have ended. Failures of single changes are in
    /// [`Repaired::left`].
    pub fn repair(&self, root: &Root, running: Running) -> Result<Vec<Repaired>, ControlError> {
        let undo = Undo {
            root,
            journals: &self.dir,
            killed: Some(running),
        };
        let paths = self.of_the_dead(root)?;
        let mut all: BTreeMap<PathBuf, Repaired> = BTreeMap::new();
        // Restoring one journal may unblock another.
        loop {
            let mut progress = false;
            for (path, owner) in &paths {
                let again = repair_one(undo, path, *owner)?;
                progress |= again.as_ref().is_some_and(|r| !r.done.is_empty());
                merge(&mut all, path, again);
            }
            if !progress || all.values().all(|r| r.left.is_empty()) {
                return Ok(all.into_values().collect());
            }
        }
    }

    /// What dead processes have left, as [`Journals::repair`] finds it, without a change.
    ///
    /// # Errors
    /// As of a repair, and if a group cannot be read.
    pub fn leftovers(&self, root: &Root) -> Result<Vec<Repaired>, ControlError> {
        let mut all = Vec::new();
        for (path, owner) in self.of_the_dead(root)? {
            let Some(dead) = Dead::open(&path)? else {
                continue;
            };
            let mut found = Repaired::nothing(owner);
            found.left.extend(unreadable(&dead.text, &path));
            match dead.changes_here(root, owner)? {
                Changes::Here(changes) => {
                    for change in changes.values() {
                        found.left.extend(left(root, change)?);
                    }
                }
                Changes::InNamespace => found.left.push(in_namespace(&path)),
                Changes::OutOfSight | Changes::Elsewhere => {}
            }
            if !found.is_whole() {
                all.push(found);
            }
        }
        Ok(all)
    }

    /// The journals of runs on this machine that are not seen from this PID namespace, with changes
    /// that are not undone: whether these runs have ended is unknown here.
    ///
    /// # Errors
    /// As of a repair.
    pub fn out_of_sight(&self, root: &Root) -> Result<Vec<PathBuf>, ControlError> {
        let mut all = Vec::new();
        for (path, owner) in self.of_the_dead(root)? {
            let Some(dead) = Dead::open(&path)? else {
                continue;
            };
            let has_changes = outstanding(&dead.text).is_some_and(|(_, left)| !left.is_empty());
            let changes = dead.changes_here(root, owner)?;
            if has_changes && matches!(changes, Changes::OutOfSight) {
                all.push(path);
            }
        }
        Ok(all)
    }

    /// The journals of dead processes, in order.
    fn of_the_dead(&self, root: &Root) -> Result<Vec<(PathBuf, ProcessKey)>, ControlError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(ControlError::file(&self.dir, "read", source)),
        };
        place::check(&self.dir)?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut dead = Vec::new();
        for path in paths {
            if let Some(owner) = owner(&path)
                && !owner.lives(root)?
            {
                dead.push((path, owner));
            }
        }
        Ok(dead)
    }

    /// Other live processes that hold changes on this machine.
    ///
    /// # Errors
    /// If /proc cannot be read. An unreadable folder counts as empty.
    pub fn others(&self, root: &Root) -> Result<Vec<Pid>, ControlError> {
        let mut others = BTreeSet::new();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if let Some(owner) = owner(&entry.path())
                && owner.pid != std::process::id()
                && owner.lives(root)?
            {
                others.insert(owner.pid);
            }
        }
        Ok(others.into_iter().collect())
    }
}

/// Merges the result of another round: adds to `done`, replaces `left`.
fn merge(all: &mut BTreeMap<PathBuf, Repaired>, path: &Path, again: Option<Repaired>) {
    if let Some(known) = all.get_mut(path) {
        let again = again.unwrap_or_else(|| Repaired {
            owner: known.owner,
            done: Vec::new(),
            left: Vec::new(),
            still_runs: Vec::new(),
        });
        known.done.extend(again.done);
        (known.left, known.still_runs) = (again.left, again.still_runs);
    } else if let Some(first) = again {
        all.insert(path.to_owned(), first);
    }
}

/// The process that wrote a journal, from the file name; `None` if the file is no
/// journal.
pub(super) fn owner(path: &Path) -> Option<ProcessKey> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let mut parts = name.split('-');
    Some(ProcessKey {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
    })
}

/// A line has some hundred bytes, and ended changes are compacted.
const MOST_BYTES: u64 = 64 << 20;

impl Drop for Dead {
    fn drop(&mut self) {
        // A child that has not become its program yet keeps the file open, and with it the lock.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Dead {
    /// `None` if another process repairs it, or has done so.
    fn open(path: &Path) -> Result<Option<Dead>, ControlError> {
        let mut options = OpenOptions::new();
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
        let mut file = match options.read(true).append(true).open(path) {
            Ok(file) => file,
            // Another process was faster.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ControlError::file(path, "read", source)),
        };
        let unread = |source| ControlError::file(path, "read", source);
        let about = file.metadata().map_err(unread)?;
        if !place::is_own(&about) || about.len() > MOST_BYTES {
            let what = "it is no regular file of at most 64 MiB that this user alone can write, as a journal is; remove it";
            return Err(unread(io::Error::other(what)));
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unread)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Some(Dead { file, text }))
    }

    /// The changes that are not undone, as far as they can be seen from here.
    fn changes_here(&self, root: &Root, owner: ProcessKey) -> Result<Changes, ControlError> {
        let Some((header, changes)) = outstanding(&self.text) else {
            return Ok(Changes::Here(BTreeMap::new()));
        };
        Ok(match foreign(&header, &Header::here(root, owner)) {
            Foreign::No => Changes::Here(changes),
            Foreign::Boot => Changes::Here(BTreeMap::new()),
            Foreign::Namespace(theirs) if is_in_initial_namespace(root) => {
                check_shown(root)?;
                let processes = ProcessStat::all(root)?;
                if lives(root, owner, &processes) {
                    Changes::Elsewhere
                } else if changes.is_empty() || !has_processes(root, &theirs, &processes) {
                    Changes::Here(changes)
                } else {
                    Changes::InNamespace
                }
            }
            Foreign::Namespace(_) => Changes::OutOfSight,
            Foreign::Machine => Changes::Elsewhere,
        })
    }
}

fn repair_one(
    undo: Undo<'_>,
    path: &Path,
    owner: ProcessKey,
) -> Result<Option<Repaired>, ControlError> {
    let Some(mut dead) = Dead::open(path)? else {
        return Ok(None);
    };
    let mut repaired = Repaired::nothing(owner);
    let changes = match dead.changes_here(undo.root, owner)? {
        Changes::Here(changes) => changes,
        Changes::OutOfSight | Changes::Elsewhere => return Ok(None),
        Changes::InNamespace => {
            repaired.left.push(in_namespace(path));
            return Ok(Some(repaired));
        }
    };
    repaired.left.extend(unreadable(&dead.text, path));
    if !changes.is_empty() && repaired.left.is_empty() {
        // Terminate a torn last line, so that it does not swallow the next entry.
        let end = if dead.text.ends_with('\n') { "" } else { "\n" };
        let file = &mut dead.file;
        file.write_all(end.as_bytes())
            .and_then(|()| undo_changes(undo, file, changes.into_iter().rev(), &mut repaired))
            .map_err(|source| ControlError::file(path, "written", source))?;
    }
    if repaired.is_whole() {
        fs::remove_file(path).map_err(|source| ControlError::file(path, "removed", source))?;
    }
    let silent = repaired.done.is_empty() && repaired.is_whole();
    Ok((!silent).then_some(repaired))
}

/// The header of a journal and the changes that are not undone, oldest first.
/// Unreadable lines were torn when the writer was killed.
pub(super) fn outstanding(text: &str) -> Option<(Header, BTreeMap<u64, Change>)> {
    let mut lines = text.lines();
    let header: Header = serde_json::from_str(lines.next()?).ok()?;
    let mut changes = BTreeMap::new();
    for line in lines.filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Change { nth, change } => {
                changes.insert(nth, change);
            }
            Line::GivenBack { nth } => {
                changes.remove(&nth);
            }
        }
    }
    (header.journal == VERSION).then_some((header, changes))
}

/// Why a journal is left as it is: it holds entries of another version. A torn line, which
/// a killed writer leaves, is no JSON at all.
fn unreadable(text: &str, path: &Path) -> Option<String> {
    let is_json = |line: &&str| serde_json::from_str::<IgnoredAny>(line).is_ok();
    let mut entries = text.lines().filter(is_json);
    let header = serde_json::from_str::<Header>(entries.next()?).ok();
    let is_known = header.is_some_and(|header| header.journal == VERSION);
    let is_ours = is_known && entries.all(|entry| serde_json::from_str::<Line>(entry).is_ok());
    (!is_ours).then(|| {
        format!(
            "Not given back: {} was written by another version of Plimsoll; repair it with that one.",
            path.display()
        )
    })
}

enum Foreign {
    No,
    Boot,
    Machine,
    Namespace(PathBuf),
}

/// Changes of a dead process that are not undone.
enum Changes {
    Here(BTreeMap<u64, Change>),
    /// Of a run that has ended in a PID namespace within this one, in which other processes
    /// run: they may be its commands, by numbers that are valid there.
    InNamespace,
    /// Made in a PID namespace whose processes are not seen from here, by a run that may be alive.
    OutOfSight,
    /// Made on another machine, or by a run that is alive.
    Elsewhere,
}

/// What is to be done about [`Changes::InNamespace`].
fn in_namespace(path: &Path) -> String {
    format!(
        "Not given back: {} is of a run in another PID namespace, where other processes run; run plimsoll repair there, or end them and run it here.",
        path.display()
    )
}

/// Whether a journal is from another boot, whose changes are gone, or from another
/// machine or PID namespace, whose processes are not visible here.
fn foreign(theirs: &Header, here: &Header) -> Foreign {
    fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        a.zip(b).is_some_and(|(a, b)| a != b)
    }
    let is_other_boot = differ(theirs.boot_id.as_ref(), here.boot_id.as_ref());
    // The name of a machine may change while it runs; two machines never have the same boot.
    let is_same_boot = theirs.boot_id.is_some() && theirs.boot_id == here.boot_id;
    if !is_same_boot && differ(theirs.host.as_ref(), here.host.as_ref()) {
        Foreign::Machine
    } else if is_other_boot {
        Foreign::Boot
    } else {
        match &theirs.pid_namespace {
            Some(namespace) if differ(Some(namespace), here.pid_namespace.as_ref()) => {
                Foreign::Namespace(namespace.clone())
            }
            _ => Foreign::No,
        }
    }
}

fn undo_changes(
    undo: Undo<'_>,
    file: &mut File,
    changes: impl Iterator<Item = (u64, Change)>,
    repaired: &mut Repaired,
) -> io::Result<()> {
    for (nth, change) in changes {
        match undo.undo(&change) {
            Ok(Undone::Done(sentence)) => {
                repaired.done.extend(sentence);
                append(file, &Line::GivenBack { nth })?;
            }
            Ok(Undone::Later(sentence)) => repaired.left.push(sentence),
            Ok(Undone::StillRuns(sentence)) => repaired.still_runs.push(sentence),
            Err(error) => repaired.left.push(format!("Not given back: {error}.")),
        }
    }
    Ok(())
}
