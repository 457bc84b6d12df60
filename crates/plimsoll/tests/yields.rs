//! `plimsoll yield` for real, in trials so short that their figures mean
//! nothing: what is asserted is what noise cannot change.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;
#[path = "yields/step.rs"]
mod step;

use common::{Ended, Folder, trials_in};
use plimsoll_load::known::{Behaviour, KnownServer};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long something may take on a loaded machine.
const LONG: Duration = Duration::from_secs(120);

/// The shortest run that there is, however busy the machine.
fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![
        "yield",
        "--quick",
        "--passes",
        "1",
        "-z",
        "150ms",
        "--rated",
        "500",
        "--seed",
        "1",
        "--max-steal",
        "100%",
        "--max-other",
        "100%",
        "--max-slip",
        "10s",
    ];
    args.extend_from_slice(more);
    args
}

/// The binary with journals of its own.
fn command(folder: &Folder, args: &[&str]) -> Command {
    let runtime = folder.path("runtime");
    fs::create_dir_all(&runtime).unwrap();
    let mut command = folder.command(args);
    command.env("XDG_RUNTIME_DIR", runtime);
    command
}

fn run(folder: &Folder, args: &[&str]) -> Ended {
    ended(command(folder, args))
}

fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn spawn(folder: &Folder, args: &[&str]) -> Child {
    let mut command = command(folder, args);
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    command.spawn().unwrap()
}

/// Waits for what must come, however slow the machine is.
fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Groups that a process has made and not given back.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let own = format!("plimsoll-{pid}-");
    let mounts = fs::read_dir("/sys/fs/cgroup")
        .into_iter()
        .flatten()
        .flatten();
    let mut above: Vec<PathBuf> = mounts.map(|mount| mount.path()).collect();
    above.push("/sys/fs/cgroup".into());
    let below = above.iter().flat_map(fs::read_dir).flatten().flatten();
    below
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&own))
        .map(|entry| entry.path())
        .collect()
}

fn journals(folder: &Folder) -> usize {
    fs::read_dir(folder.path("runtime/plimsoll")).map_or(0, Iterator::count)
}

/// Processes that hash blocks for the one with this number.
fn burners_of(pid: u32) -> usize {
    let program = format!("/proc/{pid}/exe");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| line.starts_with(program.as_bytes()))
        .count()
}

