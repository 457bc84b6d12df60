//! A group of our own that commands run in, and its removal.

mod end;
mod memory;
mod set;
mod start;

pub use end::wait_with_cpu_time;

use crate::error::ControlError;
use crate::files;
use crate::folder;
use crate::journal::{AtEnd, Change, Entry, Journal, Undone};
use crate::layout::{CgroupLayout, Place, Version};
use crate::mechanism::{Capabilities, Mechanism};
use crate::random::random;
use crate::settings::{Usage, Weight};
use crate::tasks::{self, Mark, ProcessKey};
use plimsoll_host::{Pid, Root};
use plimsoll_model::{CpuSet, CpuTime};
use rustix::process::set_child_subreaper;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A group of processes with the mechanisms to slow, place, stop and end them.
/// Dropping it undoes all changes that were made for it.
///
/// The mechanisms depend on the machine: [`Group::capabilities`]. The calls are the
/// same at every level of cgroup support; a call that is not supported returns
/// [`ControlError::NotHere`] with the reason.
#[derive(Debug)]
pub struct Group {
    root: Root,
    journal: Journal,
    at_end: AtEnd,
    capabilities: Capabilities,
    /// One folder for each hierarchy in use.
    made: Vec<Made>,
    /// Changes to undo, oldest first.
    changes: Vec<(Entry, Change)>,
    leaders: Vec<ProcessKey>,
    /// Shows a repair which processes are of this group, if it has no cgroup.
    mark: Mark,
    /// CPU time of commands that have ended and of adopted orphans that have ended.
    ended_used: CpuTime,
    current: CurrentSettings,
}

#[derive(Debug)]
struct Made {
    place: Place,
    folder: PathBuf,
}

impl Made {
    fn is_there(&self) -> Result<(), ControlError> {
        match folder::is_there(&self.folder) {
            true => Ok(()),
            false => Err(ControlError::Gone {
                folder: self.folder.clone(),
            }),
        }
    }
}

/// Current settings, where a later call depends on them.
#[derive(Debug)]
struct CurrentSettings {
    weight: Weight,
    idle: bool,
    frozen: bool,
    cpus: Option<CpuSet>,
}

impl Group {
    /// Makes a group with the mechanisms `needs` only: it does not touch other
    /// controllers. If no cgroup can be made at all, the group works without one.
    ///
    /// # Errors
    /// If the kernel refuses what seemed permitted. All changes are undone then; retry
    /// with [`CgroupLayout::without_cgroups`].
    pub fn make(
        layout: &CgroupLayout,
        needs: &BTreeSet<Mechanism>,
        journal: &Journal,
        at_end: AtEnd,
    ) -> Result<Group, ControlError> {
        let choice = layout.found.choose(needs);
        let mut group = Group {
            root: layout.root.clone(),
            journal: journal.clone(),
            at_end,
            capabilities: choice.capabilities,
            made: Vec::new(),
            changes: Vec::new(),
            leaders: Vec::new(),
            mark: Mark::random(),
            ended_used: CpuTime::ZERO,
            current: CurrentSettings {
                weight: Weight::NORMAL,
                idle: false,
                frozen: false,
                cpus: None,
            },
        };
        let own = std::process::id();
        let started = ProcessKey::now(&group.root, own)?.map_or(0, |process| process.started);
        let name = format!("{own}-{started}-{:016x}", random());
        for place in choice.places {
            group.build(place, &name)?;
        }
        if group.capabilities.keeps_orphans {
            // If the kernel refuses, orphans go to their usual parent.
            group.capabilities.keeps_orphans = set_child_subreaper(tasks::raw(own)).is_ok();
        }
        Ok(group)
    }

