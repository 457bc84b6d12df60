//! This machine: its own files, real spinners, and what `kill -9` leaves. A test that lacks
//! permission prints why it is skipped, and passes.

use crate::idle::{IdleControl, IdleMeans, Standing, choose_means};
use crate::{Journals, Running};
use plimsoll_host::idle::{DmaLatency, ResumeLatency, dma_latency, resume_latency};
use plimsoll_host::{Root, own_allowed_cpus};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const DIR: &str = "PLIMSOLL_TEST_AWAKE_DIR";

/// One test at a time has the limit of the CPU.
static ALONE: Mutex<()> = Mutex::new(());

/// The last CPU that this process may run on.
fn cpu() -> u32 {
    let allowed = own_allowed_cpus(&Root::machine()).unwrap();
    allowed.iter().last().unwrap()
}

fn works(means: IdleMeans, limit: ResumeLatency) -> bool {
    let cpus = [cpu()].into_iter().collect();
    let all = choose_means(&Root::machine(), &cpus, limit).unwrap();
    let here = all.into_iter().find(|one| one.means == means).unwrap();
    if let Some(why) = &here.why_not {
        eprintln!("skipped: {means}: {why}");
    }
    here.works()
}

fn limit() -> Option<ResumeLatency> {
    resume_latency(&Root::machine(), cpu()).unwrap()
}

#[test]
fn this_machines_limit_is_set_and_given_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !works(IdleMeans::ResumeLatency, ResumeLatency::PollOnly) {
        return;
    }
    let root = Root::machine();
    let dir = tempfile::tempdir().unwrap();
    let journal = Journals::at(dir.path().join("plimsoll"))
        .open(&root)
        .unwrap();
    let before = limit();
    let control = IdleControl::new(&root, &journal, IdleMeans::ResumeLatency);
    let mut awake = control.keep_awake(cpu(), ResumeLatency::PollOnly).unwrap();
    assert_eq!(limit(), Some(ResumeLatency::PollOnly));
    let standing = awake.check().unwrap();
    drop(awake);
    assert_eq!(limit(), before);
    if before != Some(ResumeLatency::PollOnly) {
        assert_eq!(standing, Standing::Kept);
    }
}

#[test]
fn this_machines_limit_on_all_cpus_lasts_as_long_as_it_is_held() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !works(IdleMeans::DmaLatency, ResumeLatency::PollOnly) {
        return;
    }
    let root = Root::machine();
    let dir = tempfile::tempdir().unwrap();
    let journal = Journals::at(dir.path().join("plimsoll"))
        .open(&root)
        .unwrap();
    let before = dma_latency(&root).unwrap();
    let control = IdleControl::new(&root, &journal, IdleMeans::DmaLatency);
    let awake = control.keep_awake(cpu(), ResumeLatency::PollOnly).unwrap();
    let held = dma_latency(&root).unwrap();
    assert_eq!(held, Some(DmaLatency::AtMost(Duration::ZERO)));
    drop(awake);
    assert_eq!(dma_latency(&root).unwrap(), before);
}

/// Not a test: the process that the test below starts and kills.
#[test]
#[ignore = "started by the test below"]
fn owner() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let root = Root::machine();
    let journal = Journals::at(dir).open(&root).unwrap();
    let control = IdleControl::new(&root, &journal, IdleMeans::ResumeLatency);
    let _awake = control.keep_awake(cpu(), ResumeLatency::PollOnly).unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    // Until it is killed, or its parent is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn the_limit_of_a_killed_process_is_given_back_by_the_repair() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = limit();
    if !works(IdleMeans::ResumeLatency, ResumeLatency::PollOnly)
        || before == Some(ResumeLatency::PollOnly)
    {
        return;
    }
    let root = Root::machine();
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("plimsoll"));
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "idle::tests::machine::owner",
            "--ignored",
            "--nocapture",
        ])
        .env(DIR, dir.path().join("plimsoll"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let is_ready = lines
        .map_while(Result::ok)
        .any(|line| line.ends_with("ready"));
    assert!(is_ready);
    assert_eq!(limit(), Some(ResumeLatency::PollOnly));
    let live = journals.repair(&root, Running::Leave).unwrap();
    assert_eq!(live, [], "its owner lives");
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(limit(), Some(ResumeLatency::PollOnly));
    let listed = journals.leftovers(&root).unwrap();
    assert!(listed[0].left[0].contains("is 'n/a'"), "{listed:?}");
    let repaired = journals.repair(&root, Running::Leave).unwrap();
    assert!(
        repaired[0].is_whole() && !repaired[0].done.is_empty(),
        "{repaired:?}"
    );
    assert_eq!(limit(), before);
}

#[test]
fn a_spinner_runs_on_its_cpu_until_it_is_dropped() {
    if !works(IdleMeans::Spinner, ResumeLatency::PollOnly) {
        return;
    }
    let root = Root::machine();
    let dir = tempfile::tempdir().unwrap();
    let journal = Journals::at(dir.path().join("plimsoll"))
        .open(&root)
        .unwrap();
    let control = IdleControl::new(&root, &journal, IdleMeans::Spinner);
    let mut awake = control.keep_awake(cpu(), ResumeLatency::PollOnly).unwrap();
    let name = format!("spin{}", cpu());
    wait("it to run", || {
        awake.spun() > Duration::ZERO || awake.check().unwrap() != Standing::Kept
    });
    let thread = thread_named(&name);
    if awake.check().unwrap() == Standing::Kept {
        let stat = std::fs::read_to_string(format!("{}/stat", thread.unwrap())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        // proc(5) counts from 1 and the first here is its third: 39 processor, 41 policy.
        let (processor, policy) = (fields[39 - 3], fields[41 - 3]);
        assert_eq!(
            (processor, policy),
            (cpu().to_string().as_str(), "5"),
            "SCHED_IDLE"
        );
    }
    drop(awake);
    wait("it to end", || thread_named(&name).is_none());
}

#[test]
fn a_spinner_needs_a_cpu_that_is_there() {
    let root = Root::machine();
    let dir = tempfile::tempdir().unwrap();
    let journal = Journals::at(dir.path().join("plimsoll"))
        .open(&root)
        .unwrap();
    let control = IdleControl::new(&root, &journal, IdleMeans::Spinner);
    // Above all that a mask has.
    for cpu in [1000, 5000] {
        let error = control
            .keep_awake(cpu, ResumeLatency::PollOnly)
            .unwrap_err();
        let expected = format!("no spinner can run on CPU {cpu}: Invalid argument");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

fn thread_named(name: &str) -> Option<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let mut paths = tasks.map(|task| task.path().display().to_string());
    paths.find(|task| {
        let comm = std::fs::read_to_string(format!("{task}/comm"));
        comm.is_ok_and(|comm| comm.trim() == name)
    })
}

pub(super) fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
