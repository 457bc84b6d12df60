//! Groups of dead processes whose journal is gone (removed with a folder of state, or
//! lost in a crash), found by their names in the mounted cgroups.
//!
//! A name has its owner, but not where the group's processes came from, nor which
//! controllers were enabled for it: those stay enabled.

use super::namespace::{is_in_initial_namespace, lives};
use super::repair::owner;
use super::undo::group_left;
use super::{AtEnd, Journals, Repaired, Running, Undo, Undone};
use crate::error::ControlError;
use crate::folder;
use crate::tasks::{ProcessKey, check_shown};
use plimsoll_host::{Cgroups, Pid, ProcessStat, Root};
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The groups that one dead process has left.
type Groups = Vec<(PathBuf, AtEnd)>;

impl Journals {
    /// What is left in groups of dead processes that have no journal, without a change.
    /// Only groups of this user count.
    ///
    /// # Errors
    /// If the mounts, /proc or a group cannot be read.
    pub fn unjournalled(&self, root: &Root) -> Result<Vec<Repaired>, ControlError> {
        let mut all = Vec::new();
        for (owner, groups) in self.without_journal(root)? {
            let mut found = Repaired::nothing(owner);
            for (folder, _) in groups {
                let inside = folder::processes(&folder)?;
                found.left.push(group_left(root, &folder, &inside));
            }
            all.push(found);
        }
        Ok(all)
    }

    /// Restores them as [`Journals::repair`] does; call it after that. In a PID namespace
    /// of its own nothing shows that an owner is dead, so there nothing changes unless
    /// `running` says what is to be done.
    ///
    /// # Errors
    /// As of [`Journals::unjournalled`]. Failures of single groups are in
    /// [`Repaired::left`].
    pub fn repair_unjournalled(
        &self,
        root: &Root,
        running: Running,
    ) -> Result<Vec<Repaired>, ControlError> {
        if running == Running::Leave && !is_in_initial_namespace(root) {
            return self.unjournalled(root);
        }
        let undo = Undo {
            root,
            journals: &self.dir,
            killed: Some(running),
        };
        let mut all = Vec::new();
        for (owner, groups) in self.without_journal(root)? {
            let mut repaired = Repaired::nothing(owner);
            for (folder, at_end) in groups {
                // 0 stands for a process in a PID namespace that is not seen from here.
                if folder::processes(&folder)?.contains(&0) {
                    let shown = folder.display();
                    repaired.left.push(format!(
                        "The cgroup {shown} holds processes of another PID namespace; repair it there."
                    ));
                    continue;
                }
                match undo.group(&folder, &home(root, &folder), at_end) {
                    Ok(Undone::Done(sentence)) => repaired.done.extend(sentence),
                    Ok(Undone::Later(sentence)) => repaired.left.push(sentence),
                    Ok(Undone::StillRuns(sentence)) => repaired.still_runs.push(sentence),
                    Err(error) => repaired.left.push(format!("Not given back: {error}.")),
                }
            }
            // A group within another one went with it.
            if !(repaired.done.is_empty() && repaired.is_whole()) {
                all.push(repaired);
            }
        }
        Ok(all)
    }

    fn without_journal(&self, root: &Root) -> Result<BTreeMap<ProcessKey, Groups>, ControlError> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let journalled: Vec<ProcessKey> = entries.filter_map(|e| owner(&e.path())).collect();
        let mut all: BTreeMap<ProcessKey, Groups> = BTreeMap::new();
        let mut processes: Option<Vec<ProcessStat>> = None;
        for top in Cgroups::find(root)?.tops() {
            for folder in folder::with_inner(&root.path(top)) {
                let Some((owner, at_end)) = named(&folder) else {
                    continue;
                };
                let is_known = all.contains_key(&owner);
                if journalled.contains(&owner) || !is_of_this_user(&folder) {
                    continue;
                }
                if processes.is_none() {
                    check_shown(root)?;
                    processes = Some(ProcessStat::all(root)?);
                }
                let processes = processes.as_deref().unwrap_or_default();
                if is_known || !lives(root, owner, processes) {
                    all.entry(owner).or_default().push((folder, at_end));
                }
            }
        }
        for groups in all.values_mut() {
            // Frozen processes must be thawed before other groups are emptied.
            groups.sort_by_key(|(folder, _)| !folder::can_freeze(folder));
        }
        Ok(all)
    }
}

/// The owner of a group that Plimsoll has made, and what happens to the processes in
/// it; `None` for any other name.
fn named(folder: &Path) -> Option<(ProcessKey, AtEnd)> {
    let name = folder.file_name()?.to_str()?;
    let (rest, at_end) = match name.strip_prefix(folder::LEAF) {
        Some(rest) => (rest, AtEnd::Leave),
        None => (name.strip_prefix(folder::PREFIX)?, AtEnd::KillByRun),
    };
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse::<u64>().ok()).flatten()
    };
    let mut parts = rest.split('-');
    let pid = Pid::try_from(number(parts.next()?)?).ok()?;
    let started = number(parts.next()?)?;
    let random = parts.next()?;
    let is_random = random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    let owner = ProcessKey { pid, started };
    (is_random && parts.next().is_none()).then_some((owner, at_end))
}

fn is_of_this_user(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|meta| meta.uid() == geteuid().as_raw())
}

/// Where the processes of a group can go: above it; but a group of version 2 that
/// passes controllers on holds none, so then to where this process is.
fn home(root: &Root, folder: &Path) -> PathBuf {
    let above = folder.parent().unwrap_or(folder).to_owned();
    let is_inner_v2 = above.join("cgroup.type").exists();
    if !is_inner_v2 || folder::enabled(&above).is_ok_and(|enabled| enabled.is_empty()) {
        return above;
    }
    let own = Cgroups::find(root).and_then(|cgroups| cgroups.own(root));
    let own = own.ok().and_then(|own| own.v2);
    own.map_or(above, |own| root.path(own.folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_groups_have_an_owner() {
        let owner = ProcessKey {
            pid: 12,
            started: 345,
        };
        for (name, expected) in [
            (
                "plimsoll-12-345-0123456789abcdef",
                Some((owner, AtEnd::KillByRun)),
            ),
            (
                "plimsoll-self-12-345-0123456789abcdef",
                Some((owner, AtEnd::Leave)),
            ),
            ("plimsoll-12-345-0123456789abcdef-1", None),
            ("plimsoll-12-345-0123", None),
            ("plimsoll-12-345", None),
            ("plimsoll-+12-345-0123456789abcdef", None),
            ("plimsoll-copies-0123456789abcdef", None),
            ("plimsoll-tests", None),
            ("12-345-0123456789abcdef", None),
        ] {
            assert_eq!(named(Path::new(name)), expected, "{name}");
        }
    }
}
