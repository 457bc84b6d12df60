//! `plimsoll side` and `plimsoll replay`: the real binary, on whatever cgroups
//! there are. Nothing here says how fast something is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::side_folder::{SideFolder, groups, is_root, lives};
use common::{Ended, has, unignoring, wait};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

/// For tests that do not concern the law: runs on a busy machine, too.
const SYSLOAD: &str = "-q --as sysload";

#[test]
fn streams_and_exit_codes_are_those_of_the_command() {
    let place = SideFolder::new();
    let ended = place.side("-q --as sysload -- sh -c 'echo out; echo err >&2; exit 7'");
    let streams = (&*ended.stdout, &*ended.stderr);
    assert_eq!((ended.code, streams), (Some(7), ("out\n", "err\n")));
    place.folder.write("text", "no program");
    let summary = ["as a sideload by", "headroom 20 %", "CPU s", "never frozen"];
    for (args, code, words) in [
        ("-- true", 0, &summary[..]),
        ("-q -- sh -c 'kill -9 $$'", 137, &[]),
    ] {
        place.side(args).says(code, words);
    }
    for (program, code, why) in [
        ("plimsoll-no-such-program", 127, "it is not found"),
        ("./none", 127, "it is not found"),
        ("./text", 126, "Permission denied"),
    ] {
        let ended = place.side(["--", program]);
        ended.says(code, &[program, why]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    }
    assert_eq!(place.journals(), 0);
}

#[test]
fn standard_input_reaches_the_command() {
    let place = SideFolder::new();
    let mut command = place.command("-q --as sysload -- cat");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through");
}

#[test]
fn the_environment_reaches_the_command_byte_for_byte() {
    let place = SideFolder::new();
    let printed = |mut command: Command| {
        let output = command
            .env("spring.profile", "a b")
            .env("BASH_FUNC_f%%", "() {  :\n}")
            .env("BYTES", OsStr::from_bytes(b"\xff="))
            .stdin(Stdio::null())
            .output();
        output.unwrap().stdout
    };
    let side = place.command("-q --as sysload -- cat /proc/self/environ");
    let mut alone = Command::new("cat");
    alone.arg("/proc/self/environ");
    for (name, value) in side.get_envs() {
        match value {
            Some(value) => alone.env(name, value),
            None => alone.env_remove(name),
        };
    }
    let alone = printed(alone);
    let mut side = printed(side);
    // Without a cgroup it has one more, which tells its processes from others.
    if let Some(at) = side.windows(15).position(|part| part == b"PLIMSOLL_TOKEN=") {
        side.drain(at..at + 15 + 16 + 1);
    }
    assert!(alone.windows(14).any(|part| part == b"spring.profile"));
    assert_eq!(side, alone);
}

#[test]
fn orphans_that_ignore_sigterm_end_with_the_command() {
    let place = SideFolder::new();
    let script = "setsid sh -c 'trap \"\" TERM; sleep 1000' >/dev/null 2>&1 & echo $!";
    let ended = place.side(["-q", "--as", "sysload", "--", "sh", "-c", script]);
    ended.says(0, &[]);
    assert!(!lives(ended.stdout.trim()), "{ended:?}");
    assert_eq!(place.journals(), 0);
}

#[test]
fn what_leaves_the_cgroups_is_named_and_ends_with_the_command() {
    let place = SideFolder::new();
    let script = "for all in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do \
                  echo $$ >$all; done 2>/dev/null; setsid sleep 1000 >/dev/null 2>&1 & echo $!";
    let ended = place.side(["-q", "--as", "sysload", "--", "sh", "-c", script]);
    assert!(!lives(ended.stdout.trim()), "{ended:#?}");
    if is_root() {
        ended.says(0, &["has left its cgroup", "systemd-run"]);
    }
}

#[test]
fn signals_are_passed_on_and_the_second_one_kills() {
    let place = SideFolder::new();
    let script = "trap 'echo heard; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let running = place.running(SYSLOAD, script);
    running.signal("-TERM");
    let ended = running.end();
    let stdout = ended.stdout.trim();
    assert_eq!((ended.code, stdout), (Some(9), "readyheard"), "{ended:?}");

    // Not SIGINT, which background jobs of a shell ignore.
    let script = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
    let running = place.running(SYSLOAD, script);
    let pid = running.line.clone();
    // Signals of one kind that come at once are one.
    wait("the command to be killed", || {
        running.signal("-TERM");
        !lives(&pid)
    });
    running.end().says(137, &["a second signal to end it"]);
    assert!(!lives(&pid));
}

#[test]
fn sigquit_is_passed_on() {
    // Without env(1), which could reset it: this runs in the guest, too.
    let ignored = plimsoll_host::own_ignored_signals(&plimsoll_host::Root::machine());
    if ignored.unwrap() & (1 << (Signal::QUIT.as_raw() - 1)) != 0 {
        eprintln!("skipped: SIGQUIT is ignored here");
        return;
    }
    let place = SideFolder::new();
    let script = "trap 'echo heard; exit 9' QUIT; echo ready; while :; do sleep 0.05; done";
    let running = place.running(SYSLOAD, script);
    running.signal("-QUIT");
    let ended = running.end();
    assert_eq!(ended.code, Some(9), "{ended:?}");
    assert_eq!(place.journals(), 0);
}

#[test]
fn each_signal_that_would_end_side_ends_its_command_first() {
    let names = "USR1 USR2 ALRM VTALRM PROF XCPU IO STKFLT PWR ABRT 64";
    for name in names.split(' ') {
        let place = SideFolder::new();
        let mut command = place.command(SYSLOAD);
        command.args(["--", "sh", "-c", "echo $$; exec sleep 1000"]);
        // Signals that are ignored where the tests run stay ignored.
        let running = place.spawned(unignoring(&names.replace(' ', ","), &command));
        let pid = running.line.clone();
        running.signal(&format!("-{name}"));
        let ended = running.end();
        assert_eq!(ended.code, Some(143), "{name}: {ended:?}");
        assert!(!lives(&pid), "{name}");
        assert_eq!(place.journals(), 0, "{name}");
    }
}

#[test]
fn with_memory_of_version_1_only_memory_max_kills() {
    if !fs::exists("/sys/fs/cgroup/memory/cgroup.procs").unwrap() {
        eprintln!("skipped: memory is not of cgroup version 1 here");
        return;
    }
    let place = SideFolder::new();
    let ended = place.side("--memory 1GiB -- touch ran");
    ended.says(
        2,
        &["version 1", "a limit that kills", "leave --memory out"],
    );
    assert!(!place.folder.path("ran").exists());
}

const SCHEMA: &str = include_str!("../../../docs/schema/decisions.schema.json");

/// Each line of a log that was really written.
fn keeps_to_schema(place: &SideFolder, log: &str) {
    let schema = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let text = fs::read_to_string(place.folder.path(log)).unwrap();
    assert!(text.lines().count() > 2, "{text}");
    for line in text.lines() {
        let entry = serde_json::from_str(line).unwrap();
        let wrong: Vec<String> = schema
            .iter_errors(&entry)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{line}");
    }
}

#[test]
fn each_decision_is_logged_and_comes_out_the_same_again() {
    let place = SideFolder::new();
    for mechanism in ["auto", "idle"] {
        let log = format!("{mechanism}.jsonl");
        // A process that ends is a guard that cannot be read any more.
        let mut watched = Command::new("sleep").arg("1000").spawn().unwrap();
        let guard = format!("run-delay pid {}", watched.id());
        let flags = format!("--mechanism {mechanism} --guard '{guard}'");
        let running = place.logged(&log, flags);
        place.wait_for_log(&log, "\"entry\":\"decision\"");
        watched.kill().unwrap();
        watched.wait().unwrap();
        let gone = format!("no process {}", watched.id());
        place.wait_for_log(&log, &gone);
        running.signal("-TERM");
        let ended = running.end();
        ended.says(143, &[&gone, "could not be read in the end"]);
        keeps_to_schema(&place, &log);
        let again = place.folder.run(["replay", &log]);
        has(&again.says(0, &[]).stdout, &["the same"]);
    }
    // A decision that was never made.
    let text = place.folder.read("auto.jsonl");
    let mut lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines[1]["action"] = serde_json::json!({"action": "run", "share": 0.9876});
    let changed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    place.folder.write("auto.jsonl", changed.join("\n"));
    let again = place.folder.run("replay auto.jsonl");
    again.says(1, &["line 2", "this version decides"]);
}

#[test]
fn two_sideloads_at_once_leave_each_other_alone() {
    let place = SideFolder::new();
    let first = place.logged("first", "");
    let here = "another run of Plimsoll is here (process";
    let second = place.logged("second", "");
    let (pid, other) = (first.command(), second.command());
    first.wait_until_it_says(here);
    place
        .side("--period 10s -- true")
        .says(0, &[here, "and 1 more"]);
    let theirs = groups(&pid);
    assert!(theirs.is_empty() || theirs != groups(&other));
    second.signal("-TERM");
    second.end().says(143, &[here]);
    assert!(lives(&pid));
    first.signal("-TERM");
    first.end().says(143, &[here]);
    assert!(!lives(&pid));
    assert_eq!(place.journals(), 0);
}

#[test]
fn a_group_removed_by_others_ends_the_command_with_a_message() {
    let place = SideFolder::new();
    let running = place.running("-q --period 1s", "echo $$; exec sleep 1000");
    let folders = groups(&running.line);
    if folders.is_empty() {
        eprintln!("skipped: no cgroup can be made here");
        running.signal("-TERM");
        running.end();
        return;
    }
    for folder in folders {
        let home = folder.parent().unwrap().join("cgroup.procs");
        // One of several mounts of the same tree may have been used for it before.
        if fs::write(home, &running.line).is_ok() {
            wait("the group to be empty", || {
                !folder.exists() || fs::remove_dir(&folder).is_ok()
            });
        }
    }
    let pid = running.line.clone();
    running.end().says(1, &["was removed by someone else"]);
    wait("the command to end", || !lives(&pid));
}

#[test]
fn without_permission_the_next_best_mechanism_is_used_and_named() {
    let place = SideFolder::new();
    if !is_root() {
        return;
    }
    let nobody = |args: &str| Ended::of(place.of_nobody(args));
    // The policy in /proc/PID/stat; 5 is SCHED_IDLE.
    let ended = nobody("-- sh -c 'cut -d \" \" -f 41 /proc/self/stat; exit 3'");
    ended.says(
        3,
        &[
            "by idle",
            "may not make a cgroup",
            "what is lost here",
            "if Plimsoll is killed, they stay",
        ],
    );
    assert_eq!(ended.stdout.trim(), "5", "{ended:?}");
    // A limit that is unavailable is refused, and nothing runs without it.
    nobody("--mechanism quota -- true").says(2, &["CPU quota", "--mechanism auto"]);
    for flag in ["--memory", "--memory-max"] {
        let leave = format!("leave {flag} out");
        nobody(&format!("{flag} 1GiB -- true")).says(2, &["a memory limit that", &leave]);
    }
}
