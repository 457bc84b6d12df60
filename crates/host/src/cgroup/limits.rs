use super::{Cgroups, OwnGroups};
use crate::error::{HostError, number};
use crate::root::Root;
use plimsoll_model::Bytes;
use std::path::Path;

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
        cpu,
        memory: memory.map(Bytes),
    })
}

/// Reads a limit of one group, by its folder.
type ReadLimit<T> = fn(&Root, &Path) -> Result<Option<T>, HostError>;

/// The smallest limit from the own group of a controller up to the top of its
/// mount.
fn smallest<T: PartialOrd>(
    root: &Root,
    own: &OwnGroups,
    controller: &str,
    v1: ReadLimit<T>,
    v2: ReadLimit<T>,
) -> Result<Option<T>, HostError> {
    let (group, limit) = match (own.v1.get(controller), &own.v2) {
        (Some(group), _) => (group, v1),
        (None, Some(group)) => (group, v2),
        (None, None) => return Ok(None),
    };
    let folders = group.folder.ancestors();
    let limits = folders
        .take_while(|folder| folder.starts_with(&group.top))
        .filter_map(|folder| limit(root, folder).transpose())
        .collect::<Result<Vec<T>, _>>()?;
    let smaller = |a, b| if b < a { b } else { a };
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
