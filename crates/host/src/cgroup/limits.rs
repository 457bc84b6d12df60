use super::Cgroups;
use super::mounts::Mount;
use super::own::own_path;
use crate::error::{HostError, Malformed, number};
use crate::root::Root;
use plimsoll_model::Bytes;
use std::path::{Path, PathBuf};

/// Limits of this process' cgroup and its ancestors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// CPU seconds per second, that is, in CPUs; `None` means no limit.
    pub cpu: Option<f64>,
    /// `None` means no limit.
    pub memory: Option<Bytes>,
}

/// Reads the smallest limits from this process' cgroup up to the topmost
/// visible one. In a container the topmost visible group is often its own;
/// limits of groups above it apply but are not visible.
///
/// # Errors
/// If the cgroup tables or a limit cannot be read.
pub fn own_limits(root: &Root) -> Result<Limits, HostError> {
    const OWN: &str = "/proc/self/cgroup";
    let cgroups = Cgroups::find(root)?;
    let own = root.optional(OWN)?.unwrap_or_default();
    let cpu = match (cgroups.v1.get("cpu"), &cgroups.v2) {
        (Some(mount), _) => smallest(root, mount, &own_path(&own, "cpu"), cpu_v1)?,
        (None, Some(mount)) => smallest(root, mount, &own_path(&own, ""), cpu_v2)?,
        (None, None) => None,
    };
    let memory = match (cgroups.v1.get("memory"), &cgroups.v2) {
        (Some(mount), _) => smallest(root, mount, &own_path(&own, "memory"), memory_v1)?,
        (None, Some(mount)) => smallest(root, mount, &own_path(&own, ""), memory_v2)?,
        (None, None) => None,
    };
    Ok(Limits {
        cpu,
        memory: memory.map(Bytes),
    })
}

/// The smallest limit from a group up to the top of the mount.
fn smallest<T: PartialOrd>(
    root: &Root,
    mount: &Mount,
    path: &str,
    limit: impl Fn(&Root, &Path) -> Result<Option<T>, HostError>,
) -> Result<Option<T>, HostError> {
    let top = PathBuf::from(&mount.point);
    let group = top.join(mount.below(path));
    let mut found = None;
    for folder in group.ancestors().take_while(|f| f.starts_with(&top)) {
        if let Some(here) = limit(root, folder)? {
            found = match found {
                Some(smaller) if smaller <= here => Some(smaller),
                _ => Some(here),
            };
        }
    }
    Ok(found)
}

/// `QUOTA PERIOD` in microseconds, or `max PERIOD`.
fn cpu_v2(root: &Root, folder: &Path) -> Result<Option<f64>, HostError> {
    const EXPECTED: &str = "a quota and a period";
    read(root, &folder.join("cpu.max"), |text| {
        let mut words = text.split_ascii_whitespace();
        let quota = words.next().unwrap_or_default();
        if quota == "max" {
            return Ok(None);
        }
        let period = words.next().unwrap_or("100000");
        Ok(share(number(quota, EXPECTED)?, number(period, EXPECTED)?))
    })
}

/// A negative quota means no limit.
fn cpu_v1(root: &Root, folder: &Path) -> Result<Option<f64>, HostError> {
    let period = read(root, &folder.join("cpu.cfs_period_us"), |text| {
        number(text, "a period in microseconds").map(Some)
    })?;
    let quota = read(root, &folder.join("cpu.cfs_quota_us"), |text| {
        match text.trim().strip_prefix('-') {
            Some(_) => Ok(None),
            None => number(text, "a quota in microseconds").map(Some),
        }
    })?;
    Ok(quota.zip(period).and_then(|(q, p)| share(q, p)))
}

fn share(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

fn memory_v2(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    read(root, &folder.join("memory.max"), |text| match text.trim() {
        "max" => Ok(None),
        text => number(text, "a number of bytes").map(Some),
    })
}

/// "No limit" is the largest signed number, rounded down to a page.
fn memory_v1(root: &Root, folder: &Path) -> Result<Option<u64>, HostError> {
    const LARGEST_PAGE: u64 = 1 << 20;
    read(root, &folder.join("memory.limit_in_bytes"), |text| {
        let bytes = number(text, "a number of bytes")?;
        Ok((bytes < i64::MAX as u64 - LARGEST_PAGE).then_some(bytes))
    })
}

fn read<T>(
    root: &Root,
    file: &Path,
    parse: impl FnOnce(&str) -> Result<Option<T>, Malformed>,
) -> Result<Option<T>, HostError> {
    match root.optional(file)? {
        None => Ok(None),
        Some(text) => parse(&text).map_err(|malformed| malformed.at(&root.path(file))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::{UNIFIED, V1, V2, mounted};
    use crate::fake_tree::FakeTree;

    const UNLIMITED_V1: &str = "9223372036854771712\n";

    fn limits(tree: &FakeTree) -> Limits {
        own_limits(tree.root()).unwrap()
    }

    #[test]
    fn smallest_limit_up_to_the_top_applies() {
        let tree = mounted(V2).files(&[
            ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a.slice/b.scope/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/a.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.max", "1048576\n"),
        ]);
        let expected = Limits {
            cpu: Some(1.5),
            memory: Some(Bytes(1 << 20)),
        };
        assert_eq!(limits(&tree), expected);
    }

    #[test]
    fn container_sees_its_own_group_as_the_top() {
        let tree = mounted(V2).files(&[
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/memory.max", "2097152\n"),
        ]);
        assert_eq!(limits(&tree).cpu, Some(0.5));
        assert_eq!(limits(&tree).memory, Some(Bytes(2 << 20)));
    }

    #[test]
    fn container_without_cgroup_namespace_is_found_below_the_mount() {
        let table = V1.replace(" / /sys/fs/cgroup/", " /docker/abc /sys/fs/cgroup/");
        let own = "3:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/x\n1:name=systemd:/\n";
        let tree = mounted(&table).files(&[
            ("proc/self/cgroup", own),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"),
            ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", UNLIMITED_V1),
        ]);
        assert_eq!(limits(&tree).cpu, Some(2.0));
        assert_eq!(limits(&tree).memory, Some(Bytes(4096)));
    }

    #[test]
    fn no_limit_is_none_in_either_version() {
        let v1 = mounted(&format!("{V1}{UNIFIED}")).files(&[
            ("proc/self/cgroup", "2:memory:/\n1:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED_V1),
        ]);
        assert_eq!(limits(&v1), Limits::default());
        let v2 = mounted(V2).files(&[
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(limits(&v2), Limits::default());
        assert_eq!(limits(&mounted("")), Limits::default());
    }

    #[test]
    fn garbage_names_the_file() {
        let tree = mounted(V2).file("sys/fs/cgroup/cpu.max", "half 100000\n");
        let message = own_limits(tree.root()).unwrap_err().to_string();
        assert!(message.contains("sys/fs/cgroup/cpu.max"), "{message}");
    }
}
