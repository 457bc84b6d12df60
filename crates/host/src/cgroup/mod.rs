//! Control groups: mounted version, CPU time of a group, and the limits of this
//! process.
//!
//! See Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. On a hybrid
//! system the controllers are on version 1 and an empty version 2 is mounted
//! next to them.

mod cpuset;
mod limits;
mod mounts;
mod own;

pub use limits::{cpu_quota, own_cpu_quota};
pub(crate) use limits::{own_limits, own_memory_left};
pub use own::{OwnGroup, OwnGroups};

use crate::error::{HostError, Malformed, number};
use crate::pressure::some_total;
use crate::process::Pid;
use crate::root::Root;
use mounts::Mount;
use plimsoll_model::CpuTime;
use std::collections::BTreeMap;
use std::time::Duration;

/// The mounted cgroup hierarchies of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cgroups {
    v2: Option<Mount>,
    /// By controller.
    v1: BTreeMap<String, Mount>,
}

impl Cgroups {
    /// Reads /proc/self/mountinfo.
    pub fn find(root: &Root) -> Result<Cgroups, HostError> {
        let table = root.text("/proc/self/mountinfo")?;
        Ok(mounts::parse(&table))
    }

    /// The version of the controllers, 1 or 2; `None` if no hierarchy is
    /// mounted. On a hybrid system it is 1.
    pub fn version(&self) -> Option<u8> {
        let controllers = ["cpu", "cpuacct", "memory"];
        if controllers.iter().any(|name| self.v1.contains_key(*name)) {
            return Some(1);
        }
        self.v2.as_ref().map(|_| 2)
    }

    /// The folders of the uppermost groups, once each: version 2, then those of version 1.
    pub fn tops(&self) -> Vec<&str> {
        let mut tops: Vec<&str> = Vec::new();
        for mount in self.v2.iter().chain(self.v1.values()) {
            if !tops.contains(&mount.point.as_str()) {
                tops.push(&mount.point);
            }
        }
        tops
    }

    /// CPU time of the group `name` and its descendants since the group was
    /// created. `name` is a path below the mount, such as
    /// `system.slice/nginx.service`, or the absolute path of its directory.
    ///
    /// # Errors
    /// [`HostError::NoCgroup`] if no group of that name counts CPU time.
    pub fn cpu_time(&self, root: &Root, name: &str) -> Result<CpuTime, HostError> {
        let no_cgroup = || no_cgroup(name);
        // On a hybrid system, version 1 has the CPU controller.
        if let Some(mount) = self.v1.get("cpuacct") {
            let file = format!("{}/cpuacct.usage", mount.folder(name));
            let usage =
                root.parse_optional(file, |text| number(text, "a number of nanoseconds"))?;
            if let Some(ns) = usage {
                return Ok(CpuTime(Duration::from_nanos(ns)));
            }
        }
        let mount = self.v2.as_ref().ok_or_else(no_cgroup)?;
        let file = format!("{}/cpu.stat", mount.folder(name));
        root.parse_optional(file, usage_usec)?.ok_or_else(no_cgroup)
    }

    /// PSI: time in which at least one task of the group `name` or its
    /// descendants waited for a CPU, since the group was created. `None` if the
    /// kernel does not count it per group; only version 2 does.
    ///
    /// # Errors
    /// [`HostError::NoCgroup`] if there is no group of that name.
    pub fn cpu_pressure(&self, root: &Root, name: &str) -> Result<Option<Duration>, HostError> {
        let mut folders = self
            .v2
            .iter()
            .chain(self.v1.values())
            .map(|m| m.folder(name));
        let folder = folders.find(|folder| root.has(folder));
        let folder = folder.ok_or_else(|| no_cgroup(name))?;
        some_total(root, &format!("{folder}/cpu.pressure"))
    }

    /// The processes of the group `name` and its descendants.
    ///
    /// # Errors
    /// [`HostError::NoCgroup`] if there is no group of that name.
    pub fn processes(&self, root: &Root, name: &str) -> Result<Vec<Pid>, HostError> {
        let mounts = self.v1.get("cpuacct").into_iter().chain(&self.v2);
        let mut folders = mounts.map(|mount| mount.folder(name));
        let folder = folders.find(|folder| root.has(format!("{folder}/cgroup.procs")));
        processes_below(root, folder.ok_or_else(|| no_cgroup(name))?)
    }
}

fn no_cgroup(name: &str) -> HostError {
    HostError::NoCgroup {
        name: name.to_owned(),
    }
}

