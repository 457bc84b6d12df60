//! Limits on CPU time, CPUs and memory, asserted on the kernel's own counters.

use super::{BUSY, Bench, permitted, shell, skip, wait};
use crate::Mechanism::{self, CpuSet, Freeze, Idle, Io, Kill, MemoryHigh, MemoryMax};
use crate::{AtEnd, ControlError, Group, MemoryLimits, Quota, Weight};
use plimsoll_host::{allowed_cpus, online_cpus};
use plimsoll_model::Bytes;
use rustix::process::{Pid, getpriority_process};
use std::fs;
use std::time::Duration;

fn quota(time_ms: u64, period_ms: u64) -> Quota {
    let ms = Duration::from_millis;
    Quota::new(ms(time_ms), ms(period_ms)).unwrap()
}

#[test]
fn a_busy_child_under_a_quota_is_throttled() {
    let bench = Bench::new();
    if !permitted(&bench.layout(), &[Mechanism::Quota]) {
        return;
    }
    let mut group = bench.group(&[Mechanism::Quota, Kill], AtEnd::Kill);
    group.set_quota(Some(quota(1, 10))).unwrap();
    let mut child = shell(&mut group, BUSY);
    // The kernel adds the time when it lets the group go on, which may take many
    // periods if a coarse clock has let it overdraw.
    wait("the quota to hold it", || {
        let time = group.usage().unwrap().throttled_time;
        time.unwrap() > Duration::ZERO
    });
    let usage = group.usage().unwrap();
    assert!(usage.cpu.unwrap().0 > Duration::ZERO);
    assert!(usage.throttled.unwrap() > 0);
    assert!(usage.periods >= usage.throttled);
    // Another period, then none: each order of writes that version 1 could refuse.
    group.set_quota(Some(quota(40, 20))).unwrap();
    group.set_quota(None).unwrap();
    group.give_back().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_weight_set_while_idle_applies_afterwards() {
    let bench = Bench::new();
    let needs = [Mechanism::Weight, Idle];
    if !permitted(&bench.layout(), &needs) {
        return;
    }
    let mut group = bench.group(&needs, AtEnd::Kill);
    group.set_weight(Weight::new(50).unwrap()).unwrap();
    group.set_idle(true).unwrap();
    group.set_weight(Weight::new(300).unwrap()).unwrap();
    group.set_idle(false).unwrap();
    assert_eq!(read(&group, "cpu.idle").as_deref(), Some("0"));
    let weight = read(&group, "cpu.weight").or_else(|| read(&group, "cpu.shares"));
    let weight = weight.unwrap();
    // cpu.shares of version 1 is 1024 where the weight is 100.
    assert!(["300", "3072"].contains(&weight.as_str()), "{weight}");
}

#[test]
fn a_child_runs_only_on_the_cpus_of_the_group() {
    let bench = Bench::new();
    let online = online_cpus(&bench.root).unwrap();
    for layout in [bench.layout(), bench.layout().without_cgroups()] {
        let mut group = bench.group_on(&layout, &[CpuSet, Kill], AtEnd::Kill);
        let last = online.iter().last().into_iter().collect();
        group.set_cpus(&last).unwrap();
        let mut child = shell(&mut group, BUSY);
        assert_eq!(allowed_cpus(&bench.root, child.id()).unwrap(), last);
        let first = online.iter().next().into_iter().collect();
        group.set_cpus(&first).unwrap();
        assert_eq!(allowed_cpus(&bench.root, child.id()).unwrap(), first);
        assert!(group.set_cpus(&plimsoll_model::CpuSet::default()).is_err());
        group.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn missing_cpus_are_refused_by_name() {
    let bench = Bench::new();
    if !permitted(&bench.layout(), &[CpuSet]) {
        return;
    }
    let mut group = bench.group(&[CpuSet], AtEnd::Kill);
    let error = group.set_cpus(&[8000].into_iter().collect()).unwrap_err();
    assert!(matches!(error, ControlError::NotHere { .. }), "{error}");
    assert!(error.to_string().contains("8000"), "{error}");
}

#[test]
fn a_child_beyond_its_memory_is_killed() {
    let bench = Bench::new();
    let layout = bench.layout();
    if !permitted(&layout, &[MemoryMax]) {
        return;
    }
    // A group of version 1 that others made may be limited by them.
    let inner = |l: &crate::layout::Level| l.folder.join("../memory.limit_in_bytes").exists();
    if layout.found.v1.get("memory").is_some_and(inner) {
        return skip("memory is limited here by a group of others, which is left alone");
    }
    let mut group = bench.group(&[MemoryMax, Kill], AtEnd::Kill);
    let limits = MemoryLimits {
        max: Some(Bytes(16 << 20)),
        ..MemoryLimits::default()
    };
    group.set_memory(&limits).unwrap();
    // The shell doubles a string until it exceeds the limit.
    let mut child = shell(&mut group, "x=0123456789abcdef; while :; do x=$x$x; done");
    assert!(!child.wait().unwrap().success());
    assert_eq!(group.memory_events().unwrap().killed, Some(1));
}

/// The content of a file in one of the group's folders.
fn read(group: &Group, name: &str) -> Option<String> {
    let mut files = group.folders().map(|folder| folder.join(name));
    let text = files.find_map(|file| fs::read_to_string(file).ok())?;
    Some(text.trim().to_owned())
}

#[test]
fn version_2_gets_all_memory_limits_and_the_io_weight() {
    let bench = Bench::new();
    let needs = [MemoryHigh, MemoryMax, Io];
    // Version 1 has no weight for disks, so this is version 2.
    if !permitted(&bench.layout(), &needs) {
        return;
    }
    let mut group = bench.group(&needs, AtEnd::Kill);
    let mib = |n: u64| Some(Bytes(n << 20));
    let limits = MemoryLimits {
        high: mib(64),
        max: mib(128),
        swap_max: Some(Bytes(0)),
    };
    group.set_memory(&limits).unwrap();
    assert_eq!(read(&group, "memory.high").as_deref(), Some("67108864"));
    assert_eq!(read(&group, "memory.max").as_deref(), Some("134217728"));
    assert_eq!(read(&group, "memory.swap.max").as_deref(), Some("0"));
    group.set_memory(&MemoryLimits::default()).unwrap();
    assert_eq!(read(&group, "memory.high").as_deref(), Some("max"));
    assert_eq!(read(&group, "memory.max").as_deref(), Some("max"));
    match group.set_io_weight(Weight::new(50).unwrap()) {
        Ok(()) => assert_eq!(read(&group, "io.weight").as_deref(), Some("default 50")),
        Err(ControlError::NoController { path }) => skip(&format!("{}", path.display())),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn without_a_cgroup_a_child_has_the_lowest_class_and_nice() {
    let bench = Bench::new();
    let layout = bench.layout().without_cgroups();
    let needs = [Mechanism::Weight, Idle, Freeze, Kill];
    let nice =
        |child: &std::process::Child| getpriority_process(Some(Pid::from_child(child))).unwrap();
    let mut idle = bench.group_on(&layout, &needs, AtEnd::Kill);
    idle.set_idle(true).unwrap();
    let mut child = shell(&mut idle, BUSY);
    assert_eq!(nice(&child), 19);
    // The policy is field 41 of /proc/PID/stat (proc(5)); SCHED_IDLE is 5.
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let policy = after_name.split_whitespace().nth(41 - 3);
    let expected = match layout.found.class {
        crate::schedule::Class::Idle => "5",
        crate::schedule::Class::Batch => "3",
        crate::schedule::Class::Other => "0",
    };
    assert_eq!(policy, Some(expected));
    let late = idle.set_idle(false).unwrap_err();
    assert!(matches!(late, ControlError::TooLate { .. }), "{late}");
    idle.kill().unwrap();
    child.wait().unwrap();

    let mut weighed = bench.group_on(&layout, &needs, AtEnd::Kill);
    let mut child = shell(&mut weighed, BUSY);
    let before = nice(&child);
    weighed.set_weight(Weight::LEAST).unwrap();
    assert!(nice(&child) == 19 && before <= 19);
    weighed.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn unrequested_and_unavailable_mechanisms_are_refused_with_a_reason() {
    let bench = Bench::new();
    let mut group = bench.group(&[Kill], AtEnd::Kill);
    let error = group.set_quota(None).unwrap_err().to_string();
    assert!(error.contains("was not asked for"), "{error}");
    let layout = bench.layout().without_cgroups();
    let mut group = bench.group_on(&layout, &[Io, MemoryMax], AtEnd::Kill);
    let error = group.set_io_weight(Weight::NORMAL).unwrap_err().to_string();
    assert!(error.contains("no cgroups to use"), "{error}");
    assert!(group.set_memory(&MemoryLimits::default()).is_err());
}
