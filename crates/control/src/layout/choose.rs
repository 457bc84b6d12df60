//! Chooses where a group is made and by which means each need is met: a pure
//! function of the layout.
//!
//! Version 2 comes first: the nearest ancestor that serves the most needs, so that
//! little changes for other processes. Needs that it cannot serve go to version 1,
//! then to a fallback without cgroups. On hybrid systems each controller is on one
//! version only; freezing uses version 2, where a frozen process can be killed.

use super::{Found, Holds, Level};
use crate::mechanism::{Capabilities, CgroupSupport, Means, Mechanism};
use crate::schedule::Class;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// A hierarchy in which a group will be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) version: Version,
    pub(crate) parent: PathBuf,
    /// Where remaining processes go when our group is removed.
    pub(crate) home: PathBuf,
    /// Version 2: controllers that the parent must enable. Version 1: the controllers
    /// of this mount.
    pub(crate) controllers: BTreeSet<String>,
    /// Whether this process must first move into a leaf of its own, because a group of
    /// version 2 cannot both hold processes and enable controllers.
    pub(crate) leaf: bool,
    pub(crate) serves: BTreeSet<Mechanism>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// In the order of creation; the freezing group is last.
    pub(crate) places: Vec<Place>,
    pub(crate) capabilities: Capabilities,
}

impl Found {
    pub(crate) fn choose(&self, needs: &BTreeSet<Mechanism>) -> Choice {
        let v2 = self.place_v2(needs);
        let mut left = needs.clone();
        if let Some(place) = &v2 {
            left.retain(|need| !place.serves.contains(need));
        }
        let mut places = self.places_v1(&left);
        places.extend(v2);
        // Frozen processes must be thawed before other groups are emptied, and groups
        // are undone last to first.
        places.sort_by_key(|place| place.serves.contains(&Mechanism::Freeze));
        let means = needs.iter().map(|need| {
            let by_group = places.iter().any(|place| place.serves.contains(need));
            let means = match by_group {
                true => Means::Group,
                false => self.fallback(*need),
            };
            (*need, means)
        });
        let means: BTreeMap<Mechanism, Means> = means.collect();
        let support = match (places.is_empty(), self.class) {
            (true, Class::Idle) => CgroupSupport::IdleTree,
            (true, _) => CgroupSupport::NiceTree,
            (false, _) if means.values().all(|m| *m == Means::Group) => CgroupSupport::Group,
            (false, _) => CgroupSupport::PartOfGroup,
        };
        let notes = self.notes(&means);
        Choice {
            places,
            capabilities: Capabilities {
                support,
                means,
                keeps_orphans: self.orphans,
                notes,
            },
        }
    }

    fn place_v2(&self, needs: &BTreeSet<Mechanism>) -> Option<Place> {
        let home = &self.v2.first()?.folder;
        let places = self.v2.iter().enumerate().rev();
        let places = places.map(|(nth, level)| self.place_at(level, nth == 0, home, needs));
        // Of places that serve as many needs, the last one: the nearest.
        let best = places.max_by_key(|place| place.serves.len());
        best.filter(|place| !place.serves.is_empty())
    }

    /// The place for a group in `level`; it serves nothing if no group can be made
    /// there.
    fn place_at(
        &self,
        level: &Level,
        own: bool,
        home: &Path,
        needs: &BTreeSet<Mechanism>,
    ) -> Place {
        let passes_on = level.uppermost || level.holds == Holds::Nobody;
        let leaf = own && !level.uppermost && level.holds == Holds::OnlyUs;
        let can_have = |controller: &str| {
            level.enabled.contains(controller)
                || (level.controllers.contains(controller)
                    && level.may_enable
                    && (passes_on || leaf))
        };
        let serves: BTreeSet<Mechanism> = needs
            .iter()
            .copied()
            .filter(|need| level.ours && need.controller_v2().is_none_or(can_have))
            .filter(|need| *need != Mechanism::Idle || self.idle_in_v2)
            .collect();
        let controllers: BTreeSet<String> = serves
            .iter()
            .filter_map(|need| need.controller_v2())
            .map(str::to_owned)
            .collect();
        Place {
            version: Version::V2,
            parent: level.folder.clone(),
            home: home.to_path_buf(),
            leaf: leaf && !controllers.is_subset(&level.enabled),
            controllers,
            serves,
        }
    }

