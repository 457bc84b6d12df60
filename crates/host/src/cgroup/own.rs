//! The cgroups of a process, one per hierarchy.

use super::Cgroups;
use super::mounts::Mount;
use crate::error::HostError;
use crate::process::Pid;
use crate::root::Root;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The group of a process in one hierarchy. Paths are those of the machine, not
/// relative to a [`Root`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    /// The mount point: the topmost visible group.
    pub top: PathBuf,
    /// The directory of the group: `top` or below it.
    pub folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnGroups {
    /// In version 2, if mounted.
    pub v2: Option<OwnGroup>,
    /// In version 1, by controller (`cpu`, `memory`, …).
    pub v1: BTreeMap<String, OwnGroup>,
}

impl Cgroups {
    /// The groups of this process. A group outside of the mounted subtree is
    /// reported as the top of the mount.
    pub fn own(&self, root: &Root) -> Result<OwnGroups, HostError> {
        let table = root.optional("/proc/self/cgroup")?.unwrap_or_default();
        Ok(self.in_table(&table))
    }

    /// The groups of a process, as for [`Cgroups::own`]; `None` if it has ended.
    pub(super) fn of(&self, root: &Root, pid: Pid) -> Result<Option<OwnGroups>, HostError> {
        let table = root.optional(format!("/proc/{pid}/cgroup"))?;
        Ok(table.map(|table| self.in_table(&table)))
    }

    fn in_table(&self, table: &str) -> OwnGroups {
        let group = |mount: &Mount, controller: &str| {
            let top = PathBuf::from(&mount.point);
            let folder = match mount.below(&own_path(table, controller)) {
                below if below.is_empty() => top.clone(),
                below => top.join(below),
            };
            OwnGroup { top, folder }
        };
        OwnGroups {
            v2: self.v2.as_ref().map(|mount| group(mount, "")),
            v1: self
                .v1
                .iter()
                .map(|(controller, mount)| (controller.clone(), group(mount, controller)))
                .collect(),
        }
    }
}

/// Path of a process in the hierarchy of a controller. Lines are
/// `NUMBER:CONTROLLERS:PATH`; version 2 has an empty controller list.
fn own_path(table: &str, controller: &str) -> String {
    table
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        })
        .find(|(controllers, _)| controllers.split(',').any(|c| c == controller))
        .map_or_else(|| "/".to_owned(), |(_, path)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::cgroup::Cgroups;
    use crate::cgroup::tests::{UNIFIED, V1, mounted};
    use std::path::Path;

    #[test]
    fn own_group_is_found_per_hierarchy() {
        let own = "3:cpu,cpuacct:/\n4:memory:/a/b\n0::/user.slice\n";
        let tree = mounted(&format!("{V1}{UNIFIED}")).file("proc/self/cgroup", own);
        let found = Cgroups::find(tree.root()).unwrap();
        let own = found.own(tree.root()).unwrap();
        let v2 = own.v2.unwrap();
        assert_eq!(v2.folder, Path::new("/sys/fs/cgroup/unified/user.slice"));
        assert_eq!(v2.top, Path::new("/sys/fs/cgroup/unified"));
        let memory = &own.v1["memory"];
        assert_eq!(memory.folder, Path::new("/sys/fs/cgroup/memory/a/b"));
        assert_eq!(own.v1["cpu"].folder, own.v1["cpu"].top);
    }
}
