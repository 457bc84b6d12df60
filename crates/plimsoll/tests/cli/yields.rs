//! `plimsoll yield` for real, in trials so short that their figures mean
//! nothing: what is asserted is what noise cannot change.

mod interrupted;
#[path = "yields/jobs.rs"]
mod jobs_as_commands;
mod laws;
mod refused;
mod step;

use crate::common::{Arguments, Folder, LOUD, has, unignoring, wait};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// The shortest run that there is, however busy the machine.
fn tiny(more: &str) -> String {
    lasting("150ms", more)
}

/// The same with trials of this length.
fn lasting(duration: &str, more: &str) -> String {
    let loud = LOUD.join(" ");
    format!("yield --quick --passes 1 -z {duration} --rated 500 --seed 1 {loud} {more}")
}

fn spawn(folder: &Folder, args: impl Arguments) -> Child {
    let mut command = unignoring("INT,TERM", &folder.command(args));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// A run to its end, watched by its process number meanwhile: what it printed as
/// JSON. Nothing of it remains.
fn watched(folder: &Folder, args: impl Arguments, mut watch: impl FnMut(u32)) -> Value {
    let printed = folder.path("printed.json");
    let mut child = folder
        .command(args)
        .stdout(fs::File::create(&printed).unwrap())
        .spawn()
        .unwrap();
    let mut status = None;
    wait("the run to end", || {
        watch(child.id());
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success());
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
    assert_eq!((burners_of(child.id()), folder.journals()), (0, 0));
    serde_json::from_str(&fs::read_to_string(printed).unwrap()).unwrap()
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
    let sql = "SELECT setting_json ->> '$.beside.arm', outcome_json ->> '$.job.done',
               (outcome_json ->> '$.job.cpu_ns') * 1.0 / (outcome_json ->> '$.job.over_ns'),
               setting_json ->> '$.beside.allowed_share' FROM trial WHERE phase = 'level'";
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
    let args = tiny("-o run.plimsoll --format json");
    let output = watched(&folder, args, |_| {});
    let findings = &output["findings"];
    let mut all = names(&findings["arms"]);
    all.extend(names(&findings["missing_arms"]));
    let every = "service-alone job-alone none nice sched-idle weight cpu-idle quota-10ms \
                 quota-100ms cpuset";
    let every: BTreeSet<String> = every.split(' ').map(str::to_owned).collect();
    assert_eq!(all, every);
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

#[test]
fn a_record_of_yield_is_reported_and_refused_by_sweep_commands() {
    let folder = Folder::new();
    let args = tiny("--arms nice -o run.plimsoll --format json");
    let output = folder.run(args).json();
    let findings = &output["findings"];
    let again = folder.run("report run.plimsoll --format json");
    assert_eq!(again.json()["findings"], *findings);
    has(&folder.run("report run.plimsoll").text(), &["inconclusive"]);
    for (wrong, words) in [
        ("report run.plimsoll --goal p99<5ms", "--goal"),
        ("compare run.plimsoll run.plimsoll", "no capacity"),
        ("sweep --resume run.plimsoll", "plimsoll yield --resume"),
        ("yield --resume run.plimsoll", "is complete"),
    ] {
        folder.run(wrong).says(2, &[words]);
    }
}

#[test]
fn a_run_leaves_its_page_and_a_report_is_written_as_its_file_is_named() {
    let folder = Folder::new();
    // Its trials have too few requests for a p99.
    let ended = folder.run(tiny("--arms nice --budget p50+50% -o run.plimsoll"));
    ended.says(0, &["Charts: run.html"]);
    let page = folder.read("run.html");
    // None of one pass has an interval, and a mark needs none.
    has(
        &page,
        &[
            "data-chart=\"paid\"",
            "data-chart=\"latency\"",
            "data-chart=\"total\"",
            "data-chart=\"time\"",
            ">service-again</text>",
            "plimsoll yield",
        ],
    );
    for (file, begins) in [
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
        ("a.csv", "arm,headroom_pct,allowed_share,work_gained_share,"),
        ("a.txt", "hash service"),
    ] {
        folder
            .run(["report", "run.plimsoll", "-o", file])
            .says(0, &[]);
        let text = folder.read(file);
        assert!(text.starts_with(begins), "{file}: {}", &text[..60]);
    }
    assert_eq!(folder.read("a.html"), page);
    let csv = folder.run("report run.plimsoll --format csv");
    assert_eq!(
        csv.stdout.lines().count(),
        4,
        "a head and three arms: {csv:#?}"
    );
    let args = tiny("--arms nice -o bare.plimsoll --no-html");
    folder.run(args).says(0, &[]);
    assert!(!folder.path("bare.html").exists());
}
