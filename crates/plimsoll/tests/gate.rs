//! `plimsoll gate`: the real binary on this machine. Nothing here says how fast something
//! is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::side_folder::is_root;
use common::{Ended, Folder, has, send, wait};
use rustix::process::Signal;
use std::fs;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One gate a user.
static ALONE: Mutex<()> = Mutex::new(());

/// Works on every machine and for every user: no driver and no file is needed.
const SPIN: &str = "--latency poll --means spinner";

fn alone() -> (Folder, MutexGuard<'static, ()>) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (Folder::new(), alone)
}

fn gate(folder: &Folder, args: &str) -> Ended {
    folder.run(format!("gate {args}").as_str())
}

#[test]
fn streams_and_exit_codes_are_those_of_the_command() {
    let (folder, _alone) = alone();
    let ended = gate(
        &folder,
        &format!("-q {SPIN} -- sh -c 'echo out; echo err >&2; exit 7'"),
    );
    ended.says(7, &[]);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
    gate(&folder, &format!("{SPIN} -- sh -c 'kill -9 $$'")).says(137, &["held CPUs for"]);
    let missing = gate(&folder, &format!("{SPIN} -- plimsoll-no-such-program"));
    missing.says(127, &["plimsoll-no-such-program", "cannot be run"]);
    assert_eq!(folder.journals(), 0);
}

#[test]
fn a_log_that_cannot_be_written_is_said() {
    let (folder, _alone) = alone();
    let ended = gate(&folder, &format!("-q {SPIN} --log /dev/full -- sleep 0.1"));
    if is_root() {
        has(&ended.stderr, &["the log /dev/full ends here"]);
    }
}

#[test]
fn mistakes_are_one_sentence_and_exit_with_2() {
    let (folder, _alone) = alone();
    for (args, words) in [
        ("--latency 0 --pid 1", "no limit at all"),
        ("--latency -1 --pid 1", "give a time with its unit"),
        ("--latency abc --pid 1", "give a time with its unit"),
        ("--latency 5us", "add -- CMD"),
        (
            "--latency poll --means spinner --pid 4194304",
            "there is no process 4194304",
        ),
        (
            "--latency poll --means spinner --comm no-such-name",
            "no process is named",
        ),
        (
            "--latency poll --means spinner --unit no-such-unit",
            "has no processes",
        ),
        (
            "--latency poll --means spinner --cgroup no/such/group",
            "no/such/group",
        ),
        ("--latency poll --pid 1 --budget 10W", "10W cannot be kept"),
        ("--latency poll --pid 1 --budget 0%", "above 0%"),
        ("--latency poll --pool 9999 -- true", "--pool 9999"),
        ("--latency poll --irq eth0 -- true", "--pool <N>"),
        (
            "--latency poll --means spinner --pool 1 --irq no-such-device -- true",
            "'no-such-device' has no interrupts",
        ),
        ("--latency poll --pid 1 -- true", "cannot be used with"),
        ("--latency poll --pid 0", "--pid <PID>"),
    ] {
        let ended = gate(&folder, args);
        ended.says(2, &[words]);
    }
    assert_eq!(folder.journals(), 0);
}

/// A gate that decides.
fn running(folder: &Folder, args: &str) -> Child {
    let child = folder.spawn(format!("gate --log log {args}").as_str());
    let log = folder.path("log");
    wait("the first decision", || {
        fs::read_to_string(&log).is_ok_and(|text| text.contains("awake_decision"))
    });
    child
}

#[test]
fn second_gate_is_refused_and_the_log_replays() {
    let (folder, _alone) = alone();
    let mut first = running(&folder, &format!("{SPIN} -- sleep 600"));
    let second = gate(&folder, &format!("{SPIN} -- true"));
    let owner = format!("process {} runs plimsoll gate", first.id());
    second.says(2, &[&owner]);
    // It passes the signal on, and ends as its command does.
    send(&first, &[Signal::TERM]);
    assert_eq!(first.wait().unwrap().code(), Some(143));
    let replayed = folder.run("replay log");
    has(&replayed.says(0, &[]).stdout, &["the same"]);
    assert_eq!(folder.journals(), 0);
}

#[test]
fn a_command_that_ignores_signals_is_killed_at_a_second_one() {
    let (folder, _alone) = alone();
    let deaf = "trap : HUP INT TERM; : >deaf; while :; do sleep 0.05; done";
    let mut child = running(&folder, &format!("-q {SPIN} -- sh -c '{deaf}'"));
    wait("the command", || folder.path("deaf").exists());
    wait("its end", || {
        send(&child, &[Signal::TERM]);
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(137));
}

#[test]
fn gate_on_a_process_ends_with_it_or_at_a_signal() {
    let (folder, _alone) = alone();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = running(&folder, &format!("{SPIN} --pid {}", std::process::id()));
        send(&child, &[signal]);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal:?}");
        fs::remove_file(folder.path("log")).unwrap();
    }
    let mut followed = Command::new("sleep").arg("600").spawn().unwrap();
    let mut child = folder.spawn(format!("gate {SPIN} --pid {}", followed.id()).as_str());
    followed.kill().unwrap();
    followed.wait().unwrap();
    // Gone before it begins is a mistake, gone afterwards the end.
    assert!([Some(0), Some(2)].contains(&child.wait().unwrap().code()));
    assert_eq!(folder.journals(), 0);
}