    /// Which mechanisms work here, by which means, and what is lost.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The folders of the group, one for each hierarchy in use; empty without a cgroup.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.made.iter().map(|made| made.folder.as_path())
    }

    /// The folder of version 1 that counts CPU time. It holds all processes from the
    /// start.
    fn holder(&self) -> Option<&Made> {
        let counts = |made: &&Made| made.place.controllers.contains("cpuacct");
        self.made.iter().find(counts)
    }

    fn all_there(&self) -> Result<(), ControlError> {
        self.made.iter().try_for_each(Made::is_there)
    }

    pub(crate) fn build(&mut self, place: Place, name: &str) -> Result<(), ControlError> {
        let folder = place.parent.join(format!("{}{name}", folder::PREFIX));
        // Held from reading the enabled controllers until our group exists, which keeps
        // other runs from disabling them.
        let _lock = match place.version {
            Version::V2 if !place.controllers.is_empty() => {
                let lock = self.journal.lock_controllers()?;
                self.enable(&place, name)?;
                Some(lock)
            }
            _ => None,
        };
        self.make_folder(&folder, &place.home, self.at_end)?;
        if place.version == Version::V1 && place.controllers.contains("cpuset") {
            folder::fill_cpuset(&folder, &place.parent)?;
        }
        self.made.push(Made { place, folder });
        Ok(())
    }

    /// Enables in the parent the controllers that the place needs.
    fn enable(&mut self, place: &Place, name: &str) -> Result<(), ControlError> {
        let former = folder::enabled(&place.parent)?;
        let wanted = place.controllers.iter().cloned();
        let added: Vec<String> = wanted.filter(|c| !former.contains(c)).collect();
        if added.is_empty() {
            return Ok(());
        }
        if place.leaf {
            let leaf = place.parent.join(format!("{}{name}", folder::LEAF));
            self.make_folder(&leaf, &place.parent, AtEnd::Leave)?;
            folder::attach(&leaf, std::process::id())?;
        }
        let change = Change::ControllersEnabled {
            folder: place.parent.clone(),
            former,
            added: added.clone(),
        };
        self.change(change, || folder::pass_on(&place.parent, &added, true))
    }

    fn make_folder(&mut self, path: &Path, home: &Path, at_end: AtEnd) -> Result<(), ControlError> {
        let change = Change::GroupMade {
            folder: path.to_owned(),
            home: home.to_owned(),
            at_end,
        };
        self.change(change, || folder::make(path))
    }

    /// Records a change in the journal, then makes it.
    fn change(
        &mut self,
        change: Change,
        act: impl FnOnce() -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let entry = self.journal.enter(&change)?;
        self.changes.push((entry, change));
        act()
    }

    /// The processes in the group.
    ///
    /// # Errors
    /// If they cannot be read, or the group was removed.
    pub fn processes(&self) -> Result<Vec<Pid>, ControlError> {
        if let Some(made) = self.holder().or(self.made.last()) {
            made.is_there()?;
            return folder::processes(&made.folder);
        }
        let members = tasks::members_of_all(&self.root, self.trees())?;
        Ok(members.iter().map(|member| member.pid).collect())
    }

    /// Resource usage since the group was made.
    ///
    /// # Errors
    /// If a file is unreadable, or the group was removed.
    pub fn usage(&self) -> Result<Usage, ControlError> {
        let mut usage = Usage::default();
        for made in &self.made {
            if made.place.controllers.contains("cpuacct") {
                let ns = files::parse(&made.folder.join("cpuacct.usage"))?;
                usage.cpu = Some(CpuTime(Duration::from_nanos(ns)));
            }
            if made.place.version == Version::V1 && !made.place.controllers.contains("cpu") {
                continue;
            }
            let text = files::read(&made.folder.join("cpu.stat"))?;
            let us = |key| files::keyed(&text, key).map(Duration::from_micros);
            let ns = |key| files::keyed(&text, key).map(Duration::from_nanos);
            // Next to a version 1 holder it counts only from the first freeze.
            usage.cpu = usage.cpu.or(us("usage_usec").map(CpuTime));
            usage.periods = files::keyed(&text, "nr_periods").or(usage.periods);
            usage.throttled = files::keyed(&text, "nr_throttled").or(usage.throttled);
            usage.throttled_time = us("throttled_usec")
                .or_else(|| ns("throttled_time"))
                .or(usage.throttled_time);
        }
        if self.made.is_empty() {
            let members = tasks::members_of_all(&self.root, self.trees())?;
            let exact = members.iter().map(|one| one.exact_cpu(&self.root));
            let of_members: CpuTime = exact.sum();
            usage.cpu = Some(self.ended_used + of_members);
        }
        Ok(usage)
    }

    /// Undoes all changes, as a drop does, and reports errors.
    ///
    /// # Errors
    /// The first change that could not be undone. It stays in the journal; the others
    /// are undone anyway.
    pub fn give_back(mut self) -> Result<(), ControlError> {
        self.undo_all().map_or(Ok(()), Err)
    }

    fn undo_all(&mut self) -> Option<ControlError> {
        let mut first = None;
        if self.capabilities.keeps_orphans && self.at_end != AtEnd::Leave {
            // The undo below does not know adopted orphans.
            first = self.kill().err();
        }
        while let Some((entry, change)) = self.changes.pop() {
            let outcome = match self.journal.undo().undo(&change) {
                Ok(Undone::Done(_)) => self.journal.mark_undone(entry),
                // Another run needs it; the journal keeps it for the next start.
                Ok(Undone::Later(_) | Undone::StillRuns(_)) => Ok(()),
                Err(error) => Err(error),
            };
            first = first.or(outcome.err());
        }
        first
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A failed change stays in the journal; the next start reports it.
        let _ = self.undo_all();
    }
}
