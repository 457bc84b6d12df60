//! Restores at the next start what killed processes have left.

use super::{Change, ENDING, Header, Journals, Line, Undone, VERSION, append, undo};
use crate::error::ControlError;
use crate::tasks::ProcessKey;
use plimsoll_host::{Pid, Root};
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
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
}

impl Journals {
    /// Finds journals of dead processes and restores their changes. Leaves journals of
    /// live processes and groups in use alone. Call it at the start, and again at the
    /// end for changes that had to wait for other runs.
    ///
    /// # Errors
    /// If the folder cannot be read, or other users can write to it. Failures of single
    /// changes are in [`Repaired::left`].
    pub fn repair(&self, root: &Root) -> Result<Vec<Repaired>, ControlError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(ControlError::file(&self.dir, "read", source)),
        };
        self.check_dir()?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut all: BTreeMap<PathBuf, Repaired> = BTreeMap::new();
        // Restoring one journal may unblock another.
        loop {
            let mut progress = false;
            for path in &paths {
                let Some(owner) = owner(path) else { continue };
                if owner.lives(root)? {
                    continue;
                }
                let again = repair_one(root, path, owner)?;
                progress |= again.as_ref().is_some_and(|r| !r.done.is_empty());
                merge(&mut all, path, again);
            }
            if !progress || all.values().all(|r| r.left.is_empty()) {
                return Ok(all.into_values().collect());
            }
        }
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
        let (done, left) = again
            .map(|again| (again.done, again.left))
            .unwrap_or_default();
        known.done.extend(done);
        known.left = left;
    } else if let Some(first) = again {
        all.insert(path.to_owned(), first);
    }
}

/// The process that wrote a journal, from the file name; `None` if the file is no
/// journal.
fn owner(path: &Path) -> Option<ProcessKey> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let mut parts = name.split('-');
    Some(ProcessKey {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
    })
}

fn repair_one(
    root: &Root,
    path: &Path,
    owner: ProcessKey,
) -> Result<Option<Repaired>, ControlError> {
    let mut options = OpenOptions::new();
    let mut file = match options.read(true).append(true).open(path) {
        Ok(file) => file,
        // Another process was faster.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ControlError::file(path, "read", source)),
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)
        .map_err(|source| ControlError::file(path, "read", source))?;
    let text = String::from_utf8_lossy(&text);
    let mut repaired = Repaired {
        owner: owner.pid,
        done: Vec::new(),
        left: Vec::new(),
    };
    if let Some((header, changes)) = outstanding(&text) {
        match foreign(&header, &Header::here(root, owner)) {
            Foreign::No => {
                // Terminate a torn last line, so that it does not swallow the next
                // entry.
                let end = if text.ends_with('\n') { "" } else { "\n" };
                file.write_all(end.as_bytes())
                    .and_then(|()| {
                        undo_changes(root, &mut file, changes.into_iter().rev(), &mut repaired)
                    })
                    .map_err(|source| ControlError::file(path, "written", source))?;
            }
            Foreign::Boot => {}
            Foreign::Namespace => return Ok(None),
        }
    }
    if repaired.left.is_empty() {
        fs::remove_file(path).map_err(|source| ControlError::file(path, "removed", source))?;
    }
    let silent = repaired.done.is_empty() && repaired.left.is_empty();
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

enum Foreign {
    No,
    Boot,
    Namespace,
}

/// Whether a journal is from another boot, whose changes are gone, or from another
/// PID namespace, whose processes are not visible here.
fn foreign(theirs: &Header, here: &Header) -> Foreign {
    fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        a.zip(b).is_some_and(|(a, b)| a != b)
    }
    if differ(theirs.boot_id.as_ref(), here.boot_id.as_ref()) {
        Foreign::Boot
    } else if differ(theirs.pid_namespace.as_ref(), here.pid_namespace.as_ref()) {
        Foreign::Namespace
    } else {
        Foreign::No
    }
}

fn undo_changes(
    root: &Root,
    file: &mut File,
    changes: impl Iterator<Item = (u64, Change)>,
    repaired: &mut Repaired,
) -> io::Result<()> {
    for (nth, change) in changes {
        match undo(root, &change) {
            Ok(Undone::Done(sentence)) => {
                repaired.done.extend(sentence);
                append(file, &Line::GivenBack { nth })?;
            }
            Ok(Undone::Later(sentence)) => repaired.left.push(sentence),
            Err(error) => repaired.left.push(format!("Not given back: {error}.")),
        }
    }
    Ok(())
}
