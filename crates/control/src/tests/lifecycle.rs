//! Freeze, thaw, kill and restore, with each kind of cgroup and without.

use super::{BUSY, Bench, folders, gate, groups, shell, wait};
use crate::layout::{Place, Version};
use crate::wait_with_cpu_time;
use crate::{AtEnd, ControlError, Mechanism};
use Mechanism::{Freeze, Kill, Quota, Weight};
use plimsoll_model::CpuTime;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const HELD: [Mechanism; 3] = [Weight, Freeze, Kill];

#[test]
fn a_frozen_command_stops_and_continues_when_thawed() {
    let bench = Bench::new();
    for (name, mut group) in groups(&bench, HELD, AtEnd::Kill) {
        let mut child = shell(&mut group, BUSY);
        bench.wait_until_busy(&child, Duration::ZERO);
        group.freeze().unwrap();
        // The kernel reports it frozen a moment before it leaves its CPU and its CPU
        // time is added.
        let is_stopped = (0..5).any(|_| {
            let used = bench.cpu(&child);
            std::thread::sleep(Duration::from_millis(300));
            bench.cpu(&child) == used
        });
        assert!(is_stopped, "{name}");
        let frozen = bench.cpu(&child);
        group.thaw().unwrap();
        bench.wait_until_busy(&child, frozen);
        let folders = folders(&group);
        group.give_back().unwrap();
        assert!(!child.wait().unwrap().success(), "{name}");
        assert!(folders.iter().all(|folder| !folder.exists()), "{name}");
        assert_eq!(bench.journals_left(), 1, "{name}");
    }
    bench.closes_its_journal();
}

#[test]
fn a_frozen_command_is_killed_with_its_children() {
    let bench = Bench::new();
    for (name, mut group) in groups(&bench, HELD, AtEnd::Kill) {
        let mut child = shell(&mut group, "sleep 1000 & sleep 1000 & wait");
        wait("the children", || group.processes().unwrap().len() == 3);
        group.freeze().unwrap();
        group.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "{name}");
        assert_eq!(group.processes().unwrap(), [] as [u32; 0], "{name}");
    }
}

