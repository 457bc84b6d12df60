//! Laws as arms, and a curve of headrooms: what holds a job while it runs.

use super::{groups_of, lasting, names, tiny, watched};
use crate::common::{Folder, has, trials_in};
use std::fs;

/// Whether a process holds something that runs by a quota in periods of 100 ms.
fn has_slow_quota(pid: u32) -> bool {
    groups_of(pid).iter().any(|group| {
        let read = |file: &str| fs::read_to_string(group.join(file)).unwrap_or_default();
        let v1 = read("cpu.cfs_period_us").trim() == "100000"
            && !read("cpu.cfs_quota_us").starts_with('-');
        let v2 = read("cpu.max");
        let v2 = v2.trim().ends_with(" 100000") && !v2.starts_with("max");
        (v1 || v2) && !read("cgroup.procs").is_empty()
    })
}

#[test]
fn laws_restrict_a_job_and_the_record_has_their_shares() {
    let folder = Folder::new();
    // Long enough for a decision of each.
    let args = lasting("1500ms", "--arms resctl,koordinator,plimsoll --format json");
    let mut quota_seen = false;
    let output = watched(&folder, args, |pid| quota_seen |= has_slow_quota(pid));
    let findings = &output["findings"];
    let tried = names(&findings["arms"]);
    let mut all = tried.clone();
    all.extend(names(&findings["missing_arms"]));
    let laws = ["resctl", "koordinator", "plimsoll"];
    assert!(laws.iter().all(|law| all.contains(*law)), "{all:?}");
    assert!(tried.contains("plimsoll"), "it needs no cgroup");
    assert_eq!(quota_seen, tried.contains("koordinator"));
    for arm in findings["arms"].as_array().unwrap() {
        let name = arm["arm"].as_str().unwrap();
        let frozen = arm["held"]["frozen_share"].as_f64();
        assert_eq!(frozen.is_some(), laws.contains(&name), "{arm}");
        // Whatever the machine did, it began with a quota or without any.
        let allowed = arm["held"]["allowed_share"].as_f64();
        match name {
            "koordinator" => assert!(allowed.is_some_and(|x| x > 0.0 && x < 1.0), "{arm}"),
            "resctl" => assert!(allowed.is_some_and(|x| x < 1.0), "{arm}"),
            _ => {}
        }
    }
}

#[test]
fn a_headroom_that_no_law_takes_leaves_the_laws_out_and_says_why() {
    let folder = Folder::new();
    let args = tiny("--arms nice,koordinator,plimsoll --headroom 0%");
    let ended = folder.run(args);
    ended.says(0, &["plimsoll is left out: '0' is not a headroom"]);
}

#[test]
fn a_curve_visits_an_arm_with_each_headroom_that_was_asked_for() {
    let folder = Folder::new();
    let probe = folder.run(tiny("--arms quota-10ms,nice --format json"));
    if !names(&probe.json()["findings"]["arms"]).contains("quota-10ms") {
        eprintln!("skipped: this system gives no quota");
        return;
    }
    let curve = "--curve --arms quota-10ms --headrooms 30%,0,10";
    let args = tiny(&format!("{curve} -o run.plimsoll --format json"));
    let output = folder.run(args).json();
    let curve = &output["findings"]["curve"];
    assert_eq!(curve.as_array().unwrap().len(), 1);
    assert_eq!(curve[0]["arm"], "quota-10ms");
    let points = curve[0]["points"].as_array().unwrap();
    let headrooms: Vec<f64> = points
        .iter()
        .map(|point| point["headroom_pct"].as_f64().unwrap())
        .collect();
    assert_eq!(headrooms, [0.0, 10.0, 30.0]);
    let allowed = |nth: usize| points[nth]["allowed_share"].as_f64().unwrap();
    // On a busy machine nothing is left but the least that a job is given.
    assert!(
        allowed(0) >= allowed(1) && allowed(1) >= allowed(2),
        "{points:?}"
    );
    assert!(
        points.iter().all(|point| point["trials"] == 1),
        "{points:?}"
    );
    assert_eq!(curve[0]["knee"]["status"], "cannot_tell", "of one pass");
    assert_eq!(
        names(&output["findings"]["arms"]),
        ["service-alone", "job-alone"].map(str::to_owned).into()
    );
    // The reference, three without a headroom, three with one.
    assert_eq!(trials_in(&folder.path("run.plimsoll")), 7);
    let again = folder.run("report run.plimsoll --format json");
    assert_eq!(again.json()["findings"], output["findings"]);
    has(&folder.run("report run.plimsoll").text(), &["headroom"]);
    folder
        .run("yield --resume run.plimsoll")
        .says(2, &["is complete"]);
}