    /// One for each mounted hierarchy, which may have several controllers.
    fn places_v1(&self, needs: &BTreeSet<Mechanism>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let mut wanted: Vec<(&str, Option<Mechanism>)> = needs
            .iter()
            .filter_map(|need| Some((need.controller_v1()?, Some(*need))))
            .collect();
        if wanted.iter().any(|(controller, _)| *controller == "cpu") {
            // CPU time has its own controller.
            wanted.push(("cpuacct", None));
        }
        for (controller, need) in wanted {
            let Some(level) = self.v1.get(controller).filter(|level| level.ours) else {
                continue;
            };
            if need == Some(Mechanism::Idle) && !level.idle_file {
                continue;
            }
            let known = places.iter().position(|p| p.parent == level.folder);
            let nth = known.unwrap_or_else(|| {
                places.push(Place {
                    version: Version::V1,
                    parent: level.folder.clone(),
                    home: level.folder.clone(),
                    controllers: BTreeSet::new(),
                    leaf: false,
                    serves: BTreeSet::new(),
                });
                places.len() - 1
            });
            places[nth].controllers.insert(controller.to_owned());
            places[nth].serves.extend(need);
        }
        // Killing needs a group that holds processes.
        if needs.contains(&Mechanism::Kill)
            && let Some(place) = places.last_mut()
        {
            place.serves.insert(Mechanism::Kill);
        }
        places
    }

    fn fallback(&self, need: Mechanism) -> Means {
        let because = self.reason(need);
        let (by, lost) = match need {
            Mechanism::Weight => (
                "nice",
                "it holds for each process and not for all together, so more processes get more",
            ),
            Mechanism::Idle => match self.class {
                Class::Idle => (
                    "the scheduling class SCHED_IDLE",
                    "it must be set before the command starts",
                ),
                Class::Batch => (
                    "the scheduling class SCHED_BATCH and nice 19",
                    "it still competes for the CPU",
                ),
                Class::Other => ("nice 19", "it still competes for the CPU"),
            },
            Mechanism::CpuSet => ("affinity", "a process may give itself other CPUs again"),
            Mechanism::Freeze => (
                "the signals SIGSTOP and SIGCONT",
                "children that leave the process group and outlive their parent go on",
            ),
            Mechanism::Kill => (
                "the signal SIGKILL",
                "children that leave the process group and outlive their parent live on",
            ),
            Mechanism::Quota | Mechanism::MemoryHigh | Mechanism::MemoryMax | Mechanism::Io => {
                return Means::Missing { because };
            }
        };
        Means::Instead { by, because, lost }
    }

    /// Why no cgroup serves this need; a sentence without its full stop.
    fn reason(&self, need: Mechanism) -> String {
        if need == Mechanism::MemoryHigh && self.v1.contains_key("memory") {
            let reason =
                "memory belongs to cgroup version 1 here, which has only a limit that kills";
            return reason.to_owned();
        }
        let v1 = need.controller_v1().and_then(|c| self.v1.get(c));
        if let Some(level) = v1 {
            let folder = level.folder.display();
            return match need {
                Mechanism::Idle if level.ours => format!("{folder} has no cpu.idle (Linux 5.15)"),
                _ => format!("this user may not make a cgroup in {folder}"),
            };
        }
        let Some(own) = self.v2.first() else {
            return match self.v1.is_empty() {
                true => "there are no cgroups to use here".to_owned(),
                false => "cgroup version 1 does not have it here".to_owned(),
            };
        };
        let folder = own.folder.display();
        let Some(controller) = need.controller_v2() else {
            return format!(
                "this user may not make a cgroup in {folder} or above; start in one of your own: \
                 systemd-run --user --scope -p Delegate=yes COMMAND"
            );
        };
        let anywhere = self.v2.iter().any(|l| l.controllers.contains(controller));
        let ours = |l: &&Level| l.ours && l.controllers.contains(controller);
        match self.v2.iter().find(ours) {
            _ if !anywhere => format!("the controller '{controller}' is not given to {folder}"),
            None => format!(
                "this user may not make a cgroup where '{controller}' is; have it delegated: \
                 systemd-run --user --scope -p Delegate=yes COMMAND"
            ),
            Some(_) if need == Mechanism::Idle && !self.idle_in_v2 => {
                "the kernel is older than 5.15".to_owned()
            }
            Some(level) if level.holds != Holds::Nobody && !level.uppermost => format!(
                "{} holds other processes, so it cannot pass '{controller}' on; start in a cgroup \
                 of your own: systemd-run --user --scope -p Delegate=yes COMMAND",
                level.folder.display()
            ),
            Some(level) => format!(
                "this user may not enable '{controller}' in {}",
                level.folder.display()
            ),
        }
    }

    fn notes(&self, means: &BTreeMap<Mechanism, Means>) -> Vec<String> {
        let scheduled = [Mechanism::Weight, Mechanism::Idle]
            .iter()
            .any(|m| matches!(means.get(m), Some(Means::Instead { .. })));
        if !(scheduled && self.by_session) {
            return Vec::new();
        }
        vec![
            "This kernel first divides CPU time among sessions (sched_autogroup_enabled is 1), so \
             nice and scheduling class count only against processes of the same session."
                .to_owned(),
        ]
    }
}
