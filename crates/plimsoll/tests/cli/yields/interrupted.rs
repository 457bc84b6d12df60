//! Runs that end before their time.

use super::{burners_of, groups_of, lasting, names, spawn, tiny, wait};
use crate::common::{Folder, marker, send, sleepers, trials_in, unignoring};
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::Stdio;

#[test]
fn changes_of_a_killed_yield_are_restored_by_the_next_start() {
    let folder = Folder::new();
    let probe = folder.run(tiny("--arms weight,nice --format json"));
    let has_groups = names(&probe.json()["findings"]["arms"]).contains("weight");
    let arms = if has_groups { "weight" } else { "nice" };
    // Long enough to be found in the middle of a trial.
    let args = lasting("5s", &format!("--arms {arms} -o killed.plimsoll"));
    let mut child = spawn(&folder, args);
    let pid = child.id();
    wait("a job in its group", || {
        burners_of(pid) > 0 && (!has_groups || !groups_of(pid).is_empty())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait("the job to end by itself", || burners_of(pid) == 0);
    let next = folder.run(tiny("--arms nice -o next.plimsoll"));
    assert_eq!(next.code, Some(0), "{next:#?}");
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(folder.journals(), 0);
}

#[test]
fn a_stopped_run_is_resumed_where_it_was() {
    let folder = Folder::new();
    let args = tiny("--arms none,nice -o run.plimsoll");
    let record = folder.path("run.plimsoll");
    let mut child = spawn(&folder, args);
    wait("two trials", || trials_in(&record) >= 2);
    send(&child, &[Signal::INT]);
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 0)), "{code:?}");
    if code == Some(130) {
        let refused = folder.run("yield --resume run.plimsoll --passes 3");
        refused.says(2, &["--resume"]);
        let resumed = folder.run("yield --resume run.plimsoll");
        assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    }
    // The reference, and one pass of the five arms.
    assert_eq!(trials_in(&record), 6);
}

#[test]
fn signals_that_end_a_run_end_its_job() {
    for signals in [
        &[Signal::HUP][..],
        &[Signal::QUIT],
        &[Signal::INT, Signal::INT],
    ] {
        let (folder, marker) = (Folder::new(), marker());
        let job = format!("--job 'sleep {marker}'");
        let args = tiny(&format!("--arms nice {job} -o run.plimsoll"));
        let mut yields = unignoring("HUP,QUIT,INT", &folder.command(args));
        let spawned = yields.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = spawned.unwrap();
        wait("the job", || sleepers(&marker) > 0);
        send(&child, signals);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signals:?}");
        wait("the job to be gone", || sleepers(&marker) == 0);
        assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
        assert_eq!(folder.journals(), 0);
    }
}

#[test]
fn a_job_that_kill_9_left_is_ended_by_the_next_start() {
    let (folder, marker) = (Folder::new(), marker());
    let job = format!("--job 'sleep {marker}'");
    let mut child = spawn(&folder, tiny(&format!("--arms nice {job}")));
    wait("the job", || sleepers(&marker) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(sleepers(&marker) > 0);
    folder
        .run("side -q --as sysload -- true")
        .says(0, &["repaired"]);
    wait("the job to be gone", || sleepers(&marker) == 0);
    assert_eq!(folder.journals(), 0);
}
