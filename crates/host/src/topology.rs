//! CPU topology from sysfs (Documentation/admin-guide/cputopology.rst,
//! Documentation/ABI).

use crate::process::{online_cpus, own_allowed_cpus};
use crate::root::Root;
use crate::stat::CpuTimes;
use plimsoll_model::{Bytes, CacheSize, CpuId, CpuSet, Topology};
use std::collections::BTreeSet;

/// Sockets, cores, threads, NUMA nodes and caches; what sysfs lacks is `None`.
pub(crate) fn topology(root: &Root) -> Topology {
    let online = online_cpus(root).unwrap_or_else(|_| counted_cpus(root));
    let allowed = own_allowed_cpus(root).unwrap_or_default();
    let cores = cores(root, &online);
    let threads = cores.as_ref().and_then(|c| c.iter().map(CpuSet::len).max());
    let first = online.iter().next();
    Topology {
        sockets: sockets(root, &online),
        cores: cores.map(|c| count(c.len())),
        threads_per_core: threads.map(count),
        numa_nodes: set(root, "/sys/devices/system/node/online").map(|n| count(n.len())),
        caches: first.map_or_else(Vec::new, |cpu| caches(root, cpu)),
        online,
        allowed,
    }
}

/// Without sysfs, the CPUs in /proc/stat are the online ones.
fn counted_cpus(root: &Root) -> CpuSet {
    let times = CpuTimes::read(root).ok().flatten().unwrap_or_default();
    times.each.into_keys().collect()
}

fn sockets(root: &Root, online: &CpuSet) -> Option<u32> {
    let ids: Option<BTreeSet<String>> = online
        .iter()
        .map(|cpu| root.line(topology_file(cpu, "physical_package_id")))
        .collect();
    ids.filter(|ids| !ids.is_empty())
        .map(|ids| count(ids.len()))
}

/// The online CPUs of each core.
fn cores(root: &Root, online: &CpuSet) -> Option<Vec<CpuSet>> {
    let mut cores: Vec<CpuSet> = Vec::new();
    for cpu in online.iter() {
        // The second is the name before Linux 5.1.
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| set(root, &topology_file(cpu, name)))?
            .and(online);
        if !cores.contains(&siblings) {
            cores.push(siblings);
        }
    }
    (!cores.is_empty()).then_some(cores)
}

/// The online CPUs of each core that has at least one of `cpus`, including CPUs
/// outside of the set; empty if sysfs lacks the topology.
pub fn cores_of(root: &Root, cpus: &CpuSet) -> Vec<CpuSet> {
    let online = online_cpus(root).unwrap_or_default();
    let mut all = cores(root, &online).unwrap_or_default();
    all.retain(|core| !core.and(cpus).is_empty());
    all
}

/// The online CPUs around one, itself included. What sysfs lacks is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vicinity {
    /// Threads of its core.
    pub core: Option<CpuSet>,
    /// CPUs that share its last-level cache.
    pub cache: Option<CpuSet>,
    /// CPUs of its socket.
    pub socket: Option<CpuSet>,
}

/// The CPUs around a CPU.
pub fn vicinity(root: &Root, cpu: CpuId) -> Vicinity {
    let online = online_cpus(root).unwrap_or_default();
    let cores = cores(root, &online).unwrap_or_default();
    let socket_of = |cpu| root.line(topology_file(cpu, "physical_package_id"));
    let socket = socket_of(cpu).map(|own| {
        let same = |other: &CpuId| socket_of(*other).as_ref() == Some(&own);
        online.iter().filter(same).collect()
    });
    Vicinity {
        core: cores.into_iter().find(|core| core.contains(cpu)),
        cache: last_level_cache(root, cpu).map(|shared| shared.and(&online)),
        socket,
    }
}

/// The CPUs that share the highest level of cache that a CPU has.
fn last_level_cache(root: &Root, cpu: CpuId) -> Option<CpuSet> {
    let dir = |index| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
    let level = |index: &u32| -> Option<(u32, u32)> {
        let level = root.line(format!("{}/level", dir(*index)))?;
        Some((level.parse().ok()?, *index))
    };
    // As many as `caches` looks at.
    let (_, highest) = (0..16).filter_map(|index| level(&index)).max()?;
    set(root, &format!("{}/shared_cpu_list", dir(highest)))
}

fn topology_file(cpu: CpuId, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}")
}

fn caches(root: &Root, cpu: CpuId) -> Vec<CacheSize> {
    let mut caches = Vec::new();
    // Few CPUs have more than four caches; they are numbered without gaps.
    for index in 0..16 {
        let line = |name: &str| {
            root.line(format!(
                "/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}"
            ))
        };
        let (Some(level), Some(size)) = (line("level"), line("size").and_then(|s| bytes(&s)))
        else {
            continue;
        };
        let kind = match line("type").as_deref() {
            Some("Data") => "d",
            Some("Instruction") => "i",
            _ => "",
        };
        caches.push(CacheSize {
            name: format!("L{level}{kind}"),
            size,
        });
    }
    caches
}

