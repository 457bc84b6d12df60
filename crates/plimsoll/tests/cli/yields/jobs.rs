//! Jobs that are commands, and a server as the service.

use super::{jobs, tiny};
use crate::common::side_folder::lives;
use crate::common::{Ended, Folder, LOUD};
use plimsoll_load::known::{Behaviour, KnownServer};
use serde_json::Value;
use std::fs;
use std::time::Duration;

#[test]
fn a_command_is_timed_to_its_end() {
    let folder = Folder::new();
    let args = tiny("--arms nice --job 'sleep 0.2' -o run.plimsoll");
    folder.run(args).says(0, &[]);
    let jobs = jobs(&folder.path("run.plimsoll"));
    assert!(jobs["nice"].done >= Some(1), "{jobs:?}");
    assert!(jobs["job-alone"].done >= Some(1), "{jobs:?}");
}

#[test]
fn a_command_of_plain_words_has_the_environment_as_it_is() {
    let folder = Folder::new();
    let file = folder.path("environ");
    let job = format!("cp /proc/self/environ {}", file.display());
    let mut yields = folder.command(tiny(&format!("--arms nice --job '{job}'")));
    yields
        .env("spring.profile", "here")
        .env("BASH_FUNC_f%%", "() { :; }");
    // It has run once when that is found.
    Ended::of(yields).says(2, &["too short"]);
    let environ = fs::read(&file).unwrap();
    let variables: Vec<&[u8]> = environ.split(|byte| *byte == 0).collect();
    assert!(variables.contains(&&b"spring.profile=here"[..]));
    assert!(variables.contains(&&b"BASH_FUNC_f%%=() { :; }"[..]));
}

