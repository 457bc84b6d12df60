use super::*;
use crate::cgroup::tests::{V2, mounted};
use crate::fake_tree::FakeTree;

const CPU: &str = "sys/devices/system/cpu";

const CLOCK: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A machine that meets every requirement.
fn good() -> FakeTree {
    let rapl = "sys/class/powercap/intel-rapl:0";
    let mut tree = mounted(V2)
        .files(&[
            ("proc/pressure/cpu", "some total=1\n"),
            ("proc/self/schedstat", "9 0 1\n"),
            ("proc/self/status", "Cpus_allowed_list:\t0-1\n"),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/limits", "Max open files  65536  65536  files\n"),
            ("proc/stat", "cpu  999 0 0 0 0 0 0 1\n"),
            (CLOCK, "tsc\n"),
        ])
        .file(&format!("{CPU}/online"), "0-1\n")
        .file(&format!("{CPU}/cpufreq/boost"), "0\n")
        .file(&format!("{rapl}/name"), "package-0\n")
        .file(&format!("{rapl}/energy_uj"), "5\n")
        .file(&format!("{rapl}/max_energy_range_uj"), "9\n");
    for cpu in 0..2 {
        let cpu = format!("{CPU}/cpu{cpu}");
        tree = tree
            .file(&format!("{cpu}/cpufreq/scaling_governor"), "performance\n")
            .file(&format!("{cpu}/cpufreq/scaling_cur_freq"), "2600000\n")
            .file(&format!("{cpu}/topology/physical_package_id"), "0\n")
            .file(&format!("{cpu}/topology/core_cpus_list"), "0-1\n");
    }
    crate::clock::tests::write(&tree, 0, 9, 9);
    tree
}

fn missing(tree: &FakeTree) -> Vec<String> {
    let all = requirements(tree.root());
    assert!(all.iter().all(Requirement::can_start));
    all.into_iter()
        .filter(|r| !matches!(r.outcome, Outcome::Met { .. }))
        .map(|r| r.name)
        .collect()
}

#[test]
fn good_machine_meets_all_requirements() {
    assert_eq!(missing(&good()), [""; 0]);
    assert_eq!(requirements(good().root()).len(), 13);
    let enough = good().file("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_eq!(
        missing(&enough),
        [""; 0],
        "the limit is above the CPU count"
    );
}

#[test]
fn each_missed_requirement_is_named() {
    let [online, boost] = ["online", "cpufreq/boost"].map(|name| format!("{CPU}/{name}"));
    for (file, text, name) in [
        ("proc/pressure/cpu", "garbage", "pressure stall information"),
        (
            "proc/self/schedstat",
            "0 0 0\n",
            "scheduler statistics per thread",
        ),
        (&online, "0-2\n", "all CPUs for Plimsoll"),
        (
            "sys/fs/cgroup/cpu.max",
            "150000 100000\n",
            "CPU time without a limit",
        ),
        (
            "proc/self/limits",
            "Max open files  1024 4096 files\n",
            "enough open files",
        ),
        ("proc/stat", "cpu  90 0 0 0 0 0 0 10\n", "CPUs of its own"),
        (&boost, "1\n", "the same clock at any load"),
        (CLOCK, "hpet\n", "a fast clock source"),
        (".dockerenv", "", "a view of the whole machine"),
    ] {
        assert_eq!(missing(&good().file(file, text)), [name], "{file}");
    }
    let tree = good();
    for cpu in 0..2 {
        let governor = format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor");
        tree.write(&governor, "powersave\n");
    }
    assert_eq!(missing(&tree), ["full clock at light load"]);
}

#[test]
fn busy_clock_is_required_only_where_relevant() {
    let without = |tree: &FakeTree| {
        tree.remove("dev/cpu");
        missing(tree)
    };
    assert_eq!(without(&good()), ["clock while busy"]);
    let refused = good().file("dev/cpu/0/msr", "");
    assert_eq!(missing(&refused), ["clock while busy"]);
    // One thread per core and no cpufreq: a small virtual machine.
    let small = good();
    small.remove(&format!("{CPU}/cpu1/topology"));
    small.write(&format!("{CPU}/online"), "0\n");
    small.write(&format!("{CPU}/cpu0/topology/core_cpus_list"), "0\n");
    small.remove(&format!("{CPU}/cpu0/cpufreq/scaling_cur_freq"));
    assert!(!without(&small).contains(&"clock while busy".to_owned()));
}

#[test]
fn empty_machine_misses_requirements_without_failing() {
    let missing = missing(&FakeTree::new());
    assert!(missing.len() >= 5, "{missing:?}");
}
