//! Undoes one change, or says what is left of it. The end of a run and the repair
//! after a crash use the same code.

use super::place;
use super::{AtEnd, Change};
use crate::error::ControlError;
use crate::folder;
use crate::idle;
use crate::placed;
use crate::scratch;
use crate::tasks::{ProcessKey, Tree, check_shown};
use crate::tree;
use plimsoll_host::{Pid, ProcessStat, Root, process_name};
use std::path::Path;

/// What the repair does with commands of killed runs that still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// They stay as they are, in their groups.
    Leave,
    /// They continue, without limits. Without cgroups they keep their nice value, class
    /// and CPUs.
    Thaw,
    Kill,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// Undone; a sentence describes it. `None` if there was nothing to undo.
    Done(Option<String>),
    /// Not possible yet; a sentence says why. The next start tries again.
    Later(String),
    /// Not undone, because a command still runs; a sentence describes it.
    StillRuns(String),
}

/// What happens to processes that are found when a change is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kill,
    LetGo,
    Stay,
}

fn fate(at_end: AtEnd, killed: Option<Running>) -> Fate {
    match (at_end, killed) {
        (AtEnd::Leave, _) => Fate::LetGo,
        (AtEnd::Kill, _) | (AtEnd::KillByRun, None | Some(Running::Kill)) => Fate::Kill,
        (AtEnd::KillByRun, Some(Running::Thaw)) => Fate::LetGo,
        (AtEnd::KillByRun, Some(Running::Leave)) => Fate::Stay,
    }
}

impl Undone {
    fn done(sentence: String) -> Result<Undone, ControlError> {
        Ok(Undone::Done(Some(sentence)))
    }

    fn nothing() -> Result<Undone, ControlError> {
        Ok(Undone::Done(None))
    }
}

/// How changes are undone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo<'a> {
    pub(crate) root: &'a Root,
    /// The folder of the journals.
    pub(crate) journals: &'a Path,
    /// What happens to commands if their run was killed; `None` at the end of a run.
    pub(crate) killed: Option<Running>,
}

