//! Libraries are loaded and proved as the schedulers of the program are.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use plimsoll_graph::{JobGraph, Release};
use plimsoll_plugin::{LoadError, Plugin};
use plimsoll_schedulers::{ExecuteError, Executed, JobRun, execute_within};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// On a machine that does something else, too.
const LONG: Duration = Duration::from_secs(120);

/// A library among the examples, which cargo builds before the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().join("examples");
    folder.join(format!("lib{name}.so"))
}

fn cpus() -> Vec<u32> {
    plimsoll_pool::allowed_cpus().unwrap().iter().collect()
}

fn execute(path: &Path, jobs: &Arc<JobRun>, patience: Duration) -> Result<Executed, ExecuteError> {
    let scheduler = Plugin::load(path).unwrap().start(&cpus()).unwrap();
    execute_within(patience, scheduler, jobs, &AtomicBool::new(false))
}

fn jobs(count: usize, edges: &[(u32, u32)], releases: Option<Vec<Release>>) -> Arc<JobRun> {
    let graph = Arc::new(JobGraph::new(&vec![1; count], edges).unwrap());
    Arc::new(JobRun::new(graph, Box::new(|_, _| {}), releases, true))
}

/// Layers of 10 nodes, each of which needs three of the layer above.
fn layers(count: u32) -> Vec<(u32, u32)> {
    let needs = |node: u32| {
        let above = (node / 10 - 1) * 10;
        [0, 3, 7].map(|step| (above + (node + step) % 10, node))
    };
    (10..count).flat_map(needs).collect()
}

/// What every scheduler in a library must do.
fn assert_is_right(path: &Path) {
    for (count, edges) in [(1, vec![]), (1000, vec![]), (300, layers(300))] {
        let jobs = jobs(count, &edges, None);
        let ran = execute(path, &jobs, LONG).unwrap();
        assert_eq!(ran.proof.nodes_checked, count as u64);
        // The same scheduler once more.
        let again = Arc::new(jobs.again());
        let ran = execute_within(LONG, ran.scheduler, &again, &AtomicBool::new(false));
        assert_eq!(ran.unwrap().proof.violated, 0);
        assert!(again.times().iter().all(|time| time.worker < cpus().len()));
    }
}

/// What one with timers must do, too.
fn assert_keeps_starts(path: &Path) {
    let start = |node: u32| Release {
        start_ns: 500_000 * u64::from(node / 10),
        deadline_ns: node.is_multiple_of(2).then_some(1_000_000),
    };
    let timed = jobs(50, &layers(50), Some((0..50).map(start).collect()));
    execute(path, &timed, LONG).unwrap();
    for time in timed.times() {
        assert!(time.start_ns >= start(time.job).start_ns, "{time:?}");
    }
}

#[test]
fn the_example_in_rust_is_right() {
    assert_is_right(&example("my_scheduler"));
    assert_keeps_starts(&example("my_scheduler"));
}

#[test]
fn the_example_is_short() {
    let text = include_str!("../examples/my_scheduler.rs");
    assert!(text.lines().count() <= 60);
}

/// What `execute` says of the broken scheduler that this number of jobs chooses.
fn of_broken(count: usize) -> String {
    let chain: Vec<(u32, u32)> = (1..count as u32).map(|node| (node - 1, node)).collect();
    let patience = if count > 8 {
        Duration::from_millis(20)
    } else {
        LONG
    };
    let found = execute(
        &example("broken_schedulers"),
        &jobs(count, &chain, None),
        patience,
    );
    found.unwrap_err().to_string()
}

#[test]
fn what_breaks_the_contract_is_named_through_the_abi() {
    let contract = "it broke its contract: ";
    let found = of_broken(2);
    assert_eq!(found, format!("{contract}job 1 did not run"));
    let found = of_broken(3);
    assert_eq!(
        found,
        format!("{contract}job 0 ran twice (and 2 more violations)")
    );
    let found = of_broken(4);
    let early = "job 1 started before a predecessor had ended (and 2 more violations)";
    assert_eq!(found, format!("{contract}{early}"));
    let found = of_broken(5);
    assert_eq!(
        found,
        format!("{contract}it ran job 5, which does not exist")
    );
    let found = of_broken(6);
    assert!(
        found.starts_with("it ran job 0 as worker 99, but there are"),
        "{found}"
    );
    assert_eq!(of_broken(7), "out of \"patience\"");
    let found = of_broken(8);
    assert!(found.starts_with("it panicked: "), "{found}");
    let found = of_broken(9);
    assert!(
        found.starts_with("0 of 9 jobs ended, then nothing happened"),
        "{found}"
    );
}