fn names(list: &Value) -> BTreeSet<String> {
    let name = |arm: &Value| arm["arm"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(name).collect()
}

/// What a record says of a job: what it did, its CPU time in CPUs, and the share
/// of its CPUs that it was allowed.
#[derive(Debug)]
struct Job {
    done: Option<i64>,
    cpus_used: Option<f64>,
    allowed: Option<f64>,
}

/// The jobs of a record by arm.
fn jobs(record: &Path) -> BTreeMap<String, Job> {
    let db = rusqlite::Connection::open(record).unwrap();
    let sql = "SELECT arm, job_done, job_cpu_ns * 1.0 / job_over_ns, allowed_share FROM trial
               WHERE phase = 'level'";
    let mut statement = db.prepare(sql).unwrap();
    let job = |row: &rusqlite::Row<'_>| {
        let job = Job {
            done: row.get(1)?,
            cpus_used: row.get(2)?,
            allowed: row.get(3)?,
        };
        Ok((row.get(0)?, job))
    };
    let rows = statement.query_map([], job).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn every_arm_is_tried_or_listed_with_its_reason_and_nothing_of_it_remains() {
    let folder = Folder::new();
    let args = tiny(&["-o", "run.plimsoll", "--format", "json"]);
    let mut child = command(&folder, &args)
        .stdout(fs::File::create(folder.path("out.json")).unwrap())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
    assert_eq!((burners_of(child.id()), journals(&folder)), (0, 0));
    let output: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("out.json")).unwrap()).unwrap();
    let findings = &output["findings"];
    let mut all = names(&findings["arms"]);
    all.extend(names(&findings["missing_arms"]));
    let every = [
        "service-alone",
        "job-alone",
        "none",
        "nice",
        "sched-idle",
        "weight",
        "cpu-idle",
        "quota-10ms",
        "quota-100ms",
        "cpuset",
    ];
    assert_eq!(all, every.map(str::to_owned).into());
    for missing in findings["missing_arms"].as_array().unwrap() {
        assert!(!missing["reason"].as_str().unwrap().is_empty());
    }
    let jobs = jobs(&folder.path("run.plimsoll"));
    assert_eq!(jobs["service-alone"].done, None, "no job runs there");
    assert_eq!(jobs["service-again"].done, None);
    assert!(jobs["none"].done > Some(0), "{jobs:?}");
    assert!(jobs["job-alone"].done > Some(0), "{jobs:?}");
    let cpus = output["plan"]["sideload"]["cpus"].as_str().unwrap();
    let cpus: plimsoll_model::CpuSet = cpus.parse().unwrap();
    if let Some(Job {
        cpus_used: Some(used),
        allowed: Some(allowed),
        ..
    }) = jobs.get("quota-10ms")
    {
        // A window holds one period more than it is long, and CPU time is
        // counted in ticks of 10 ms for each thread.
        let slack = (10.0 + 10.0 * cpus.len() as f64) / 150.0;
        let bound = allowed * cpus.len() as f64 * (160.0 / 150.0) + slack;
        assert!(*used <= bound, "{used} of {bound}");
    }
}

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
fn laws_hold_a_job_while_it_runs_and_the_record_says_how_far() {
    let folder = Folder::new();
    let args = tiny(&[
        "--arms",
        "resctl,koordinator,plimsoll",
        "-o",
        "run.plimsoll",
        "--format",
        "json",
    ]);
    // Long enough for a decision of each.
    let args: Vec<&str> = args
        .into_iter()
        .map(|arg| if arg == "150ms" { "1500ms" } else { arg })
        .collect();
    let mut child = command(&folder, &args)
        .stdout(fs::File::create(folder.path("out.json")).unwrap())
        .spawn()
        .unwrap();
    let (mut quota_seen, mut status) = (false, None);
    wait("the run to end", || {
        quota_seen |= has_slow_quota(child.id());
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success());
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
    assert_eq!((burners_of(child.id()), journals(&folder)), (0, 0));
    let output: Value =
        serde_json::from_str(&fs::read_to_string(folder.path("out.json")).unwrap()).unwrap();
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
    let args = tiny(&["--arms", "nice,koordinator,plimsoll", "--headroom", "0%"]);
    let ended = run(&folder, &args);
    ended.says(0, &["plimsoll is left out: '0' is no headroom"]);
}

#[test]
fn a_curve_visits_an_arm_with_each_headroom_that_was_asked_for() {
    let folder = Folder::new();
    let probe = run(
        &folder,
        &tiny(&["--arms", "quota-10ms,nice", "--format", "json"]),
    );
    if !names(&probe.json()["findings"]["arms"]).contains("quota-10ms") {
        eprintln!("skipped: this system gives no quota");
        return;
    }
    let more = ["--curve", "--arms", "quota-10ms", "--headrooms", "30%,0,10"];
    let args = tiny(&[&more[..], &["-o", "run.plimsoll", "--format", "json"]].concat());
    let output = run(&folder, &args).json();
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
    let again = run(&folder, &["report", "run.plimsoll", "--format", "json"]);
    assert_eq!(again.json()["findings"], output["findings"]);
    let text = run(&folder, &["report", "run.plimsoll"]);
    assert!(text.stdout.contains("headroom"), "{}", text.stdout);
    run(&folder, &["yield", "--resume", "run.plimsoll"]).says(2, &["all of its plan was measured"]);
}

#[test]
fn such_a_record_is_shown_again_and_taken_for_no_sweep() {
    let folder = Folder::new();
    let args = tiny(&["--arms", "nice", "-o", "run.plimsoll", "--format", "json"]);
    let output = run(&folder, &args).json();
    let findings = &output["findings"];
    let again = run(&folder, &["report", "run.plimsoll", "--format", "json"]);
    assert_eq!(again.json()["findings"], *findings);
    let text = run(&folder, &["report", "run.plimsoll"]);
    assert!(text.stdout.contains("It cannot be told"), "{}", text.stdout);
    for wrong in [
        &["report", "run.plimsoll", "--goal", "p99<5ms"][..],
        &["compare", "run.plimsoll", "run.plimsoll"],
        &["export", "run.plimsoll", "--hdr", "logs"],
        &["sweep", "--resume", "run.plimsoll"],
        &["yield", "--resume", "run.plimsoll"],
    ] {
        run(&folder, wrong).says(2, &[]);
    }
}

#[test]
fn a_run_leaves_its_page_and_a_report_is_written_as_its_file_is_named() {
    let folder = Folder::new();
    let ended = run(&folder, &tiny(&["--arms", "nice", "-o", "run.plimsoll"]));
    ended.says(0, &["Charts: run.html"]);
    let page = fs::read_to_string(folder.path("run.html")).unwrap();
    // None of one pass has an interval, and a mark needs none.
    for part in [
        "data-chart=\"paid\"",
        "data-chart=\"latency\"",
        "data-chart=\"total\"",
        "data-chart=\"time\"",
        ">service-again</text>",
        "plimsoll yield",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for (file, begins) in [
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
        ("a.csv", "arm,work_gained_share,"),
        ("a.txt", "hash service"),
    ] {
        run(&folder, &["report", "run.plimsoll", "-o", file]).says(0, &[]);
        let text = fs::read_to_string(folder.path(file)).unwrap();
        assert!(text.starts_with(begins), "{file}: {}", &text[..60]);
    }
    assert_eq!(fs::read_to_string(folder.path("a.html")).unwrap(), page);
    let csv = run(&folder, &["report", "run.plimsoll", "--format", "csv"]);
    assert_eq!(
        csv.stdout.lines().count(),
        4,
        "a head and three arms: {csv:#?}"
    );
    let args = tiny(&["--arms", "nice", "-o", "bare.plimsoll", "--no-html"]);
    assert_eq!(run(&folder, &args).code, Some(0));
    assert!(!folder.path("bare.html").exists());
}

#[test]
fn a_run_that_is_killed_leaves_nothing_that_the_next_start_does_not_give_back() {
    let folder = Folder::new();
    let probe = run(
        &folder,
        &tiny(&["--arms", "weight,nice", "--format", "json"]),
    );
    let has_groups = names(&probe.json()["findings"]["arms"]).contains("weight");
    let arms = if has_groups { "weight" } else { "nice" };
    let args = tiny(&["--arms", arms, "-o", "killed.plimsoll"]);
    // Long enough to be found in the middle of a trial.
    let args: Vec<&str> = args
        .into_iter()
        .map(|arg| if arg == "150ms" { "5s" } else { arg })
        .collect();
    let mut child = spawn(&folder, &args);
    let pid = child.id();
    wait("a job in its group", || {
        burners_of(pid) > 0 && (!has_groups || !groups_of(pid).is_empty())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait("the job to end by itself", || burners_of(pid) == 0);
    let next = run(&folder, &tiny(&["--arms", "nice", "-o", "next.plimsoll"]));
    assert_eq!(next.code, Some(0), "{next:#?}");
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(journals(&folder), 0);
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_was() {
    let folder = Folder::new();
    let args = tiny(&["--arms", "none,nice", "-o", "run.plimsoll"]);
    let record = folder.path("run.plimsoll");
    let mut child = spawn(&folder, &args);
    wait("two trials", || trials_in(&record) >= 2);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 0)), "{code:?}");
    if code == Some(130) {
        run(
            &folder,
            &["yield", "--resume", "run.plimsoll", "--passes", "3"],
        )
        .says(2, &["--resume"]);
        let resumed = run(&folder, &["yield", "--resume", "run.plimsoll"]);
        assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    }
    // The reference, and one pass of the five arms.
    assert_eq!(trials_in(&record), 6);
}

#[test]
fn a_command_is_timed_to_its_end() {
    let folder = Folder::new();
    let args = tiny(&["--arms", "nice", "--job", "sleep 0.2", "-o", "run.plimsoll"]);
    let ended = run(&folder, &args);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let jobs = jobs(&folder.path("run.plimsoll"));
    assert!(jobs["nice"].done >= Some(1), "{jobs:?}");
    assert!(jobs["job-alone"].done >= Some(1), "{jobs:?}");
}

#[test]
fn a_server_is_measured_beside_a_job() {
    let folder = Folder::new();
    let server = KnownServer::start(Behaviour::Answer {
        after: Duration::ZERO,
    })
    .unwrap();
    let url = format!("http://{}/", server.addr());
    let ended = run(
        &folder,
        &[
            "yield",
            &url,
            "--quick",
            "--passes",
            "1",
            "-z",
            "150ms",
            "--rate",
            "100",
            "--arms",
            "nice",
            "--max-steal",
            "100%",
            "--max-other",
            "100%",
            "--max-slip",
            "10s",
            "--format",
            "json",
        ],
    );
    let findings = &ended.json()["findings"];
    assert_eq!(findings["rate_rps"], 100.0);
    assert_eq!(findings["rated"], Value::Null);
    let nice = &findings["arms"][2];
    assert_eq!(nice["arm"], "nice");
    assert!(nice["latency_us"]["p50"].as_f64().unwrap() > 0.0, "{nice}");
    assert_eq!(
        nice["total_work_share"],
        Value::Null,
        "nobody knows its capacity"
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 26] = [
        (&["--load", "0"], "above 0 and below 100"),
        (&["--load", "200"], "above 0 and below 100"),
        (&["--load", "100%"], "above 0 and below 100"),
        (&["--load", "abc"], "above 0 and below 100"),
        (&["--budget", "nonsense"], "p99+5%"),
        (&["--budget", "p99+0%"], "p99+5%"),
        (&["--budget", "p90+5%"], "p99.9"),
        (&["--headroom", "99%"], "below 95%"),
        (&["--headroom", "much"], "such as 20%"),
        (&["--arms", "magic"], "quota-10ms"),
        (&["--arms", "job-alone"], "in any case"),
        (&["--curve", "--arms", "nice"], "nice leaves none"),
        (&["--curve", "--headrooms", "20"], "two headrooms at least"),
        (&["--curve", "--headrooms", "0,99"], "below 95%"),
        (&["--curve", "--headroom", "20%"], "cannot be used with"),
        (&["--headrooms", "0,20"], "--curve"),
        (&["--rate=-1"], "requests per second"),
        (&["--rate", "10", "--load", "50"], "cannot be used with"),
        (&["--step=90%,20%"], "the lower one first"),
        (&["--step=20%"], "--step=20%,90%"),
        (&["--step", "--load", "50"], "cannot be used with"),
        (&["--step", "--curve"], "cannot be used with"),
        (&["--passes", "0"], "--passes"),
        (
            &["--job", "surely-no-such-program -x"],
            "is no command here",
        ),
        (&["--job", "echo 'a"], "cannot be read by the shell"),
        (&["--job", " "], "empty command"),
    ];
    for (more, sentence) in cases {
        let mut args = vec!["yield", "--quick"];
        args.extend_from_slice(more);
        run(&folder, &args).says(2, &[sentence]);
    }
    let missing = ["yield", "--resume", "nowhere.plimsoll"];
    run(&folder, &missing).says(2, &["nowhere.plimsoll"]);
    assert!(!folder.path("plimsoll-runs").exists(), "no record was made");
}

#[test]
fn a_job_that_ends_at_once_or_fails_is_told_apart() {
    let folder = Folder::new();
    for (job, sentence) in [("true", "too short to tell"), ("exit 3", "exit status: 3")] {
        let args = tiny(&["--arms", "nice", "--job", job]);
        run(&folder, &args).says(2, &[job, sentence]);
    }
}

#[test]
fn the_time_that_a_command_may_take_is_kept() {
    let folder = Folder::new();
    let args = tiny(&[
        "--arms",
        "nice",
        "--job",
        "sleep 1000",
        "--job-timeout",
        "300ms",
    ]);
    run(&folder, &args).says(1, &["did not end within 300ms", "--job-timeout"]);
}

#[test]
fn a_service_elsewhere_and_flags_of_a_sweep_are_refused() {
    let folder = Folder::new();
    let server = KnownServer::start(Behaviour::Answer {
        after: Duration::ZERO,
    })
    .unwrap();
    let url = format!("http://{}/", server.addr());
    let node = "http://127.0.0.1:1/metrics";
    run(&folder, &["yield", &url, "--restart", "true"]).says(2, &["--restart is for a sweep"]);
    run(&folder, &["yield", &url, "--node-metrics", node]).says(2, &["--node-metrics"]);
}

#[test]
fn who_may_not_use_cgroups_is_told_which_arms_are_left_out_and_why() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can become somebody with fewer rights");
        return;
    }
    let folder = Folder::new();
    let nobody = 65_534;
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(folder.0.path(), Some(nobody), Some(nobody)).unwrap();
    let program = folder.path("plimsoll");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).unwrap();
    let runtime = folder.path("runtime");
    fs::create_dir(&runtime).unwrap();
    chown(&runtime, Some(nobody), Some(nobody)).unwrap();
    let mut command = Command::new(program);
    command
        .args(tiny(&["--format", "json"]))
        .current_dir(folder.0.path())
        .env("XDG_RUNTIME_DIR", &runtime)
        .uid(nobody)
        .gid(nobody);
    let ended = ended(command);
    let findings = &ended.json()["findings"];
    let (tried, missing) = (names(&findings["arms"]), names(&findings["missing_arms"]));
    assert!(
        tried.contains("none") && tried.contains("nice"),
        "{tried:?}"
    );
    for arm in ["weight", "cpu-idle", "quota-10ms", "quota-100ms"] {
        assert!(missing.contains(arm), "{missing:?}");
    }
    ended.says(0, &["weight is left out: this user may not make a cgroup"]);
}