#[test]
fn the_service_is_measured_for_as_long_as_a_run_of_the_command_takes() {
    let folder = Folder::new();
    let args = tiny("--arms nice --job 'sleep 2' -o run.plimsoll");
    folder.run(args).says(0, &[]);
    let db = rusqlite::Connection::open(folder.path("run.plimsoll")).unwrap();
    let measured = |arm: &str| -> (i64, i64) {
        let sql = "SELECT max(window_ns), max(intended) FROM trial
                   WHERE phase = 'level' AND setting_json ->> '$.beside.arm' = ?1";
        db.query_row(sql, [arm], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    };
    let (alone, few) = measured("service-alone");
    let (beside, many) = measured("nice");
    assert_eq!(alone, 150_000_000, "as was asked");
    assert!(beside >= 2_000_000_000, "{beside}");
    assert!(
        many > 5 * few,
        "{many} requests in 13 times the time of {few}"
    );
    assert!(measured("job-alone").0 >= 2_000_000_000);
}

#[test]
fn a_job_that_ends_at_once_or_fails_is_refused() {
    let folder = Folder::new();
    for (job, sentence) in [("true", "too short to tell"), ("exit 3", "exit status: 3")] {
        let args = tiny(&format!("--arms nice --job '{job}'"));
        folder.run(args).says(2, &[job, sentence]);
    }
}

#[test]
fn the_time_that_a_command_may_take_is_kept() {
    let folder = Folder::new();
    let args = tiny("--arms nice --job 'sleep 1000' --job-timeout 300ms");
    folder
        .run(args)
        .says(1, &["did not end within 300ms", "--job-timeout"]);
}

#[test]
fn what_a_command_starts_and_does_not_wait_for_is_work_of_its_run() {
    let folder = Folder::new();
    let job = "--job 'sleep 0.4 & sleep 0.06' --job-timeout 60s -o run.plimsoll";
    let args = tiny(&format!("--arms nice {job} --format json"));
    folder.run(args).json();
    let db = rusqlite::Connection::open(folder.path("run.plimsoll")).unwrap();
    let sql =
        "SELECT count(*), min((outcome_json ->> '$.job.over_ns') / (outcome_json ->> '$.job.done'))
               FROM trial WHERE outcome_json ->> '$.job.done' > 0";
    let (trials, shortest): (i64, i64) = db
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(
        trials >= 2 && shortest >= 400_000_000,
        "{trials} {shortest}"
    );
    // A daemon never ends.
    let job = "--job 'sleep 1000 & sleep 0.06' --job-timeout 300ms";
    let args = tiny(&format!("--arms nice {job}"));
    folder
        .run(args)
        .says(1, &["leaves no daemon", "--job-timeout"]);
}

#[test]
fn what_a_job_detaches_without_its_environment_is_of_its_run_and_ends_with_it() {
    let folder = Folder::new();
    let path = folder.path("detached");
    let detach = r#"setsid -f env -i sh -c "echo \$\$ >>$1; exec sleep 1000""#;
    fs::write(folder.path("job.sh"), format!("{detach}; sleep 0.2")).unwrap();
    let job = format!("--job 'sh job.sh {}'", path.display());
    let args = tiny(&format!(
        "--arms none,nice,sched-idle {job} --job-timeout 300ms"
    ));
    folder.run(args).says(1, &["leaves no daemon"]);
    let detached = fs::read_to_string(path).unwrap();
    assert!(detached.lines().count() > 0);
    assert!(!detached.lines().any(lives), "{detached}");
}

#[test]
fn a_job_that_leaves_its_cgroup_is_refused_and_ends_with_the_run() {
    let folder = Folder::new();
    let path = folder.path("outside");
    let leave = "for all in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do \
                 echo $$ >$all; done 2>/dev/null";
    // Longer than a loaded machine takes to look.
    let detach = r#"setsid -f env -i sh -c "echo \$\$ >>$1; exec sleep 5""#;
    for script in [
        &format!("{leave}; {detach}; sleep 0.1"),
        &format!("{leave}; echo $$ >>$1; sleep 2"),
        // Once the window is open for longer, until its first run has ended.
        &format!("sleep 2.5; {leave}; echo $$ >>$1; sleep 2"),
    ] {
        fs::write(folder.path("job.sh"), script).unwrap();
        let job = format!("--job 'sh job.sh {}' --job-timeout 60s", path.display());
        let ended = folder.run(tiny(&format!("--arms weight {job}")));
        let outside = fs::read_to_string(&path).unwrap();
        assert!(!outside.lines().any(lives), "{outside}");
        if !has_cgroups() {
            eprintln!("skipped: no group can be made or left here");
            return;
        }
        ended.says(2, &["has left its cgroup", "systemd-run"]);
    }
}

/// Whether this user can make cgroups, and move itself out of them.
fn has_cgroups() -> bool {
    use rustix::fs::{Access, access};
    let folders = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"];
    let can_write = |path: &str| access(path, Access::WRITE_OK).is_ok();
    folders
        .iter()
        .any(|folder| can_write(&format!("{folder}/cgroup.procs")))
}

#[test]
fn a_law_that_never_lets_a_command_run_does_not_end_the_run() {
    let folder = Folder::new();
    // resctl-demo's law lets nothing run with less than a tenth to spare.
    let job = "--job 'sleep 0.2' --job-timeout 1s -o run.plimsoll --format json";
    let args = tiny(&format!("--arms nice,resctl --headroom 90% {job}"));
    let findings = &folder.run(args).json()["findings"];
    let jobs = jobs(&folder.path("run.plimsoll"));
    assert!(jobs["nice"].done >= Some(1), "{jobs:?}");
    let arms = findings["arms"].as_array().unwrap();
    let Some(resctl) = arms.iter().find(|arm| arm["arm"] == "resctl") else {
        eprintln!("skipped: {}", findings["missing_arms"]);
        return;
    };
    assert_eq!(jobs["resctl"].done, Some(0), "{jobs:?}");
    assert_eq!(resctl["held"]["frozen_share"], 1.0, "{resctl}");
}

#[test]
fn a_server_is_measured_beside_a_job() {
    let folder = Folder::new();
    let after = Duration::ZERO;
    let server = KnownServer::start(Behaviour::Answer { after }).unwrap();
    let (url, loud) = (server.addr(), LOUD.join(" "));
    let plan = "--quick --passes 1 -z 150ms --rate 100 --arms nice --format json";
    let ended = folder.run(format!("yield http://{url}/ {plan} {loud}"));
    let findings = &ended.json()["findings"];
    assert_eq!(findings["rate_rps"], 100.0);
    assert_eq!(findings["rated"], Value::Null);
    let nice = &findings["arms"][2];
    assert_eq!(nice["arm"], "nice");
    assert!(nice["latency_us"]["p50"].as_f64().unwrap() > 0.0, "{nice}");
    let total = &nice["total_work_share"];
    assert_eq!(*total, Value::Null, "its capacity is unknown");
}
