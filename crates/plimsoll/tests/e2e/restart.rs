//! A service that is started again while it is measured.

use crate::common::{Folder, send, short};
use crate::crash::{TRIALS, sweep, wait_for};
use crate::nginx::Nginx;
use rustix::process::Signal;
use std::path::Path;

/// Whether each trial, in order, has a CPU time of the service above zero.
fn service_cpu(record: &Path) -> Vec<bool> {
    let db = rusqlite::Connection::open(record).unwrap();
    let mut rows = db
        .prepare("SELECT service_json FROM trial WHERE phase = 'level' ORDER BY id")
        .unwrap();
    rows.query_map([], |row| row.get::<_, Option<String>>(0))
        .unwrap()
        .map(|service| {
            let json = service.unwrap().unwrap_or_default();
            let service: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
            service["cpu_ns"].as_u64().is_some_and(|cpu| cpu > 0)
        })
        .collect()
}

#[test]
fn a_service_that_is_started_again_in_the_middle_of_a_run_is_found_again() {
    let mut nginx = Nginx::start();
    let folder = Folder::new();
    let record = folder.path("run.plimsoll");
    let child = sweep(&folder, &nginx.url());
    // Up to four of them may be the idle baseline.
    wait_for(&record, 6);
    // To the run, the service is gone for no time at all.
    send(&child, &[Signal::STOP]);
    nginx.restart();
    send(&child, &[Signal::CONT]);
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    let known = service_cpu(&record);
    assert!(known.len() as i64 >= TRIALS - 1, "{known:?}");
    // In one trial it was replaced; what it used there is not known.
    let unknown = known.iter().filter(|cpu| !**cpu).count();
    assert!(unknown <= 1 && known.ends_with(&[true]), "{known:?}");
}

/// A short sweep that runs `restart` before each pass. Its number of passes is
/// what `--restart` makes of it.
fn restarting(url: &str, restart: &str) -> String {
    let more = "--levels 5,50 --rated 2000 --cpus 1 -o run.plimsoll --format json";
    let sweep = short(&format!("{more} --restart '{restart}' {url}"));
    sweep.replace("--trials 1 ", "")
}

#[test]
fn the_restart_command_runs_before_each_pass_and_its_share_is_found() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let url = nginx.url();
    let json = folder
        .run(restarting(&url, "echo again >> restarts"))
        .json();
    let restarts = std::fs::read_to_string(folder.path("restarts")).unwrap();
    assert_eq!(restarts.lines().count(), 3);
    assert_eq!(json["plan"]["passes"], 3);
    // Noise may make trials invalid, and then levels that not every start has.
    let found = &json["findings"]["direction"]["restarts"];
    assert!(found.is_null() || found["restarts"] == 3, "{found}");
}

#[test]
fn a_restart_that_fails_ends_the_run_with_its_status() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let url = nginx.url();
    folder
        .run(restarting(&url, "exit 7"))
        .says(1, &["--restart 'exit 7'", "exit status: 7"]);
}

#[test]
fn a_restart_that_leaves_the_named_process_ends_the_run() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let master = nginx.pids()[0];
    let restart = nginx.command_to_restart();
    let sweep = restarting(&nginx.url(), &restart) + &format!(" --service-pid {master}");
    let ended = folder.run(sweep);
    let started_anew = std::fs::read_to_string(nginx.pid_file()).unwrap();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.arg(started_anew.trim()).status().unwrap().success());
    ended.says(
        1,
        &[
            "after --restart",
            "nginx (",
            "listens at",
            "leave --service-pid",
        ],
    );
}
