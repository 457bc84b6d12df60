//! `plimsoll rig` with schedulers that end, fault or hang: each is named and left out,
//! and nothing of it is left.

use crate::common::{Ended, Folder, LOUD, send, wait};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The library of broken schedulers. Those of the variable `BROKEN_SCHEDULER` break as it
/// says, and else keep the contract.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_plimsoll"));
        let target = program.ancestors().nth(2).unwrap();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            // All of the workspace, so that dependencies are those that are built already.
            .args(["build", "--locked", "--workspace"])
            .args(["--example", "broken_schedulers", "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{said}");
        target.join("debug/examples/libbroken_schedulers.so")
    })
}

fn broken(folder: &Folder, how: &str, line: &str) -> Command {
    let loud = LOUD.join(" ");
    let short = "--grain 20us --passes 1 -z 100ms --seed 1 -o run.plimsoll";
    let mut command = folder.command(format!("rig peak {short} {loud} {line}"));
    command.env("BROKEN_SCHEDULER", how);
    command
}

/// What is said of a scheduler that breaks so, beside one that keeps the contract.
#[track_caller]
fn assert_named(how: &str, why: &str) {
    let folder = Folder::new();
    let library = library().display();
    let line = format!("--scheduler {library},central-queue --format json");
    let ended = Ended::of(broken(&folder, how, &line));
    ended.says(1, &["broke the contract of schedulers"]);
    let found: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let failed = &found["findings"]["failed"];
    assert_eq!(failed.as_array().map(Vec::len), Some(1), "{how}: {failed}");
    assert_eq!(failed[0]["scheduler"], library.to_string(), "{how}");
    let said = failed[0]["why"].as_str().unwrap();
    assert!(said.ends_with(why), "{how}: {said}");
    let peaks = found["findings"]["peak"].as_array().unwrap();
    let of = |name: &str| peaks.iter().find(|row| row["scheduler"] == name);
    let concurrency = &of("central-queue").unwrap()["average_concurrency"]["value"];
    assert!(concurrency.as_f64() > Some(0.0), "{how}: the other goes on");
}

#[test]
fn a_scheduler_that_ends_its_process_is_left_out() {
    assert_named(
        "exit-0-in-start",
        "it ended its process with exit code 0 while it started",
    );
    assert_named(
        "exit-0-in-run",
        "it ended its process with exit code 0 while it was measured",
    );
    assert_named(
        "exit-3-in-stop",
        "it ended its process with exit code 3 while it stopped",
    );
}

#[test]
fn a_scheduler_that_aborts_or_faults_is_left_out() {
    assert_named("abort-in-run", "it aborted (SIGABRT) while it was measured");
    assert_named(
        "fault-in-run",
        "it accessed memory that is not its own (SIGSEGV) while it was measured",
    );
    assert_named(
        "fault-in-stop",
        "it accessed memory that is not its own (SIGSEGV) while it stopped",
    );
}

#[test]
fn a_scheduler_that_hangs_is_left_out() {
    // All at once: they only wait.
    std::thread::scope(|scope| {
        for (how, why) in [
            ("hang-in-start", "its start did not return within 10 s"),
            ("hang-in-stop", "its stop did not return within 10 s"),
            (
                "hang-in-run",
                "jobs ended, then nothing happened for 10 s: a deadlock, or a job that does not end",
            ),
        ] {
            scope.spawn(move || assert_named(how, why));
        }
    });
}

#[test]
fn without_another_scheduler_the_run_fails() {
    let folder = Folder::new();
    let line = format!("--scheduler {}", library().display());
    let ended = Ended::of(broken(&folder, "exit-0-in-run", &line));
    ended.says(
        1,
        &["failed, and no scheduler is left: it ended its process with exit code 0"],
    );
}

#[test]
fn a_library_that_changed_is_not_resumed() {
    let folder = Folder::new();
    fs::copy(library(), folder.path("libown.so")).unwrap();
    let first = broken(&folder, "exit-3-in-run", "--scheduler ./libown.so");
    Ended::of(first).says(1, &["exit code 3"]);
    let resume = "rig --resume run.plimsoll";
    folder.run(resume).says(1, &["exit code 3"]);
    let mut bytes = fs::read(folder.path("libown.so")).unwrap();
    bytes.push(0);
    // Anew: the loader may have the old one.
    fs::remove_file(folder.path("libown.so")).unwrap();
    folder.write("libown.so", bytes);
    folder.run(resume).says(
        2,
        &["./libown.so has changed since the run was begun", "new run"],
    );
}

#[test]
fn what_is_no_plug_in_is_refused_before_the_run() {
    let folder = Folder::new();
    folder.write("libtext.so", "text");
    let missing = folder.run("rig peak --scheduler ./libmissing.so -o run.plimsoll");
    missing.says(2, &["--scheduler: cannot open ./libmissing.so: No such"]);
    let text = folder.run("rig peak --scheduler ./libtext.so -o run.plimsoll");
    text.says(2, &["--scheduler: ", "is no shared library for this"]);
    assert!(!folder.path("run.plimsoll").exists());
}

#[test]
fn a_scheduler_process_is_for_the_rig_alone() {
    let asked = Folder::new().run("--serve-scheduler");
    asked.says(2, &["only Plimsoll itself starts this"]);
}

/// How many processes of schedulers the rig with this id has.
fn processes_of(rig: u32) -> usize {
    let line = format!("/proc/{rig}/exe\0--serve-scheduler\0");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|found| *found == line.as_bytes()).count()
}

#[test]
fn nothing_is_left_however_the_rig_ends() {
    for (signal, code) in [
        (Signal::INT, Some(130)),
        (Signal::HUP, Some(130)),
        (Signal::KILL, None),
    ] {
        let folder = Folder::new();
        let loud = LOUD.join(" ");
        let line = format!("rig steady --scheduler central-queue -z 60s --no-html {loud}");
        let mut rig = folder.spawn(line);
        wait("a process of the scheduler", || processes_of(rig.id()) == 1);
        send(&rig, &[signal]);
        assert_eq!(rig.wait().unwrap().code(), code, "{signal:?}");
        wait("its end", || processes_of(rig.id()) == 0);
    }
}

/// What a library prints is no part of the findings.
#[test]
fn output_of_a_run_is_the_findings_alone() {
    let folder = Folder::new();
    let line = format!("--scheduler {} --format json", library().display());
    let found = Ended::of(broken(&folder, "print-in-run", &line)).json();
    assert_eq!(found["findings"]["proof"]["violations"], 0);
}

#[test]
fn a_graph_that_does_not_fit_says_what_it_needs() {
    let folder = Folder::new();
    // 4 GiB while it is built is allowed; nobody has the memory for a run of it.
    let line = "rig break --grain 1us --graph isolated:nodes=200000000 -o run.plimsoll";
    let refused = folder.run(line);
    refused.says(2, &["--graph isolated:nodes=200000000: a trial of 200000000 jobs needs about 65.2 GiB of memory"]);
    assert!(!folder.path("run.plimsoll").exists());
}