#[test]
fn a_job_that_panics_is_an_error_and_no_abort() {
    let graph = Arc::new(JobGraph::new(&[1, 2], &[]).unwrap());
    let work = |weight, _| assert!(weight != 2, "out of paper");
    let jobs = Arc::new(JobRun::new(graph, Box::new(work), None, false));
    let found = execute(&example("my_scheduler"), &jobs, LONG).unwrap_err();
    assert_eq!(found.to_string(), "job 1 panicked: out of paper");
}

#[test]
fn what_is_no_scheduler_is_refused_with_a_sentence() {
    let refused = |path: &Path| Plugin::load(path).unwrap_err().to_string();
    let missing = refused(Path::new("/nowhere/libmine.so"));
    assert!(
        missing.starts_with("cannot open /nowhere/libmine.so: No such file"),
        "{missing}"
    );
    let text = refused(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    assert!(
        text.contains("is no shared library for this machine"),
        "{text}"
    );
    let other = refused(&example("other_library"));
    assert!(
        other.contains("exports no function plimsoll_scheduler"),
        "{other}"
    );
    let newer = refused(&example("newer_abi"));
    assert!(
        newer.contains("is built for version 2 of the scheduler ABI"),
        "{newer}"
    );
    let started = Plugin::load(&example("broken_schedulers"))
        .unwrap()
        .start(&[]);
    let Err(LoadError::Start { why, .. }) = started else {
        panic!("started without a CPU");
    };
    assert_eq!(why, "it needs a CPU");
}

fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success())
}

/// Runs a compiler, which must not say anything.
fn compile(compiler: &str, arguments: &[&str]) -> bool {
    let out = Command::new(compiler).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{said}");
    true
}

#[test]
fn the_header_is_c99_and_cpp() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include/plimsoll_scheduler.h");
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
    let with = |language: &[&'static str]| -> Vec<&'static str> {
        [language, &strict, &[header]].concat()
    };
    let c = has("gcc") && compile("gcc", &with(&["-std=c99", "-x", "c"]));
    let cpp = has("g++") && compile("g++", &with(&["-std=c++11", "-x", "c++"]));
    if !(c && cpp) {
        eprintln!("skipped in part: gcc {c}, g++ {cpp}");
    }
}

/// Builds the library in this folder of the examples.
fn make(folder: &str, library: &Path, arguments: &[String]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(folder);
    let target = format!("OUT={}", library.display());
    let mut make = Command::new("make");
    let made = make
        .arg("-C")
        .arg(folder)
        .arg(target)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && said.is_empty(), "{said}");
}

#[test]
fn onetbb_behind_the_abi_is_right() {
    if !has("g++") || !has("make") || !Path::new("/usr/include/oneapi/tbb.h").exists() {
        eprintln!("skipped: needs make, g++ and libtbb-dev");
        return;
    }
    let built = tempfile::tempdir().unwrap();
    let library = built.path().join("libonetbb.so");
    make("onetbb", &library, &[]);
    assert_is_right(&library);
    assert_keeps_starts(&library);
}

#[test]
fn taskflow_behind_the_abi_is_right() {
    let Ok(headers) = std::env::var("TASKFLOW") else {
        eprintln!("skipped: set TASKFLOW to the folder that holds taskflow/taskflow.hpp");
        return;
    };
    let built = tempfile::tempdir().unwrap();
    let library = built.path().join("libtaskflow.so");
    make("taskflow", &library, &[format!("TASKFLOW={headers}")]);
    assert_is_right(&library);
    let later = Release {
        start_ns: 1,
        deadline_ns: None,
    };
    let refused = execute(&library, &jobs(1, &[], Some(vec![later])), LONG).unwrap_err();
    assert!(
        refused.to_string().starts_with("Taskflow has no timers"),
        "{refused}"
    );
}
