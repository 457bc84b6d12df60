//! CPU and memory limits of a process or a group, and of the groups above.

use super::mounts::Mount;
use super::{Cgroups, OwnGroup, OwnGroups};
use crate::error::{HostError, number};
use crate::process::Pid;
use crate::root::Root;
use plimsoll_model::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Limits of this process' cgroup and its ancestors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Limits {
    /// CPU seconds per second, that is, in CPUs; `None` means no limit.
    pub(crate) cpu: Option<f64>,
    /// `None` means no limit.
    pub(crate) memory: Option<Bytes>,
}

/// Reads the smallest limits from this process' cgroup up to the topmost
/// visible one. In a container the topmost visible group is often its own;
/// limits of groups above it apply but are not visible.
pub(crate) fn own_limits(root: &Root) -> Result<Limits, HostError> {
    let own = Cgroups::find(root)?.own(root)?;
    let cpu = smallest(root, &own, "cpu", cpu_v1, cpu_v2)?;
    let memory = smallest(root, &own, "memory", memory_v1, memory_v2)?;
    Ok(Limits {
        cpu: cpu.map(|limit| limit.value),
        memory: memory.map(|limit| Bytes(limit.value)),
    })
}

/// What the memory limits of this process' groups leave; `None` without a limit.
pub(crate) fn own_memory_left(root: &Root) -> Result<Option<Bytes>, HostError> {
    let own = Cgroups::find(root)?.own(root)?;
    let left = smallest(root, &own, "memory", memory_left_v1, memory_left_v2)?;
    Ok(left.map(|left| Bytes(left.value)))
}

/// The CPU quota of this process, in CPUs; `None` means no limit.
pub fn own_cpu_quota(root: &Root) -> Result<Option<f64>, HostError> {
    Ok(own_limits(root)?.cpu)
}

/// The CPU quota that these processes have together, in CPUs: each group with
/// a limit counts once. `None` if one of them has no limit, or all have ended.
pub fn cpu_quota(root: &Root, pids: &[Pid]) -> Result<Option<f64>, HostError> {
    let cgroups = Cgroups::find(root)?;
    let mut quotas: BTreeMap<PathBuf, f64> = BTreeMap::new();
    for pid in pids {
        let Some(groups) = cgroups.of(root, *pid)? else {
            continue;
        };
        let Some(limit) = smallest(root, &groups, "cpu", cpu_v1, cpu_v2)? else {
            return Ok(None);
        };
        quotas.insert(limit.folder, limit.value);
    }
    Ok((!quotas.is_empty()).then(|| quotas.values().sum()))
}

impl Cgroups {
    /// The smallest CPU quota of the group `name` and the groups above it, in
    /// CPUs; `None` means no limit. `name` is as for [`Cgroups::cpu_time`].
    pub fn cpu_quota(&self, root: &Root, name: &str) -> Result<Option<f64>, HostError> {
        let group = |mount: &Mount| OwnGroup {
            top: PathBuf::from(&mount.point),
            folder: PathBuf::from(mount.folder(name)),
        };
        let v1 = self
            .v1
            .get("cpu")
            .map(|mount| ("cpu".to_owned(), group(mount)));
        let groups = OwnGroups {
            v2: self.v2.as_ref().map(group),
            v1: v1.into_iter().collect(),
        };
        Ok(smallest(root, &groups, "cpu", cpu_v1, cpu_v2)?.map(|limit| limit.value))
    }
}

/// A limit and the group that has it.
struct Limit<T> {
    folder: PathBuf,
    value: T,
}

/// Reads a limit of one group, by its folder.
type ReadLimit<T> = fn(&Root, &Path) -> Result<Option<T>, HostError>;

