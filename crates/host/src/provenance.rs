//! Description of the machine for a record.

use crate::cgroup::{Cgroups, own_limits};
use crate::cpu_model::cpu_model;
use crate::frequency::{boost, governor};
use crate::root::Root;
use crate::stat::CpuTimes;
use crate::topology::topology;
use crate::virtualisation::virtualisation;
use plimsoll_model::{Bytes, Provenance};
use std::collections::BTreeMap;

/// Describes this machine. What cannot be read is `None`.
pub fn provenance(root: &Root, plimsoll_version: &str) -> Provenance {
    let topology = topology(root);
    let limits = own_limits(root).unwrap_or_default();
    Provenance {
        plimsoll_version: plimsoll_version.to_owned(),
        hostname: root.line("/proc/sys/kernel/hostname"),
        cpu_model: cpu_model(root),
        architecture: Some(architecture(root)),
        governor: governor(root, &topology.online),
        topology,
        boost: boost(root),
        kernel: root.line("/proc/sys/kernel/osrelease"),
        mitigations: mitigations(root),
        virtualisation: virtualisation(root),
        cgroup_cpu_limit: limits.cpu,
        cgroup_memory_limit: limits.memory,
        cgroup_version: Cgroups::find(root).ok().and_then(|found| found.version()),
        memory: memory(root),
        clock_source: clock_source(root),
        steal_since_boot_share: steal_since_boot(root),
    }
}

pub(crate) fn clock_source(root: &Root) -> Option<String> {
    root.line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// Steal since boot, as a fraction of all CPU time.
pub(crate) fn steal_since_boot(root: &Root) -> Option<f64> {
    let times = CpuTimes::read(root).ok()??;
    times.all.steal_share().map(|share| share.get())
}

/// Kernels before 6.1 do not report it; fall back to the build target.
fn architecture(root: &Root) -> String {
    root.line("/proc/sys/kernel/arch")
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn mitigations(root: &Root) -> BTreeMap<String, String> {
    const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";
    let mut found = BTreeMap::new();
    for name in root.names(FOLDER).unwrap_or_default() {
        if let Some(state) = root.line(format!("{FOLDER}/{name}")) {
            found.insert(name, state);
        }
    }
    found
}

fn memory(root: &Root) -> Option<Bytes> {
    let text = root.text("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::{V2, mounted};
    use crate::fake_tree::FakeTree;

    #[test]
    fn provenance_of_a_complete_machine() {
        let cpu = "sys/devices/system/cpu";
        let tree = mounted(V2)
            .files(&[
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/memory.max", "4096\n"),
                ("proc/sys/kernel/hostname", "box\n"),
                ("proc/sys/kernel/osrelease", "6.12.1\n"),
                ("proc/sys/kernel/arch", "riscv64\n"),
                ("proc/meminfo", "MemTotal:     1024 kB\nMemFree:  1 kB\n"),
                ("proc/stat", "cpu  60 0 0 30 0 0 0 10 0 0\n"),
                ("proc/cpuinfo", "model name : Some CPU\nflags : fpu\n"),
                ("run/systemd/container", "lxc\n"),
            ])
            .file(&format!("{cpu}/online"), "0\n")
            .file(
                &format!("{cpu}/cpu0/cpufreq/scaling_governor"),
                "powersave\n",
            )
            .file(&format!("{cpu}/cpufreq/boost"), "1\n")
            .file(&format!("{cpu}/vulnerabilities/meltdown"), "Not affected\n")
            .file(
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            );
        let found = provenance(tree.root(), "1.2.3");
        let text = |s: &str| Some(s.to_owned());
        assert_eq!(found.plimsoll_version, "1.2.3");
        assert_eq!(found.hostname, text("box"));
        assert_eq!(found.cpu_model, text("Some CPU"));
        assert_eq!(found.architecture, text("riscv64"));
        assert_eq!(found.topology.online.len(), 1);
        assert_eq!(found.governor, text("powersave"));
        assert_eq!(found.boost, Some(true));
        assert_eq!(found.kernel, text("6.12.1"));
        assert_eq!(found.mitigations["meltdown"], "Not affected");
        assert_eq!(found.virtualisation, text("container lxc"));
        assert_eq!(found.cgroup_cpu_limit, Some(1.5));
        assert_eq!(found.cgroup_memory_limit, Some(Bytes(4096)));
        assert_eq!(found.cgroup_version, Some(2));
        assert_eq!(found.memory, Some(Bytes(1 << 20)));
        assert_eq!(found.clock_source, text("tsc"));
        assert_eq!(found.steal_since_boot_share, Some(0.1));
    }

    #[test]
    fn provenance_of_an_empty_tree_is_none() {
        let found = provenance(FakeTree::new().root(), "1.2.3");
        let expected = Provenance {
            plimsoll_version: "1.2.3".to_owned(),
            architecture: Some(std::env::consts::ARCH.to_owned()),
            ..Provenance::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn provenance_of_this_machine_has_the_basics() {
        let found = provenance(&Root::machine(), "1.2.3");
        assert!(found.kernel.is_some());
        assert!(found.memory > Some(Bytes(0)));
        assert!(!found.topology.online.is_empty());
        assert!(!found.topology.allowed.is_empty());
    }
}