#[test]
fn a_command_that_leaves_its_cgroups_is_killed() {
    let bench = Bench::new();
    for (name, mut group) in groups(&bench, HELD, AtEnd::Kill) {
        let file = bench.dir.path().join("left");
        let script = format!(
            "for all in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do \
             echo $$ >$all; done 2>/dev/null; : >'{}'; sleep 1000 & wait",
            file.display()
        );
        let mut child = shell(&mut group, &script);
        wait("the command to leave", || file.exists());
        group.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "{name}");
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn what_has_left_a_cgroup_is_listed() {
    // The last one leaves, also where the group is right below it.
    const ALL: &str = "/sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs";
    // Of version 1: the others of the group hold it.
    const ONE: &str = "/sys/fs/cgroup/cpu/cgroup.procs";
    let bench = Bench::new();
    for left in [ALL, ONE] {
        for (name, mut group) in groups(&bench, HELD, AtEnd::Kill) {
            let of_cpu = |folder: &Path| folder.starts_with("/sys/fs/cgroup/cpu");
            let is_left = match left {
                ALL => group.folders().count() > 0,
                _ => group.folders().any(of_cpu),
            };
            let file = bench.dir.path().join("left");
            let script = format!(
                "sleep 1000 & (for all in {left}; do sh -c 'echo $PPID' >$all; done 2>/dev/null; \
                 echo >'{}'; exec sleep 1000) & wait",
                file.display()
            );
            let mut child = shell(&mut group, &script);
            wait("a process to leave", || file.exists());
            let outside = group.escaped().unwrap();
            assert_eq!(outside.len(), usize::from(is_left), "{name} {left}");
            group.kill().unwrap();
            assert!(!child.wait().unwrap().success(), "{name}");
            assert_eq!(group.escaped().unwrap(), [] as [u32; 0], "{name}");
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_command_started_in_a_frozen_group_waits() {
    let bench = Bench::new();
    for (name, mut group) in groups(&bench, HELD, AtEnd::Kill) {
        let file = bench.dir.path().join("ran");
        group.freeze().unwrap();
        let script = format!("echo > '{}'", file.display());
        let mut child = shell(&mut group, &script);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!file.exists(), "{name}");
        group.thaw().unwrap();
        assert!(child.wait().unwrap().success(), "{name}");
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn processes_enter_version_1_at_start_and_version_2_at_the_first_freeze() {
    let bench = Bench::new();
    let mut group = bench.group(&HELD, AtEnd::Kill);
    let at = |name: &str| {
        let mut folders = group.folders().map(PathBuf::from);
        folders.find(|folder| folder.join(name).exists())
    };
    let (Some(cpu), Some(freezes)) = (at("cpu.shares"), at("cgroup.freeze")) else {
        return super::skip("only one version is mounted");
    };
    let count = |folder: &Path| crate::folder::processes(folder).unwrap().len();
    let mut child = shell(&mut group, "sleep 1000 & sleep 1000 & wait");
    wait("the children", || count(&cpu) == 3);
    assert_eq!(count(&freezes), 0);
    group.freeze().unwrap();
    assert_eq!(count(&freezes), 3);
    group.thaw().unwrap();
    // Started now, it is only in version 1 when the group is killed.
    let mut second = shell(&mut group, BUSY);
    assert_eq!((count(&cpu), count(&freezes)), (4, 3));
    group.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(!second.wait().unwrap().success());
    assert_eq!((count(&cpu), count(&freezes)), (0, 0));
}

#[test]
fn remaining_processes_continue_if_left() {
    let bench = Bench::new();
    for (name, mut group) in groups(&bench, HELD, AtEnd::Leave) {
        let mut child = shell(&mut group, BUSY);
        group.freeze().unwrap();
        let folders = folders(&group);
        drop(group);
        assert!(folders.iter().all(|folder| !folder.exists()), "{name}");
        let used = bench.cpu(&child);
        bench.wait_until_busy(&child, used);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn without_a_cgroup_ended_commands_count() {
    const COUNTING: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
    let bench = Bench::new();
    let layout = bench.layout().without_cgroups();
    let mut group = bench.group_on(&layout, &[Freeze, Kill], AtEnd::Kill);
    let mut sum = CpuTime::ZERO;
    for _ in 0..2 {
        let mut child = shell(&mut group, COUNTING);
        let (status, used) = wait_with_cpu_time(&mut child).unwrap();
        assert!(status.success());
        assert!(used > CpuTime::ZERO);
        sum = sum + used;
        group.count_ended(used);
        assert_eq!(group.usage().unwrap().cpu, Some(sum));
    }
    // One that runs counts once, and not for each that has ended.
    let mut child = shell(&mut group, BUSY);
    bench.wait_until_busy(&child, Duration::from_millis(50));
    group.freeze().unwrap();
    // In ticks, of which user and system time may each lack one.
    let used = CpuTime(bench.cpu(&child));
    let found = group.usage().unwrap().cpu.unwrap().since(sum);
    let most = used + CpuTime(Duration::from_millis(20));
    assert!(found >= used && found < most, "{found:?}, {used:?}");
    assert_eq!(group.processes().unwrap(), [child.id()]);
    group.kill().unwrap();
    child.wait().unwrap();
}

/// A file that [`of_two_threads`] makes once a thread of it has left.
const LEFT: &str = "PLIMSOLL_TEST_THREAD_LEFT";

/// Not a test: a command of which a thread leaves a cgroup of version 1.
#[test]
#[ignore = "started by the test below"]
fn of_two_threads() {
    let Some(file) = std::env::var_os(LEFT) else {
        return;
    };
    let leaves = || {
        std::fs::write("/sys/fs/cgroup/cpu/tasks", "0").unwrap();
        std::fs::write(file, "").unwrap();
        std::thread::sleep(10 * super::LONG);
    };
    std::thread::Builder::new()
        .spawn(leaves)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_process_of_which_a_thread_has_left_a_cgroup_is_listed() {
    let bench = Bench::new();
    let mut group = bench.group(&HELD, AtEnd::Kill);
    if !group
        .folders()
        .any(|folder| folder.starts_with("/sys/fs/cgroup/cpu"))
    {
        return super::skip("the CPU controller is not of version 1");
    }
    let file = bench.dir.path().join("left");
    let script = format!(
        "{LEFT}='{}' exec '{}' --ignored --exact tests::lifecycle::of_two_threads",
        file.display(),
        std::env::current_exe().unwrap().display()
    );
    let mut child = shell(&mut group, &script);
    wait("a thread to leave", || file.exists());
    assert_eq!(group.escaped().unwrap(), [child.id()]);
    group.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn concurrent_groups_are_independent() {
    let bench = Bench::new();
    let pairs = || groups(&bench, [Freeze, Kill], AtEnd::Kill);
    for ((name, mut one), (_, mut other)) in pairs().zip(pairs()) {
        let mut first = shell(&mut one, BUSY);
        let mut second = shell(&mut other, BUSY);
        one.freeze().unwrap();
        let used = bench.cpu(&second);
        bench.wait_until_busy(&second, used);
        one.give_back().unwrap();
        first.wait().unwrap();
        let used = bench.cpu(&second);
        bench.wait_until_busy(&second, used);
        assert_eq!(other.processes().unwrap().len(), 1, "{name}");
        other.give_back().unwrap();
        second.wait().unwrap();
    }
}

#[test]
fn a_group_removed_by_others_is_reported() {
    let bench = Bench::new();
    let mut group = bench.group(&[Freeze, Kill, Quota], AtEnd::Kill);
    if group.folders().next().is_none() {
        return super::skip("there is no cgroup to remove");
    }
    for folder in folders(&group) {
        std::fs::remove_dir(folder).unwrap();
    }
    let started = group.start(&gate(), OsStr::new("true"), &[] as &[&str], |_| {});
    for gone in [
        group.freeze().unwrap_err(),
        group.processes().unwrap_err(),
        started.unwrap_err(),
    ] {
        assert!(matches!(gone, ControlError::Gone { .. }), "{gone}");
    }
    group.give_back().unwrap();
    bench.closes_its_journal();
}

#[test]
fn arguments_are_passed_unchanged() {
    let bench = Bench::new();
    let mut group = bench.group(&[Kill], AtEnd::Kill);
    let args = ["%s|", "a b", "$HOME", "'", "-c"];
    let child = group.start(&gate(), OsStr::new("printf"), &args, |command| {
        command.stdout(Stdio::piped());
    });
    let output = child.unwrap().wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a b|$HOME|'|-c|");
    let missing = OsStr::new("/no/such/program");
    let missing = group.start(&gate(), missing, &[] as &[&str], |command| {
        command.stderr(Stdio::null());
    });
    assert_eq!(missing.unwrap().wait().unwrap().code(), Some(127));
}

#[test]
fn a_cgroup_that_another_user_has_locked_gets_a_group() {
    let bench = Bench::new();
    let mut group = bench.group_on(&bench.layout().without_cgroups(), &[], AtEnd::Kill);
    // A folder without a kernel behind it, which passes on what is wanted.
    let parent = bench.dir.path().join("parent");
    std::fs::create_dir(&parent).unwrap();
    std::fs::write(parent.join("cgroup.subtree_control"), "memory\n").unwrap();
    let theirs = std::fs::File::open(&parent).unwrap();
    flock(&theirs, FlockOperation::LockExclusive).unwrap();
    let place = Place {
        version: Version::V2,
        home: parent.clone(),
        parent,
        controllers: BTreeSet::from(["memory".to_owned()]),
        leaf: false,
        serves: BTreeSet::new(),
    };
    group.build(place, "test").unwrap();
    assert!(folders(&group)[0].is_dir());
}