/// The wake-up latency limit of each CPU.
fn slots() -> Vec<String> {
    let cpus = fs::read_dir("/sys/devices/system/cpu").unwrap();
    let mut found = Vec::new();
    for cpu in cpus {
        let file = cpu.unwrap().path().join("power/pm_qos_resume_latency_us");
        found.extend(fs::read_to_string(file));
    }
    found
}

/// How often a CPU entered its idle states, by name.
fn entered(cpu: u32) -> Vec<(String, u64)> {
    let read = |state: u32, file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}");
        fs::read_to_string(path).map(|text| text.trim().to_owned())
    };
    let states =
        (0..).map_while(|state| Some((read(state, "name").ok()?, read(state, "usage").ok()?)));
    states
        .map(|(name, usage)| (name, usage.parse().unwrap()))
        .collect()
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_gated_cpu_uses_no_state_beyond_the_limit_and_others_do() {
    let (folder, _alone) = alone();
    let before = slots();
    // What this thread starts stays on CPU 1.
    plimsoll_pool::pin_this_thread(1).unwrap();
    // The other rules release a CPU whose tasks rest for long, as they do where the host takes the guest's CPU time.
    let args =
        "--latency 5us --means limit --rule last-ran -- sh -c 'while sleep 0.01; do :; done'";
    let mut child = running(&folder, args);
    wait("CPU 1 is held", || slots() != before);
    let (first, other) = (entered(1), entered(0));
    let grown = |name: &str, now: &[(String, u64)]| {
        let of = |all: &[(String, u64)]| all.iter().find(|s| s.0.ends_with(name)).unwrap().1;
        of(now) - of(&first)
    };
    // The guest's governor may choose the first state for a while.
    wait("many sleeps, also in C1", || {
        let now = entered(1);
        let is_many = now
            .iter()
            .zip(&first)
            .any(|(now, then)| now.1 > then.1 + 100);
        is_many && grown("C1", &now) > 0
    });
    let last = entered(1);
    let beyond = ["C2", "C3"].map(|name| grown(name, &last));
    assert_eq!(beyond, [0, 0], "{first:?} {last:?}");
    let deep = |all: &[(String, u64)]| all.last().unwrap().1;
    wait("CPU 0 in its deepest state", || {
        deep(&entered(0)) > deep(&other)
    });
    send(&child, &[Signal::TERM]);
    child.wait().unwrap();
    assert_eq!(slots(), before);
    assert_eq!(folder.journals(), 0);
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn interrupts_are_handled_by_the_pool_and_given_back_also_after_a_kill() {
    let (folder, _alone) = alone();
    let table = fs::read_to_string("/proc/interrupts").unwrap();
    let line = table.lines().find(|line| line.ends_with("ttyS0")).unwrap();
    let irq = line.split_once(':').unwrap().0.trim();
    let cpus = || fs::read_to_string(format!("/proc/irq/{irq}/smp_affinity_list")).unwrap();
    let before = cpus();
    let args = format!("{SPIN} --pool 1 --irq ttyS0 -- sleep 600");
    for signal in [Signal::TERM, Signal::KILL] {
        let mut child = running(&folder, &args);
        wait("the interrupt is moved", || cpus() == "1\n");
        send(&child, &[signal]);
        child.wait().unwrap();
        if signal == Signal::KILL {
            has(
                &folder.run("repair").says(0, &[]).stdout,
                &["the CPUs of interrupt"],
            );
        }
        assert_eq!(cpus(), before);
        fs::remove_file(folder.path("log")).unwrap();
    }
    assert_eq!(folder.journals(), 0);
}

#[test]
fn limits_are_given_back_also_after_a_kill() {
    let (folder, _alone) = alone();
    let before = slots();
    if !is_root() || gate(&folder, "-q --latency poll --means limit -- true").code != Some(0) {
        return;
    }
    let mut followed = Command::new("sleep").arg("600").spawn().unwrap();
    let flags = "--latency poll --means limit --rule last-ran --pid";
    let args = format!("{flags} {}", followed.id());
    for signal in [Signal::TERM, Signal::KILL] {
        let mut child = running(&folder, &args);
        wait("a CPU is held", || slots() != before);
        send(&child, &[signal]);
        child.wait().unwrap();
        if signal == Signal::KILL {
            let repaired = folder.run("repair");
            has(
                &repaired.says(0, &[]).stdout,
                &["wake-up latency limit of CPU"],
            );
        }
        assert_eq!(slots(), before);
        fs::remove_file(folder.path("log")).unwrap();
    }
    followed.kill().unwrap();
    followed.wait().unwrap();
    assert_eq!(folder.journals(), 0);
}