/// The smallest limit from a process' group of a controller up to the top of its
/// mount.
fn smallest<T: PartialOrd>(
    root: &Root,
    groups: &OwnGroups,
    controller: &str,
    v1: ReadLimit<T>,
    v2: ReadLimit<T>,
) -> Result<Option<Limit<T>>, HostError> {
    let (group, limit) = match (groups.v1.get(controller), &groups.v2) {
        (Some(group), _) => (group, v1),
        (None, Some(group)) => (group, v2),
        (None, None) => return Ok(None),
    };
    let folders = group.folder.ancestors();
    let limits = folders
        .take_while(|folder| folder.starts_with(&group.top))
        .filter_map(|folder| {
            let value = limit(root, folder).transpose()?;
            let folder = folder.to_owned();
            Some(value.map(|value| Limit { folder, value }))
        })
        .collect::<Result<Vec<Limit<T>>, _>>()?;
    let smaller = |a: Limit<T>, b: Limit<T>| if b.value < a.value { b } else { a };
    Ok(limits.into_iter().reduce(smaller))
}

/// `QUOTA PERIOD` in microseconds, or `max PERIOD`.
fn cpu_v2(root: &Root, folder: &Path) -> Result<Option<f64>, HostError> {
    const EXPECTED: &str = "a quota and a period";
    let limit = root.parse_optional(folder.join("cpu.max"), |text| {
        let (quota, period) = text.trim().split_once(' ').unwrap_or((text, "100000"));
        match quota.trim() {
            "max" => Ok(None),
            quota => Ok(share(number(quota, EXPECTED)?, number(period, EXPECTED)?)),
        }
    })?;
    Ok(limit.flatten())
}

/// A negative quota means no limit.
fn cpu_v1(root: &Root, folder: &Path) -> Result<Option<f64>, HostError> {
    let period = root.parse_optional(folder.join("cpu.cfs_period_us"), |text| {
        number(text, "a period in microseconds")
    })?;
    let quota = root.parse_optional(folder.join("cpu.cfs_quota_us"), |text| {
        match text.starts_with('-') {
            true => Ok(None),
            false => number(text, "a quota in microseconds").map(Some),
        }
    })?;
    Ok(quota.flatten().zip(period).and_then(|(q, p)| share(q, p)))
}

