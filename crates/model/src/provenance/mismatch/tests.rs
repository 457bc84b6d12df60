use super::*;
use crate::provenance::CacheSize;

fn machine() -> Provenance {
    Provenance {
        plimsoll_version: "0".to_owned(),
        hostname: Some("web1".to_owned()),
        cpu_model: Some("Some CPU".to_owned()),
        architecture: Some("x86_64".to_owned()),
        topology: Topology {
            online: "0-7".parse().unwrap(),
            allowed: "0-7".parse().unwrap(),
            sockets: Some(1),
            cores: Some(4),
            threads_per_core: Some(2),
            numa_nodes: Some(1),
            caches: vec![CacheSize {
                name: "L2".to_owned(),
                size: Bytes(1 << 20),
            }],
        },
        governor: Some("performance".to_owned()),
        boost: Some(true),
        kernel: Some("6.12.1".to_owned()),
        mitigations: [("mds", "Vulnerable"), ("meltdown", "Not affected")]
            .map(|(name, does)| (name.to_owned(), does.to_owned()))
            .into(),
        virtualisation: Some("kvm".to_owned()),
        cgroup_cpu_limit: None,
        cgroup_memory_limit: None,
        cgroup_version: Some(2),
        memory: Some(Bytes(16 << 30)),
        clock_source: Some("tsc".to_owned()),
        steal_since_boot_share: Some(0.01),
    }
}

/// What is said of a machine that was changed.
fn said(change: impl FnOnce(&mut Provenance)) -> Vec<(Respect, String)> {
    let mut other = machine();
    change(&mut other);
    let found = machine().differences(&other);
    found.iter().map(|m| (m.respect, m.to_string())).collect()
}

#[test]
fn the_same_machine_at_another_time_differs_in_nothing() {
    let found = said(|p| {
        p.steal_since_boot_share = Some(0.2);
        // After a boot the kernel may keep a little more for itself.
        p.memory = Some(Bytes((16 << 30) - (64 << 20)));
    });
    assert_eq!(found, []);
}

type Change = fn(&mut Provenance);

/// What is changed, what differs then, and what is said of it.
const CASES: [(Change, Respect, &str); 15] = [
    (|p| p.hostname = None, Respect::Host, "web1 against unknown"),
    (
        |p| p.cpu_model = Some("Other".to_owned()),
        Respect::Cpu,
        "Some CPU against Other",
    ),
    (|p| p.architecture = None, Respect::Architecture, "x86_64"),
    (
        |p| p.topology.threads_per_core = Some(1),
        Respect::Cpus,
        "0-7 (4 cores, 1 socket, 2 threads per core, 1 NUMA node) against 0-7 (4 cores, 1 socket, 1 thread per core",
    ),
    (
        |p| p.topology.caches.clear(),
        Respect::Caches,
        "L2 1.0 MiB against unknown",
    ),
    (
        |p| p.memory = Some(Bytes(8 << 30)),
        Respect::Memory,
        "16.0 GiB against 8.0 GiB",
    ),
    (
        |p| p.kernel = Some("6.13".to_owned()),
        Respect::Kernel,
        "kernel 6.12.1 against 6.13",
    ),
    (
        |p| p.virtualisation = None,
        Respect::Virtualisation,
        "kvm against none seen",
    ),
    (
        |p| p.governor = Some("powersave".to_owned()),
        Respect::Governor,
        "performance against powersave",
    ),
    (|p| p.boost = Some(false), Respect::Boost, "on against off"),
    (
        |p| {
            drop(
                p.mitigations
                    .insert("mds".to_owned(), "Mitigated".to_owned()),
            )
        },
        Respect::Mitigations,
        "mds: Vulnerable against mds: Mitigated",
    ),
    (
        |p| p.cgroup_cpu_limit = Some(1.5),
        Respect::CpuLimit,
        "none seen against 1.5 CPUs",
    ),
    (
        |p| p.cgroup_memory_limit = Some(Bytes(1 << 30)),
        Respect::MemoryLimit,
        "1.0 GiB",
    ),
    (
        |p| p.topology.allowed = "0-3".parse().unwrap(),
        Respect::AllowedCpus,
        "CPUs for Plimsoll 0-7 against 0-3",
    ),
    (
        |p| p.clock_source = Some("hpet".to_owned()),
        Respect::ClockSource,
        "tsc against hpet",
    ),
];

#[test]
fn each_difference_is_named_with_both_sides() {
    for (change, respect, words) in CASES {
        let found = said(change);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, respect);
        assert!(
            found[0].1.contains(words),
            "'{words}' is missing: {found:?}"
        );
    }
}

#[test]
fn consequences_of_a_difference_are_left_out() {
    let found = said(|p| {
        p.cpu_model = Some("Other".to_owned());
        p.topology.caches.clear();
    });
    assert_eq!(
        found.len(),
        1,
        "other caches come with another CPU: {found:?}"
    );
    let found = said(|p| {
        p.topology.online = "0-3".parse().unwrap();
        p.topology.allowed = "0-3".parse().unwrap();
    });
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn many_mitigations_are_counted_and_unknown_ones_said_to_be() {
    let found = said(|p| p.mitigations.values_mut().for_each(|v| v.push('!')));
    assert!(found[0].1.contains("meltdown: Not affected!"), "{found:?}");
    let mut one = machine();
    for name in ["a", "b", "c"] {
        one.mitigations
            .insert(name.to_owned(), "Vulnerable".to_owned());
    }
    let found = one.differences(&machine());
    assert!(found[0].one.ends_with("and 1 more"), "{found:?}");
    let found = said(|p| p.mitigations.clear());
    assert!(found[0].1.ends_with("2 known against unknown"), "{found:?}");
}

#[test]
fn a_run_goes_on_with_another_clock_source_but_not_with_another_clock() {
    for (respect, bars) in [
        (Respect::Governor, true),
        (Respect::CpuLimit, true),
        (Respect::Kernel, true),
        (Respect::Cpus, true),
        (Respect::Memory, false),
        (Respect::ClockSource, false),
        (Respect::AllowedCpus, false),
    ] {
        assert_eq!(respect.bars_resuming(), bars, "{respect:?}");
    }
}