fn processes_below(root: &Root, folder: String) -> Result<Vec<Pid>, HostError> {
    let mut pids = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let found = root.parse_optional(format!("{folder}/cgroup.procs"), process_ids)?;
        pids.extend(found.unwrap_or_default());
        let inner = root.names(&folder)?.into_iter();
        let inner = inner.map(|name| format!("{folder}/{name}"));
        folders.extend(inner.filter(|path| root.path(path).is_dir()));
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

fn process_ids(cgroup_procs: &str) -> Result<Vec<Pid>, Malformed> {
    let pid = |line: &str| {
        line.parse()
            .map_err(|_| Malformed::new("a process ID", line))
    };
    cgroup_procs.lines().map(pid).collect()
}

fn usage_usec(cpu_stat: &str) -> Result<CpuTime, Malformed> {
    const EXPECTED: &str = "a line 'usage_usec MICROSECONDS'";
    let usage = cpu_stat
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "))
        .ok_or_else(|| Malformed::new(EXPECTED, cpu_stat))?;
    Ok(CpuTime(Duration::from_micros(number(usage, EXPECTED)?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    pub(crate) const V2: &str =
        "24 1 0:21 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
    pub(crate) const V1: &str = "\
        31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        33 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        34 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
    pub(crate) const UNIFIED: &str =
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    pub(crate) fn mounted(table: &str) -> FakeTree {
        FakeTree::new().file("proc/self/mountinfo", table)
    }

    #[test]
    fn version_is_that_of_the_controllers() {
        let version = |table: &str| Cgroups::find(mounted(table).root()).unwrap().version();
        assert_eq!(version(V2), Some(2));
        assert_eq!(version(V1), Some(1));
        assert_eq!(version(&format!("{V1}{UNIFIED}")), Some(1));
        assert_eq!(version(""), None);
    }

    #[test]
    fn each_mounted_hierarchy_is_named_once() {
        let tree = mounted(&format!("{V1}{UNIFIED}"));
        let points = ["unified", "cpu,cpuacct", "memory", "systemd"];
        let points = points.map(|name| format!("/sys/fs/cgroup/{name}"));
        assert_eq!(Cgroups::find(tree.root()).unwrap().tops(), points);
    }

    fn cpu_time(tree: &FakeTree, name: &str) -> Result<CpuTime, HostError> {
        Cgroups::find(tree.root())
            .unwrap()
            .cpu_time(tree.root(), name)
    }

    #[test]
    fn version_2_counts_microseconds() {
        let file = "sys/fs/cgroup/system.slice/a.service/cpu.stat";
        let tree = mounted(V2).file(file, "usage_usec 1500\nuser_usec 1\n");
        let time = CpuTime(Duration::from_micros(1500));
        for name in [
            "system.slice/a.service",
            "/system.slice/a.service/",
            "/sys/fs/cgroup/system.slice/a.service",
        ] {
            assert_eq!(cpu_time(&tree, name).unwrap(), time, "{name}");
        }
        let none = cpu_time(&tree, "b.service").unwrap_err();
        assert!(none.to_string().contains("b.service"), "{none}");
    }

    #[test]
    fn version_1_counts_nanoseconds_and_has_precedence_on_hybrid() {
        let tree = mounted(&format!("{V1}{UNIFIED}")).files(&[
            ("sys/fs/cgroup/cpu,cpuacct/a/cpuacct.usage", "123\n"),
            ("sys/fs/cgroup/unified/a/cpu.stat", "usage_usec 0\n"),
            ("sys/fs/cgroup/unified/b/cpu.stat", "usage_usec 7\n"),
        ]);
        assert_eq!(cpu_time(&tree, "a").unwrap().0, Duration::from_nanos(123));
        assert_eq!(cpu_time(&tree, "b").unwrap().0, Duration::from_micros(7));
        assert!(cpu_time(&tree, "c").is_err());
    }

    #[test]
    fn group_pressure_is_none_if_not_counted() {
        let tree = mounted(V2).files(&[
            ("sys/fs/cgroup/a/cpu.pressure", "some avg10=0 total=12\n"),
            ("sys/fs/cgroup/b/cgroup.procs", ""),
        ]);
        let of = |name| {
            let cgroups = Cgroups::find(tree.root()).unwrap();
            cgroups.cpu_pressure(tree.root(), name)
        };
        assert_eq!(of("a").unwrap(), Some(Duration::from_micros(12)));
        assert_eq!(of("b").unwrap(), None);
        assert!(of("c").is_err());
    }

    #[test]
    fn processes_of_descendant_groups_are_included() {
        let tree = mounted(V2).files(&[
            ("sys/fs/cgroup/a/cgroup.procs", "30\n"),
            ("sys/fs/cgroup/a/b/cgroup.procs", "7\n8\n"),
            ("sys/fs/cgroup/c/cgroup.procs", "99\n"),
        ]);
        let cgroups = Cgroups::find(tree.root()).unwrap();
        assert_eq!(cgroups.processes(tree.root(), "a").unwrap(), [7, 8, 30]);
        assert!(cgroups.processes(tree.root(), "d").is_err());
    }
}
