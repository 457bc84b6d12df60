//! `plimsoll burst` for real, in cycles so short that their figures mean nothing: what is asserted is
//! what noise cannot change.

use crate::common::{Folder, LOUD, has, trials_in, unwrapped, wait};
use plimsoll_load::known::{Behaviour, KnownServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

fn cycles(count: u32, more: &str) -> String {
    let loud = LOUD.join(" ");
    format!(
        "burst --burst 400ms --break 400ms --step 20ms --cycles {count} --seed 1 -o run.plimsoll {loud} {more}"
    )
}

fn server() -> KnownServer {
    KnownServer::start(Behaviour::Answer {
        after: Duration::from_micros(100),
    })
    .unwrap()
}

#[test]
fn two_servers_are_compared_and_the_json_keeps_to_its_schema() {
    let (one, other) = (server(), server());
    let (one, other) = (one.addr(), other.addr());
    let folder = Folder::new();
    let more = format!("--format json --against http://{other}/ http://{one}/");
    let found = folder.run(cycles(3, &more)).json();
    let text = include_str!("../../../../docs/schema/burst.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap();
    let faults: Vec<String> = schema
        .iter_errors(&found)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let findings = &found["findings"];
    for target in [findings, &findings["against"]] {
        assert_eq!(
            (&target["cycles"], &target["breaks"]),
            (&3.into(), &3.into())
        );
        let kinds: Vec<&Value> = target["phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| &p["phase"])
            .collect();
        assert_eq!(kinds, ["burst", "break"]);
        assert!(target["idle_burn_pct"]["value"].is_number(), "{target}");
        assert!(
            target["first_after_break_us"]["value"].is_number(),
            "{target}"
        );
        assert_eq!(
            target["first_after_break_us"]["low"],
            Value::Null,
            "of three"
        );
    }
    let text = folder
        .run("report run.plimsoll")
        .says(0, &[])
        .stdout
        .clone();
    has(
        &text,
        &[
            "CPU use in bursts and breaks",
            "A less B",
            "fewer than 6 breaks",
        ],
    );
    has(
        &folder.read("run.html"),
        &["<svg", "CPU use in bursts and breaks"],
    );
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = Folder::new();
    let mut killed = folder.spawn(cycles(12, ""));
    let record = folder.path("run.plimsoll");
    wait("two trials", || trials_in(&record) >= 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(trials_in(&record) < 13, "it ended by itself");
    let resumed = folder.run("burst --resume run.plimsoll --format json");
    let found = resumed.json();
    assert_eq!(found["record"]["ended"], "complete");
    assert_eq!(found["findings"]["cycles"], 12);
}

#[test]
fn a_server_that_dies_in_a_break_ends_the_run_and_its_trials_are_kept() {
    let server = server();
    let folder = Folder::new();
    let url = format!("http://{}/", server.addr());
    let loud = LOUD.join(" ");
    let run = format!(
        "burst --pattern 300ms@100,3s@0 --step 20ms --cycles 50 -o run.plimsoll {loud} {url}"
    );
    let mut child = folder.command(run);
    let child = child
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let record = folder.path("run.plimsoll");
    wait("a cycle", || trials_in(&record) >= 2);
    drop(server);
    let ended = child.wait_with_output().unwrap();
    let says = unwrapped(&String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(1), "{says}");
    assert!(trials_in(&record) >= 2);
    let found = folder.run("report run.plimsoll --format json").json();
    assert_eq!(found["record"]["ended"], "failed");
}

#[test]
fn what_cannot_be_measured_is_refused_in_a_sentence() {
    let server = server();
    let url = format!("http://{}/", server.addr());
    let mut paused = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = Pid::from_child(&paused);
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", paused.id())).unwrap();
        stat.contains(") T ")
    };
    wait("the stop", stopped);
    let paused_pid = format!("{url} --service-pid {}", paused.id());
    for (args, code, says) in [
        ("--pattern 1s@100,0s@0", 2, "zero length"),
        ("--burst 0s", 2, "zero length"),
        ("--pattern 5s@0", 2, "no burst"),
        ("--pattern 5s@10", 2, "no break"),
        (
            "--break 10ms --step 50ms",
            2,
            "shorter than 4 sampling steps of 50ms",
        ),
        ("--pattern soon", 2, "TIME@RATE"),
        (
            &format!("{url} --service-pid 4194300"),
            2,
            "no process 4194300",
        ),
        (&paused_pid, 1, "is paused (state T)"),
    ] {
        let folder = Folder::new();
        let ended = folder.run(format!("burst -o run.plimsoll {args}"));
        ended.says(code, &[]);
        let text = unwrapped(&ended.stderr);
        assert!(text.contains(says), "{args}: {text}");
        assert!(!folder.path("run.plimsoll").exists(), "{args}");
    }
    paused.kill().unwrap();
    paused.wait().unwrap();
}