impl Undo<'_> {
    pub(crate) fn undo(&self, change: &Change) -> Result<Undone, ControlError> {
        match change {
            Change::GroupMade {
                folder,
                home,
                at_end,
            } => self.group(folder, home, *at_end),
            Change::ControllersEnabled { folder, added, .. } => self.controllers(folder, added),
            Change::TreeStarted {
                leader,
                at_end,
                mark,
                unmarked,
            } => self.started(Tree::marked(*leader, *mark, unmarked), *at_end),
            Change::FolderMade { folder } => folder_made(self.root, folder),
            Change::IdleKnobSet { knob, former, ours } => idle::release(
                &idle::Machine,
                self.root,
                self.journals,
                *knob,
                former,
                ours,
            ),
            Change::TasksPlaced(placement) => {
                placed::give_back(&idle::Machine, self.root, self.journals, placement)
            }
        }
    }

    pub(super) fn group(
        &self,
        folder: &Path,
        home: &Path,
        at_end: AtEnd,
    ) -> Result<Undone, ControlError> {
        if !is_our_group(folder) {
            return Undone::nothing();
        }
        let inside = folder::processes(folder)?;
        let left = inside.len();
        let fate = match left {
            0 => Fate::Kill,
            _ => fate(at_end, self.killed),
        };
        if fate == Fate::Stay {
            return Ok(Undone::StillRuns(group_left(self.root, folder, &inside)));
        }
        if left > 0 && fate == Fate::Kill {
            folder::kill(folder)?;
        }
        folder::freeze(folder, false)?;
        if fate == Fate::LetGo {
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
        let what = match (left, fate) {
            (0, _) => String::new(),
            (n, Fate::LetGo) => format!(" and let go on what ran in it ({n})"),
            (n, _) => format!(" and killed what ran in it ({n})"),
        };
        let folder = folder.display();
        Undone::done(format!("Removed the cgroup {folder}{what}."))
    }

    fn controllers(&self, parent: &Path, added: &[String]) -> Result<Undone, ControlError> {
        if !folder::is_there(parent) {
            return Undone::nothing();
        }
        let _lock = place::lock(self.journals)?;
        let shown = parent.display();
        if folder::has_ours(parent) {
            return Ok(Undone::Later(format!(
                "{shown} goes on passing on {}, because a group of another run is in it.",
                added.join(", ")
            )));
        }
        let enabled = still_enabled(parent, added)?;
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

    fn started(&self, tree: Tree<'_>, at_end: AtEnd) -> Result<Undone, ControlError> {
        check_shown(self.root)?;
        let leader = tree.leader;
        let members = tree.members(self.root)?;
        if members.is_empty() {
            return Undone::nothing();
        }
        let what = match fate(at_end, self.killed) {
            Fate::Stay => return Ok(Undone::StillRuns(tree_left(self.root, leader, &members))),
            Fate::Kill => {
                tree::kill(self.root, tree)?;
                "Killed"
            }
            Fate::LetGo => {
                tree::freeze(self.root, tree, false)?;
                "Let go on"
            }
        };
        let (pid, left) = (leader.pid, members.len());
        Undone::done(format!(
            "{what} the process group {pid} with all that it has started ({left})."
        ))
    }
}

/// What is left of a change, in a sentence; `None` if nothing is.
pub(crate) fn left(root: &Root, change: &Change) -> Result<Option<String>, ControlError> {
    Ok(match change {
        Change::GroupMade { folder, .. } if is_our_group(folder) => {
            let inside = folder::processes(folder)?;
            Some(group_left(root, folder, &inside))
        }
        Change::ControllersEnabled { folder, added, .. } if folder::is_there(folder) => {
            let enabled = still_enabled(folder, added)?;
            let (shown, list) = (folder.display(), enabled.join(", "));
            (!enabled.is_empty()).then(|| format!("{shown} passes on {list}."))
        }
        Change::TreeStarted {
            leader,
            mark,
            unmarked,
            ..
        } => {
            let members = Tree::marked(*leader, *mark, unmarked).members(root)?;
            (!members.is_empty()).then(|| tree_left(root, *leader, &members))
        }
        Change::FolderMade { folder } if scratch::is_ours(folder) => {
            Some(format!("The folder {} is there.", folder.display()))
        }
        Change::IdleKnobSet { knob, former, ours } => idle::left(root, *knob, former, ours),
        Change::TasksPlaced(placement) => placed::left(root, placement)?,
        _ => None,
    })
}

/// A forged journal must not remove other groups.
fn is_our_group(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(folder::PREFIX) && folder::is_there(folder)
}

fn still_enabled(parent: &Path, added: &[String]) -> Result<Vec<String>, ControlError> {
    let mut enabled = folder::enabled(parent)?;
    enabled.retain(|controller| added.contains(controller));
    Ok(enabled)
}

pub(super) fn group_left(root: &Root, folder: &Path, inside: &[Pid]) -> String {
    let shown = folder.display();
    if inside.is_empty() {
        return format!("The cgroup {shown} is empty.");
    }
    let how = match folder::is_frozen(folder) {
        true => "frozen",
        false => "restricted",
    };
    let names = named(root, inside);
    format!("In the cgroup {shown}, {how}: {names}.")
}

fn tree_left(root: &Root, leader: ProcessKey, members: &[ProcessStat]) -> String {
    let how = match members.iter().all(|one| matches!(one.state, 'T' | 't')) {
        true => "frozen",
        false => "restricted",
    };
    let pids: Vec<Pid> = members.iter().map(|one| one.pid).collect();
    let names = named(root, &pids);
    format!("Of the process group {}, {how}: {names}.", leader.pid)
}

/// The first processes with their names, and how many more there are.
pub(crate) fn named(root: &Root, pids: &[Pid]) -> String {
    const SHOWN: usize = 3;
    let one = |pid: &Pid| match process_name(root, *pid) {
        Some(name) => format!("process {pid} ({name})"),
        None => format!("process {pid}"),
    };
    let mut all: Vec<String> = pids.iter().take(SHOWN).map(one).collect();
    if pids.len() > SHOWN {
        all.push(format!("{} more", pids.len() - SHOWN));
    }
    all.join(", ")
}

fn folder_made(root: &Root, folder: &Path) -> Result<Undone, ControlError> {
    // A forged journal must not remove other directories.
    if !scratch::is_ours(folder) {
        return Undone::nothing();
    }
    check_shown(root)?;
    // Processes whose start is not in the journal.
    let (killed, others) = scratch::kill_inside(root, folder)?;
    if !others.is_empty() {
        return Ok(Undone::Later(format!(
            "The folder {} is kept, because {} works in it and was not started by Plimsoll; leave it, \
             and run plimsoll repair.",
            folder.display(),
            named(root, &others)
        )));
    }
    scratch::remove(root, folder)?;
    let and = match killed {
        0 => String::new(),
        n => format!(" and killed what ran in it ({n})"),
    };
    let folder = folder.display();
    Undone::done(format!("Removed the folder {folder}{and}."))
}
