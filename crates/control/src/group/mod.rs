//! A group of our own that commands run in: made, owned, given back.

mod end;
mod memory;
mod set;
mod start;

use crate::error::ControlError;
use crate::files;
use crate::folder;
use crate::journal::{AtEnd, Change, Entry, Journal, Undone, random, undo};
use crate::layout::{CgroupLayout, Place, Version};
use crate::mechanism::{Capabilities, Mechanism};
use crate::settings::{Usage, Weight};
use crate::tasks::Who;
use crate::tree;
use plimsoll_host::{Pid, Root};
use plimsoll_model::{CpuSet, CpuTime};
use rustix::process::{Pid as RawPid, set_child_subreaper};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where commands run, and the means to slow them, place them, stop them and
/// end them. Dropping it gives everything back that was changed for it.
///
/// By what means depends on what was found: [`Group::capabilities`]. The calls
/// are the same on every rung; what a rung cannot do is
/// [`ControlError::NotHere`], with the reason.
#[derive(Debug)]
pub struct Group {
    root: Root,
    journal: Journal,
    at_end: AtEnd,
    capabilities: Capabilities,
    /// One folder in each hierarchy that is used.
    made: Vec<Made>,
    /// What is to be given back, the first first.
    changes: Vec<(Entry, Change)>,
    /// The commands that were started here.
    leaders: Vec<Who>,
    /// Of commands that have ended, and of orphans that were adopted and have.
    ended_used: CpuTime,
    wishes: Wishes,
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

/// What has been set, where a later call must know.
#[derive(Debug)]
struct Wishes {
    weight: Weight,
    idle: bool,
    frozen: bool,
    cpus: Option<CpuSet>,
}

impl Group {
    /// Makes a group on what was found, with means for `needs` and no others: a
    /// controller that nobody asked for is not touched. Where no group can be
    /// made at all, commands will be held without one.
    ///
    /// # Errors
    /// When the kernel refuses what it seemed to allow. Nothing is left then.
    /// [`CgroupLayout::without_cgroups`] is the way on.
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
            ended_used: CpuTime::ZERO,
            wishes: Wishes {
                weight: Weight::NORMAL,
                idle: false,
                frozen: false,
                cpus: None,
            },
        };
        let own = std::process::id();
        let started = Who::now(&group.root, own)?.map_or(0, |who| who.started);
        let name = format!("{own}-{started}-{}", random());
        for place in choice.places {
            group.build(place, &name)?;
        }
        if group.capabilities.keeps_orphans {
            let own = i32::try_from(own).ok().and_then(RawPid::from_raw);
            // Where it is refused the children of orphans go as they always did.
            group.capabilities.keeps_orphans = set_child_subreaper(own).is_ok();
        }
        Ok(group)
    }

    /// What can be set here, by what means, and what is lost.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The folders of the group, one in each hierarchy that is used; none where
    /// there is no cgroup.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.made.iter().map(|made| made.folder.as_path())
    }

    /// The folder of version 1 that counts CPU time, which holds all of the group
    /// from the beginning.
    fn holder(&self) -> Option<&Made> {
        let counts = |made: &&Made| made.place.controllers.contains("cpuacct");
        self.made.iter().find(counts)
    }

    /// Whether nobody has removed a folder of it.
    fn all_there(&self) -> Result<(), ControlError> {
        self.made.iter().try_for_each(Made::is_there)
    }

    fn build(&mut self, place: Place, name: &str) -> Result<(), ControlError> {
        let folder = place.parent.join(format!("{}{name}", folder::PREFIX));
        // From looking what is enabled until our group stands there as a reason
        // to leave it so.
        let _lock = match place.version {
            Version::V2 if !place.controllers.is_empty() => {
                let lock = folder::lock(&place.parent)?;
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

    /// Has the parent pass on what the place needs.
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

    /// Makes a change that stands in the journal first.
    fn change(
        &mut self,
        change: Change,
        act: impl FnOnce() -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let entry = self.journal.enter(&change)?;
        self.changes.push((entry, change));
        act()
    }

    /// The processes in it.
    ///
    /// # Errors
    /// When the kernel does not tell, or the group was removed.
    pub fn processes(&self) -> Result<Vec<Pid>, ControlError> {
        if let Some(made) = self.holder().or(self.made.last()) {
            made.is_there()?;
            return folder::processes(&made.folder);
        }
        let mut pids = Vec::new();
        for tree in self.trees() {
            let members = tree.members(&self.root)?;
            pids.extend(members.iter().map(|l| l.pid));
        }
        Ok(pids)
    }

    /// What it has used since it was made.
    ///
    /// # Errors
    /// When a file is unreadable, or the group was removed.
    pub fn usage(&self) -> Result<Usage, ControlError> {
        let mut usage = Usage::default();
        for made in &self.made {
            let nanos = made.folder.join("cpuacct.usage");
            if made.place.controllers.contains("cpuacct") {
                let text = files::read(&nanos)?;
                let ns = text.trim().parse().map_err(|_| ControlError::Malformed {
                    path: nanos,
                    found: text.trim().to_owned(),
                })?;
                usage.cpu = Some(CpuTime(Duration::from_nanos(ns)));
            }
            let counts = made.place.version == Version::V2;
            if !(counts || made.place.controllers.contains("cpu")) {
                continue;
            }
            let text = files::read(&made.folder.join("cpu.stat"))?;
            let us = |key| files::keyed(&text, key).map(Duration::from_micros);
            let ns = |key| files::keyed(&text, key).map(Duration::from_nanos);
            // Beside a holder it knows only what has been frozen.
            usage.cpu = usage.cpu.or(us("usage_usec").map(CpuTime));
            usage.periods = files::keyed(&text, "nr_periods").or(usage.periods);
            usage.throttled = files::keyed(&text, "nr_throttled").or(usage.throttled);
            usage.throttled_time = us("throttled_usec")
                .or_else(|| ns("throttled_time"))
                .or(usage.throttled_time);
        }
        if self.made.is_empty() {
            let mut sum = self.ended_used;
            for tree in self.trees() {
                sum = sum + tree::cpu_time(&self.root, tree)?;
            }
            usage.cpu = Some(sum);
        }
        Ok(usage)
    }

    /// Gives everything back, as a drop does, and says what went wrong.
    ///
    /// # Errors
    /// The first thing that could not be given back; it stays in the journal,
    /// and the rest is given back all the same.
    pub fn give_back(mut self) -> Result<(), ControlError> {
        self.give_all().map_or(Ok(()), Err)
    }

    fn give_all(&mut self) -> Option<ControlError> {
        let mut first = None;
        if self.capabilities.keeps_orphans && self.at_end == AtEnd::Kill {
            // The way back below does not know whom we have adopted.
            first = self.kill().err();
        }
        while let Some((entry, change)) = self.changes.pop() {
            let outcome = match undo(&self.root, &change) {
                Ok(Undone::GivenBack(_)) => self.journal.given_back(entry),
                // Another run needs it; the journal keeps it for the next start.
                Ok(Undone::Later(_)) => Ok(()),
                Err(error) => Err(error),
            };
            first = first.or(outcome.err());
        }
        first
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What fails stays in the journal, and the next start says so.
        let _ = self.give_all();
    }
}
