//! Undoes one change. The end of a run and the repair after a crash use the same
//! code.

use super::{AtEnd, Change};
use crate::error::ControlError;
use crate::folder;
use crate::scratch;
use crate::tasks::{ProcessKey, Tree};
use crate::tree;
use plimsoll_host::Root;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// Undone; a sentence describes it. `None` if there was nothing to undo.
    Done(Option<String>),
    /// Not possible yet; a sentence says why. The next start tries again.
    Later(String),
}

impl Undone {
    fn done(sentence: String) -> Result<Undone, ControlError> {
        Ok(Undone::Done(Some(sentence)))
    }

    fn nothing() -> Result<Undone, ControlError> {
        Ok(Undone::Done(None))
    }
}

pub(crate) fn undo(root: &Root, change: &Change) -> Result<Undone, ControlError> {
    match change {
        Change::GroupMade {
            folder,
            home,
            at_end,
        } => group(folder, home, *at_end),
        Change::ControllersEnabled { folder, added, .. } => controllers(folder, added),
        Change::TreeStarted { leader, at_end } => started(root, *leader, *at_end),
        Change::FolderMade { folder } => folder_made(root, folder),
    }
}

fn group(folder: &Path, home: &Path, at_end: AtEnd) -> Result<Undone, ControlError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    // A forged journal must not remove other groups.
    if !name.starts_with(folder::PREFIX) || !folder::is_there(folder) {
        return Undone::nothing();
    }
    let left = folder::processes(folder)?.len();
    if left > 0 && at_end == AtEnd::Kill {
        folder::kill(folder)?;
    }
    folder::freeze(folder, false)?;
    if left > 0 && at_end == AtEnd::Leave {
        if !folder::is_there(home) {
            let (folder, home) = (folder.display(), home.display());
            return Ok(Undone::Later(format!(
                "The cgroup {folder} stays until its {left} processes end: {home}, where they \
                 came from, is gone."
            )));
        }
        folder::move_out(folder, home)?;
    }
    folder::remove(folder)?;
    let what = match (left, at_end) {
        (0, _) => String::new(),
        (n, AtEnd::Kill) => format!(" and killed what ran in it ({n})"),
        (n, AtEnd::Leave) => format!(" and let go on what ran in it ({n})"),
    };
    let folder = folder.display();
    Undone::done(format!("Removed the cgroup {folder}{what}."))
}

fn controllers(parent: &Path, added: &[String]) -> Result<Undone, ControlError> {
    if !folder::is_there(parent) {
        return Undone::nothing();
    }
    let _lock = folder::lock(parent)?;
    let shown = parent.display();
    if folder::has_ours(parent) {
        return Ok(Undone::Later(format!(
            "{shown} goes on passing on {}, because another run uses it.",
            added.join(", ")
        )));
    }
    let mut enabled = folder::enabled(parent)?;
    enabled.retain(|controller| added.contains(controller));
    if enabled.is_empty() {
        return Undone::nothing();
    }
    match folder::pass_on(parent, &enabled, false) {
        Ok(()) => Undone::done(format!(
            "{shown} no longer passes on {}.",
            enabled.join(", ")
        )),
        // Another process depends on it.
        Err(ControlError::Refused { .. }) => Ok(Undone::Later(format!(
            "{shown} goes on passing on {}, because another program uses it.",
            enabled.join(", ")
        ))),
        Err(other) => Err(other),
    }
}

fn started(root: &Root, leader: ProcessKey, at_end: AtEnd) -> Result<Undone, ControlError> {
    let tree = Tree::of(leader);
    let left = tree.members(root)?.len();
    if left == 0 {
        return Undone::nothing();
    }
    let pid = leader.pid;
    let what = match at_end {
        AtEnd::Kill => {
            tree::kill(root, tree)?;
            "Killed"
        }
        AtEnd::Leave => {
            tree::freeze(root, tree, false)?;
            "Let go on"
        }
    };
    Undone::done(format!(
        "{what} the process group {pid} with all that it has started ({left})."
    ))
}

fn folder_made(root: &Root, folder: &Path) -> Result<Undone, ControlError> {
    // A forged journal must not remove other directories.
    if !scratch::is_ours(folder) {
        return Undone::nothing();
    }
    // Processes whose start is not in the journal.
    let killed = scratch::kill_inside(root, folder)?;
    scratch::remove(folder)?;
    let and = match killed {
        0 => String::new(),
        n => format!(" and killed what ran in it ({n})"),
    };
    let folder = folder.display();
    Undone::done(format!("Removed the folder {folder}{and}."))
}
