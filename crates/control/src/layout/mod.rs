//! What there is to build a group on: which hierarchies are mounted, where in
//! them this process may make groups, and what those could hold.
//!
//! Found by what is mounted, never by the distribution. This module reads; the
//! choice is in [`choose`] and is pure.

mod choose;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Place, Version};

use crate::error::ControlError;
use crate::mechanism::{Capabilities, Mechanism};
use crate::schedule;
use plimsoll_host::{Cgroups, OwnGroup, Root};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What was found on a machine, for [`Group::make`](crate::Group::make) to build on.
#[derive(Debug, Clone)]
pub struct CgroupLayout {
    pub(crate) root: Root,
    pub(crate) found: Found,
}

/// The facts. Paths are those to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Found {
    /// Groups of version 2 from this process' own up to the uppermost.
    pub(crate) v2: Vec<Level>,
    /// This process' own groups of version 1 by controller.
    pub(crate) v1: BTreeMap<String, Level>,
    /// Whether the kernel is at least 5.15, where version 2 got `cpu.idle`.
    pub(crate) idle_in_v2: bool,
    pub(crate) class: schedule::Class,
    /// Whether CPU time is first divided among sessions (`autogroup`).
    pub(crate) by_session: bool,
    /// Whether orphans of commands are taken over where there is no cgroup.
    pub(crate) orphans: bool,
}

/// A group below which one of our own might be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Level {
    pub(crate) folder: PathBuf,
    /// The true uppermost group of the machine, which may hold processes and
    /// groups at once.
    pub(crate) uppermost: bool,
    /// Whether this user may make groups in it and move processes below it.
    pub(crate) ours: bool,
    /// Whether this user may enable controllers in it.
    pub(crate) may_enable: bool,
    pub(crate) controllers: BTreeSet<String>,
    pub(crate) enabled: BTreeSet<String>,
    pub(crate) holds: Holds,
    /// Version 1: whether it has the file `cpu.idle`.
    pub(crate) idle_file: bool,
}

/// Which processes are in a group itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Holds {
    #[default]
    Nobody,
    /// This process and no other.
    OnlyUs,
    Others,
}

impl CgroupLayout {
    /// Looks at what is mounted and what this process may do there. Changes
    /// nothing.
    ///
    /// # Errors
    /// When /proc does not tell what is mounted.
    pub fn find(root: &Root) -> Result<CgroupLayout, ControlError> {
        let own = Cgroups::find(root)?.own(root)?;
        let found = Found {
            v2: own.v2.map(|own| levels(root, &own)).unwrap_or_default(),
            v1: own
                .v1
                .iter()
                .filter(|(controller, _)| !controller.contains('='))
                .map(|(controller, own)| (controller.clone(), level_v1(&root.path(&own.folder))))
                .collect(),
            idle_in_v2: text(&root.path("/proc/sys/kernel/osrelease"))
                .is_some_and(|release| at_least_5_15(&release)),
            class: schedule::lowest_class(),
            by_session: text(&root.path("/proc/sys/kernel/sched_autogroup_enabled"))
                .is_some_and(|t| t.trim() == "1"),
            orphans: false,
        };
        Ok(CgroupLayout {
            root: root.clone(),
            found,
        })
    }

    /// The same machine as if it had no cgroups: for whoever does not want to use
    /// them, or was refused.
    #[must_use]
    pub fn without_cgroups(mut self) -> CgroupLayout {
        self.found.v1.clear();
        self.found.v2.clear();
        self
    }

    /// The same machine, on which a command's children that leave its process
    /// group and outlive their parent become this process' (prctl(2),
    /// `PR_SET_CHILD_SUBREAPER`) where there is no cgroup to hold them. For a
    /// process that starts nothing but the one command: all its children are taken
    /// for the command's. So it changes nothing where this process already has
    /// children, or is the init that the orphans of others come to.
    #[must_use]
    pub fn keeping_orphans(mut self) -> CgroupLayout {
        // Looking through all processes for a child takes longer than many a command.
        let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let childless = matches!(waitid(WaitId::All, any), Err(Errno::CHILD));
        self.found.orphans = std::process::id() != 1 && childless;
        self
    }

    /// What could be done here for these needs, and how.
    pub fn capabilities(&self, needs: &BTreeSet<Mechanism>) -> Capabilities {
        self.found.choose(needs).capabilities
    }
}

/// The group and those around it, up to the mount.
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

/// What counts in version 1, whose groups pass nothing on and may hold anything.
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

/// Of a list of all processes of a machine, enough to tell one from many.
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

/// `MAJOR.MINOR…`, as in /proc/sys/kernel/osrelease.
fn at_least_5_15(release: &str) -> bool {
    let mut parts = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u32>());
    matches!((parts.next(), parts.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (5, 15))
}

fn words(path: &Path) -> BTreeSet<String> {
    text(path)
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect()
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}
