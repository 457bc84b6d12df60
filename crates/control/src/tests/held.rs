//! Stopping, going on, ending, and giving back: on every rung.

use super::{BUSY, Bench, folders, gate, layouts, shell, wait};
use crate::wait_with_cpu_time;
use crate::{AtEnd, ControlError, Mechanism};
use Mechanism::{Freeze, Kill, Quota, Weight};
use plimsoll_model::CpuTime;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What holding a command by weight needs.
const HELD: [Mechanism; 3] = [Weight, Freeze, Kill];

#[test]
fn what_is_frozen_does_not_advance_and_goes_on_when_thawed() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut group = bench.group_on(&layout, &HELD, AtEnd::Kill);
        let mut child = shell(&mut group, BUSY);
        bench.wait_until_busy(&child, Duration::ZERO);
        group.freeze().unwrap();
        // The kernel says that it stands still a moment before it leaves its CPU,
        // and only then adds what it has used.
        let still = (0..5).any(|_| {
            let used = bench.cpu(&child);
            std::thread::sleep(Duration::from_millis(300));
            bench.cpu(&child) == used
        });
        assert!(still, "{name}");
        let frozen = bench.cpu(&child);
        group.thaw().unwrap();
        bench.wait_until_busy(&child, frozen);
        let folders = folders(&group);
        group.give_back().unwrap();
        assert!(!child.wait().unwrap().success(), "{name}");
        assert!(folders.iter().all(|folder| !folder.exists()), "{name}");
    }
}

#[test]
fn what_is_frozen_can_be_killed_and_its_children_with_it() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut group = bench.group_on(&layout, &HELD, AtEnd::Kill);
        let mut child = shell(&mut group, "sleep 1000 & sleep 1000 & wait");
        wait("the children", || group.processes().unwrap().len() == 3);
        group.freeze().unwrap();
        group.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "{name}");
        assert_eq!(group.processes().unwrap(), [] as [u32; 0], "{name}");
    }
}

#[test]
fn a_command_started_while_all_stands_still_does_not_run() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut group = bench.group_on(&layout, &HELD, AtEnd::Kill);
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
fn version_1_has_a_command_from_its_birth_and_version_2_once_it_is_frozen() {
    let bench = Bench::new();
    let mut group = bench.group(&HELD, AtEnd::Kill);
    let at = |name: &str| {
        let mut folders = group.folders().map(PathBuf::from);
        folders.find(|folder| folder.join(name).exists())
    };
    let (Some(cpu), Some(freezes)) = (at("cpu.shares"), at("cgroup.freeze")) else {
        return super::skip("not both versions are there");
    };
    let count = |folder: &Path| crate::folder::processes(folder).unwrap().len();
    let mut child = shell(&mut group, "sleep 1000 & sleep 1000 & wait");
    wait("the children", || count(&cpu) == 3);
    assert_eq!(count(&freezes), 0);
    group.freeze().unwrap();
    assert_eq!(count(&freezes), 3);
    group.thaw().unwrap();
    // What is started now, and stands outside when all of it is killed.
    let mut second = shell(&mut group, BUSY);
    assert_eq!((count(&cpu), count(&freezes)), (4, 3));
    group.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(!second.wait().unwrap().success());
    assert_eq!((count(&cpu), count(&freezes)), (0, 0));
}

#[test]
fn what_is_left_goes_on_if_it_is_not_to_be_killed() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut group = bench.group_on(&layout, &HELD, AtEnd::Leave);
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
fn what_commands_had_used_that_have_ended_is_not_lost_without_a_cgroup() {
    const COUNTING: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
    let bench = Bench::new();
    let layout = bench.layout().without_cgroups();
    let mut group = bench.group_on(&layout, &[Kill], AtEnd::Kill);
    let mut sum = CpuTime::ZERO;
    for _ in 0..2 {
        let mut child = shell(&mut group, COUNTING);
        let (status, used) = wait_with_cpu_time(&bench.root, &mut child).unwrap();
        assert!(status.success());
        assert!(used > Some(CpuTime::ZERO));
        sum = sum + used.unwrap();
        group.count_ended(used.unwrap());
        assert_eq!(group.usage().unwrap().cpu, Some(sum));
    }
}

#[test]
fn nothing_stays_in_the_journal_of_what_was_given_back() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut group = bench.group_on(&layout, &[Freeze, Kill], AtEnd::Kill);
        let mut child = shell(&mut group, "sleep 1000");
        group.give_back().unwrap();
        child.wait().unwrap();
        assert_eq!(bench.journals_left(), 1, "{name}");
    }
    let Bench { journal, dir, .. } = bench;
    drop(journal);
    let left = std::fs::read_dir(dir.path().join("plimsoll")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn two_groups_at_once_do_not_disturb_each_other() {
    let bench = Bench::new();
    for (name, layout) in layouts(&bench) {
        let mut one = bench.group_on(&layout, &[Freeze, Kill], AtEnd::Kill);
        let mut other = bench.group_on(&layout, &[Freeze, Kill], AtEnd::Kill);
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
fn a_group_removed_under_our_feet_is_said_and_drops_in_peace() {
    let bench = Bench::new();
    let mut group = bench.group(&[Freeze, Kill, Quota], AtEnd::Kill);
    if group.folders().next().is_none() {
        return super::skip("there is no cgroup to remove");
    }
    for folder in folders(&group) {
        std::fs::remove_dir(folder).unwrap();
    }
    let gone = group.freeze().unwrap_err();
    assert!(matches!(gone, ControlError::Gone { .. }), "{gone}");
    let gone = group.processes().unwrap_err();
    assert!(matches!(gone, ControlError::Gone { .. }), "{gone}");
    let started = group.start(&gate(), OsStr::new("true"), &[] as &[&str], |_| {});
    let gone = started.unwrap_err();
    assert!(matches!(gone, ControlError::Gone { .. }), "{gone}");
    group.give_back().unwrap();
    let Bench { journal, dir, .. } = bench;
    drop(journal);
    let left = std::fs::read_dir(dir.path().join("plimsoll")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn arguments_reach_the_command_as_they_are() {
    let bench = Bench::new();
    let mut group = bench.group(&[Kill], AtEnd::Kill);
    let child = group.start(
        &gate(),
        OsStr::new("printf"),
        &["%s|", "a b", "$HOME", "'", "-c"],
        |command| {
            command.stdout(std::process::Stdio::piped());
        },
    );
    let output = child.unwrap().wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a b|$HOME|'|-c|");
    let missing = group.start(
        &gate(),
        OsStr::new("/no/such/program"),
        &[] as &[&str],
        |command| {
            command.stderr(std::process::Stdio::null());
        },
    );
    assert_eq!(missing.unwrap().wait().unwrap().code(), Some(127));
}