fn share(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

fn memory_v2(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    let limit = root.parse_optional(folder.join("memory.max"), |text| match text.trim() {
        "max" => Ok(None),
        text => number(text, "a number of bytes").map(Some),
    })?;
    Ok(limit.flatten())
}

fn memory_left_v2(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    let limit = memory_v2(root, folder)?;
    let used = used(root, folder, "memory.current", "inactive_file ")?;
    Ok(limit
        .zip(used)
        .map(|(limit, used)| limit.saturating_sub(used)))
}

fn memory_left_v1(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    let limit = memory_v1(root, folder)?;
    let used = used(
        root,
        folder,
        "memory.usage_in_bytes",
        "total_inactive_file ",
    )?;
    Ok(limit
        .zip(used)
        .map(|(limit, used)| limit.saturating_sub(used)))
}

/// What a group uses, but for page cache that has not been used lately.
fn used(root: &Root, folder: &Path, usage: &str, cache: &str) -> Result<Option<u64>, HostError> {
    let bytes = |text: &str| number(text, "a number of bytes");
    let used = root.parse_optional(folder.join(usage), |text| bytes(text))?;
    let stat = root.parse_optional(folder.join("memory.stat"), |text| {
        let line = text.lines().find_map(|line| line.strip_prefix(cache));
        line.map_or(Ok(0), bytes)
    })?;
    Ok(used.map(|used: u64| used.saturating_sub(stat.unwrap_or(0))))
}

/// "No limit" is the largest signed number, rounded down to a page.
fn memory_v1(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    const LARGEST_PAGE: u64 = 1 << 20;
    let limit = root.parse_optional(folder.join("memory.limit_in_bytes"), |text| {
        number(text, "a number of bytes")
    })?;
    Ok(limit.filter(|bytes| *bytes < i64::MAX as u64 - LARGEST_PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::{UNIFIED, V1, V2, mounted};

    const UNLIMITED_V1: &str = "9223372036854771712\n";

    fn assert_limits(
        case: &str,
        table: &str,
        files: &[(&str, &str)],
        (cpu, memory): (Option<f64>, Option<u64>),
    ) {
        let found = own_limits(mounted(table).files(files).root()).unwrap();
        let memory = memory.map(Bytes);
        assert_eq!(found, Limits { cpu, memory }, "{case}");
    }

    #[test]
    fn smallest_limit_up_to_the_top_applies() {
        let files = [
            ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a.slice/b.scope/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/a.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.max", "1048576\n"),
        ];
        assert_limits("service", V2, &files, (Some(1.5), Some(1 << 20)));
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/memory.max", "2097152\n"),
        ];
        assert_limits("container", V2, &files, (Some(0.5), Some(2 << 20)));
        let own = "3:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/x\n1:name=systemd:/\n";
        let files = [
            ("proc/self/cgroup", own),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"),
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", UNLIMITED_V1),
        ];
        let table = V1.replace(" / /sys/fs/cgroup/", " /docker/abc /sys/fs/cgroup/");
        let case = "container without a cgroup namespace";
        assert_limits(case, &table, &files, (Some(2.0), Some(4096)));
    }

    #[test]
    fn quotas_of_several_groups_add_up_and_a_shared_one_counts_once() {
        let quota = |name: &str| format!("sys/fs/cgroup/pods/{name}cpu.max");
        let group = |pid: u32, path: &str| (format!("proc/{pid}/cgroup"), format!("0::{path}\n"));
        let mut tree = mounted(V2)
            .file(&quota(""), "400000 100000\n")
            .file(&quota("a/"), "200000 100000\n")
            .file(&quota("b/"), "50000 100000\n");
        for (pid, path) in [(7, "/pods/a"), (8, "/pods/a/x"), (9, "/pods/b"), (10, "/")] {
            let (file, text) = group(pid, path);
            tree = tree.file(&file, &text);
        }
        let of = |pids: &[Pid]| cpu_quota(tree.root(), pids).unwrap();
        assert_eq!(of(&[7]), Some(2.0));
        assert_eq!(of(&[7, 8]), Some(2.0), "the same group's");
        assert_eq!(of(&[7, 8, 9]), Some(2.5));
        assert_eq!(of(&[7, 10]), None, "one is not limited");
        assert_eq!(of(&[7, 77]), Some(2.0), "one has ended");
        assert_eq!(of(&[77]), None);
        let cgroups = Cgroups::find(tree.root()).unwrap();
        let named = |name: &str| cgroups.cpu_quota(tree.root(), name).unwrap();
        assert_eq!(named("pods/a/x"), Some(2.0), "a group above it is limited");
        assert_eq!(named("pods"), Some(4.0));
        assert_eq!(named("/"), None);
    }

    #[test]
    fn quotas_of_a_service_are_read_on_hybrid_from_version_1() {
        let folder = "sys/fs/cgroup/cpu,cpuacct/web";
        let files = [
            ("proc/7/cgroup", "3:cpu,cpuacct:/web\n0::/\n".to_owned()),
            (&format!("{folder}/cpu.cfs_quota_us"), "50000\n".to_owned()),
            (
                &format!("{folder}/cpu.cfs_period_us"),
                "100000\n".to_owned(),
            ),
        ];
        let mut tree = mounted(&format!("{V1}{UNIFIED}"));
        for (file, text) in files {
            tree = tree.file(file, &text);
        }
        assert_eq!(cpu_quota(tree.root(), &[7]).unwrap(), Some(0.5));
        let cgroups = Cgroups::find(tree.root()).unwrap();
        assert_eq!(cgroups.cpu_quota(tree.root(), "web").unwrap(), Some(0.5));
    }

    #[test]
    fn no_limit_is_none() {
        let files = [
            ("proc/self/cgroup", "2:memory:/\n1:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED_V1),
        ];
        let hybrid = format!("{V1}{UNIFIED}");
        assert_limits("version 1", &hybrid, &files, (None, None));
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ];
        assert_limits("version 2", V2, &files, (None, None));
        assert_limits("no cgroups", "", &[], (None, None));
    }
}