/// `32K`, `1024K`, `32M`.
fn bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = match text.strip_suffix(['K', 'M']) {
        Some(number) if text.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1 << 10),
        None => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).map(Bytes)
}

fn set(root: &Root, file: &str) -> Option<CpuSet> {
    root.line(file)?.parse().ok()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    /// Two sockets of two cores of two threads; the last thread is offline.
    fn smt() -> FakeTree {
        let tree = FakeTree::new().files(&[
            ("sys/devices/system/cpu/online", "0-6\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("proc/self/status", "Cpus_allowed_list:\t1-3\n"),
        ]);
        for cpu in 0..7 {
            let core = cpu % 4;
            let file = |name| topology_file(cpu, name);
            tree.write(&file("physical_package_id"), &format!("{}\n", core / 2));
            tree.write(&file("core_cpus_list"), &format!("{core},{}\n", core + 4));
        }
        tree
    }

    #[test]
    fn topology_counts_online_cpus() {
        let counts = |tree: &FakeTree| {
            let t = topology(tree.root());
            let counts = (t.sockets, t.cores, t.threads_per_core, t.numa_nodes);
            (counts, t.online.to_string(), t.allowed.len())
        };
        let whole = (Some(2), Some(4), Some(2), Some(2));
        assert_eq!(counts(&smt()), (whole, "0-6".to_owned(), 3));
        // The siblings are offline.
        let cores_only = smt().file("sys/devices/system/cpu/online", "0-3\n");
        let one_each = (Some(2), Some(4), Some(1), Some(2));
        assert_eq!(counts(&cores_only), (one_each, "0-3".to_owned(), 3));
        let incomplete = smt();
        incomplete.remove("sys/devices/system/cpu/cpu3/topology");
        let unknown = (None, None, None, Some(2));
        assert_eq!(counts(&incomplete), (unknown, "0-6".to_owned(), 3));
        // Without sysfs the CPUs come from /proc/stat.
        let stat = "cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu2 1 1 1 1\n";
        let no_sysfs = FakeTree::new().file("proc/stat", stat);
        assert_eq!(
            counts(&no_sysfs),
            ((None, None, None, None), "0,2".to_owned(), 0)
        );
        assert!(topology(no_sysfs.root()).caches.is_empty());
    }

    #[test]
    fn cores_of_a_cpu_set_include_online_siblings() {
        let shown = |cpus: &str| -> Vec<String> {
            let cores = cores_of(smt().root(), &cpus.parse().unwrap());
            cores.iter().map(CpuSet::to_string).collect()
        };
        assert_eq!(shown("0-1"), ["0,4", "1,5"]);
        assert_eq!(shown("2-3,6"), ["2,6", "3"]);
        assert_eq!(cores_of(FakeTree::new().root(), &CpuSet::default()), []);
    }

    #[test]
    fn the_vicinity_of_a_cpu_is_its_core_cache_and_socket() {
        let tree = smt();
        for (cpu, shared) in [(0, "0,4"), (1, "1,5")] {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/cache");
            tree.write(&format!("{dir}/index0/level"), "1\n");
            tree.write(
                &format!("{dir}/index0/shared_cpu_list"),
                &format!("{shared}\n"),
            );
            tree.write(&format!("{dir}/index3/level"), "3\n");
            tree.write(&format!("{dir}/index3/shared_cpu_list"), "0-1,4-5,7\n");
        }
        let shown = |cpu| {
            let v = vicinity(tree.root(), cpu);
            [v.core, v.cache, v.socket].map(|set| set.map(|s| s.to_string()))
        };
        let text = |text: &str| Some(text.to_owned());
        // CPU 7 is offline.
        assert_eq!(shown(0), [text("0,4"), text("0-1,4-5"), text("0-1,4-5")]);
        assert_eq!(shown(3), [text("3"), None, text("2-3,6")]);
        assert_eq!(shown(9), [None, None, None]);
        assert_eq!(vicinity(FakeTree::new().root(), 0), Vicinity::default());
    }

    #[test]
    fn caches_are_those_of_the_first_online_cpu() {
        let dir = "sys/devices/system/cpu/cpu1/cache";
        let tree = FakeTree::new().file("sys/devices/system/cpu/online", "1-2\n");
        for (n, kind, level, size) in [
            (0, "Data", "1", "32K"),
            (1, "Instruction", "1", "64K"),
            (2, "Unified", "3", "32M"),
        ] {
            tree.write(&format!("{dir}/index{n}/type"), kind);
            tree.write(&format!("{dir}/index{n}/level"), level);
            tree.write(&format!("{dir}/index{n}/size"), size);
        }
        let caches = topology(tree.root()).caches.into_iter();
        let shown: Vec<String> = caches.map(|c| format!("{} {}", c.name, c.size)).collect();
        assert_eq!(shown, ["L1d 32.0 KiB", "L1i 64.0 KiB", "L3 32.0 MiB"]);
    }
}
