//! The cgroup layout of a machine: the mounted hierarchies, where this process may
//! make groups, and what those groups support.
//!
//! Reads mounts and permissions, never the distribution's name. This module reads;
//! [`choose`] decides and is pure.

mod choose;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Place, Version};

use crate::error::ControlError;
use crate::mechanism::{Capabilities, Mechanism};
use crate::orphans::can_adopt;
use crate::schedule;
use plimsoll_host::{Cgroups, OwnGroup, Root};
use rustix::fs::{Access, access};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The cgroup layout of a machine, input of [`Group::make`](crate::Group::make).
#[derive(Debug, Clone)]
pub struct CgroupLayout {
    pub(crate) root: Root,
    pub(crate) found: Found,
}

/// The readings. Paths are ready to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Found {
    /// The groups of version 2 from this process' own group up to the root.
    pub(crate) v2: Vec<Level>,
    /// This process' own groups of version 1 by controller.
    pub(crate) v1: BTreeMap<String, Level>,
    /// Whether the kernel is at least 5.15, which added `cpu.idle` to version 2.
    pub(crate) idle_in_v2: bool,
    pub(crate) class: schedule::Class,
    /// Whether the scheduler divides CPU time among sessions first (`autogroup`).
    pub(crate) by_session: bool,
    /// Whether this process adopts orphans of commands.
    pub(crate) orphans: bool,
}

/// A group that may become the parent of ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Level {
    pub(crate) folder: PathBuf,
    /// The root cgroup of the machine, which may both hold processes and enable
    /// controllers.
    pub(crate) uppermost: bool,
    /// Whether this user may make groups in it and move processes below it.
    pub(crate) ours: bool,
    /// Whether this user may enable its controllers.
    pub(crate) may_enable: bool,
    pub(crate) controllers: BTreeSet<String>,
    pub(crate) enabled: BTreeSet<String>,
    pub(crate) holds: Holds,
    /// Version 1: whether it has the file `cpu.idle`.
    pub(crate) idle_file: bool,
}

/// The processes directly in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Holds {
    #[default]
    Nobody,
    OnlyUs,
    Others,
}

impl CgroupLayout {
    /// Reads the mounts and this process' permissions. Changes nothing.
    pub fn find(root: &Root) -> Result<CgroupLayout, ControlError> {
        let own = Cgroups::find(root)?.own(root)?;
        let v1 = own
            .v1
            .into_iter()
            .filter(|(controller, _)| !controller.contains('='));
        let kernel = |name: &str| text(&root.path("/proc/sys/kernel").join(name));
        let found = Found {
            v2: own.v2.map(|own| levels(root, &own)).unwrap_or_default(),
            v1: v1
                .map(|(controller, own)| (controller, level_v1(&root.path(&own.folder))))
                .collect(),
            idle_in_v2: at_least_5_15(&kernel("osrelease")),
            class: schedule::lowest_class(),
            by_session: kernel("sched_autogroup_enabled").trim() == "1",
            orphans: false,
        };
        Ok(CgroupLayout {
            root: root.clone(),
            found,
        })
    }

    /// The same machine without cgroups, for callers that do not want them or were
    /// refused.
    #[must_use]
    pub fn without_cgroups(mut self) -> CgroupLayout {
        self.found.v1.clear();
        self.found.v2.clear();
        self
    }

    /// The same machine, on which this process adopts children of a command that leave
    /// its process group, or its cgroup, and outlive their parent (prctl(2),
    /// `PR_SET_CHILD_SUBREAPER`). Only for a process that starts nothing but the commands of
    /// one group at a time: all its children count as the group's. Changes nothing if this
    /// process already has children or is init.
    #[must_use]
    pub fn keeping_orphans(mut self) -> CgroupLayout {
        self.found.orphans = can_adopt();
        self
    }

    /// Whether groups on it adopt such children.
    pub fn keeps_orphans(&self) -> bool {
        self.found.orphans
    }

    /// Which of these needs can be met here, and how.
    pub fn capabilities(&self, needs: &BTreeSet<Mechanism>) -> Capabilities {
        self.found.choose(needs).capabilities
    }
}

/// A group and its ancestors, up to the mount.
fn levels(root: &Root, own: &OwnGroup) -> Vec<Level> {
    own.folder
        .ancestors()
        .take_while(|folder| folder.starts_with(&own.top))
        .map(|folder| level(&root.path(folder)))
        .collect()
}

fn level(folder: &Path) -> Level {
    Level {
        uppermost: !folder.join("cgroup.type").exists(),
        may_enable: writable(&folder.join("cgroup.subtree_control")),
        controllers: words(&folder.join("cgroup.controllers")),
        enabled: words(&folder.join("cgroup.subtree_control")),
        holds: holds(&beginning(&folder.join("cgroup.procs")), std::process::id()),
        ..level_v1(folder)
    }
}

/// A group of version 1. Such groups enable no controllers for children and may
/// hold processes at any level.
fn level_v1(folder: &Path) -> Level {
    Level {
        ours: writable(folder) && writable(&folder.join("cgroup.procs")),
        idle_file: folder.join("cpu.idle").exists(),
        folder: folder.to_owned(),
        ..Level::default()
    }
}

fn writable(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// The beginning of a list of processes: enough to distinguish one from many.
fn beginning(path: &Path) -> String {
    let mut first = [0; 64];
    let read = File::open(path).and_then(|mut file| file.read(&mut first));
    String::from_utf8_lossy(&first[..read.unwrap_or(0)]).into_owned()
}

fn holds(procs: &str, own: u32) -> Holds {
    let own = own.to_string();
    let mut lines = procs.lines().map(str::trim);
    match (lines.next(), lines.next()) {
        (None, _) => Holds::Nobody,
        (Some(only), None) if only == own => Holds::OnlyUs,
        _ => Holds::Others,
    }
}

/// Parses `MAJOR.MINOR…`, as in /proc/sys/kernel/osrelease.
fn at_least_5_15(release: &str) -> bool {
    let parts = release.split(|c: char| !c.is_ascii_digit()).take(2);
    let parts: Result<Vec<u32>, _> = parts.map(str::parse).collect();
    parts.is_ok_and(|version| version >= vec![5, 15])
}

fn words(path: &Path) -> BTreeSet<String> {
    let text = text(path);
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The content of a file; empty if it cannot be read.
fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
