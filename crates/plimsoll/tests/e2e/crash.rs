//! Runs that end before they are done.

use crate::common::{Folder, LOUD, has, send, short, trials_in, wait};
use crate::is_root;
use crate::nginx::Nginx;
use rustix::process::Signal;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Visits of `SWEEP`: two levels, four trials each, and the idle baseline.
pub(crate) const TRIALS: i64 = 9;
const SWEEP: &str = "sweep --quick --duration 200ms --seed 1 --levels 20,40 --trials 4 \
                     --rated 1000 --cpus 1 -o run.plimsoll";

pub(crate) fn sweep(folder: &Folder, url: &str) -> Child {
    folder.spawn(format!("{SWEEP} {} {url}", LOUD.join(" ")))
}

/// Waits until the record holds so many trials.
pub(crate) fn wait_for(record: &Path, trials: i64) {
    wait("trials", || trials_in(record) >= trials);
}

#[test]
fn what_was_measured_before_kill_9_is_kept_and_a_resumed_run_completes() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let record = folder.path("run.plimsoll");
    let mut child = sweep(&folder, &nginx.url());
    // Killed again and again, each time a little later into a trial.
    for (kills, wait_ms) in [(1, 0), (2, 150), (3, 400), (4, 700)] {
        wait_for(&record, kills);
        std::thread::sleep(Duration::from_millis(wait_ms));
        let before = trials_in(&record);
        send(&child, &[Signal::KILL]);
        child.wait().unwrap();
        assert!(trials_in(&record) >= before);
        folder.run("report run.plimsoll").says(0, &[]);
        child = folder.spawn("sweep --resume run.plimsoll");
    }
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{stderr}");
    assert!(trials_in(&record) >= TRIALS);
    let json = folder.run("report run.plimsoll --format json").json();
    assert_eq!(json["record"]["ended"], "complete");
}

#[test]
fn control_c_ends_with_the_findings_so_far() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let record = folder.path("run.plimsoll");
    let child = sweep(&folder, &nginx.url());
    // Up to four of them may be the idle baseline.
    wait_for(&record, 6);
    send(&child, &[Signal::INT]);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert!(stdout.contains("offered"), "the table so far: {stdout}");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let hints = [stdout, stderr].map(|text| text.matches("--resume").count());
    assert_eq!(hints, [1, 1], "how to resume is said once in each");
    let resumed = folder.run("sweep --resume run.plimsoll");
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert!(trials_in(&record) >= TRIALS);
}

#[test]
fn a_server_that_dies_ends_the_run_and_loses_nothing() {
    let mut nginx = Nginx::start();
    let folder = Folder::new();
    let record = folder.path("run.plimsoll");
    let child = sweep(&folder, &nginx.url());
    // Up to four of them may be the idle baseline, after which there would be
    // nothing to go on with.
    wait_for(&record, 6);
    nginx.kill();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    has(&stderr, &["nothing listens", "--resume"]);
    assert!(trials_in(&record) >= 6);
}

#[test]
fn a_run_is_not_resumed_twice_at_once_or_with_another_plan() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let resume = |more: &str| folder.run(format!("sweep --resume run.plimsoll {more}"));
    let mut child = sweep(&folder, &nginx.url());
    wait_for(&folder.path("run.plimsoll"), 1);
    resume("").says(2, &["run.plimsoll", "another"]);
    folder.run("report run.plimsoll").says(0, &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    resume("--levels 10,90").says(2, &["levels"]);
    resume("http://127.0.0.1:1/").says(2, &["http://127.0.0.1:1/"]);
}

/// A file system of a few pages; unmounted in the end.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: std::path::PathBuf, bytes: u32) -> SmallDisk {
        std::fs::create_dir(&at).unwrap();
        let options = format!("size={bytes}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&at)
            .status()
            .unwrap();
        assert!(mounted.success());
        SmallDisk(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_recorded() {
    if !is_root("a sweep on a full disk") {
        return;
    }
    let folder = Folder::new();
    let disk = SmallDisk::mount(folder.path("small"), 128 * 1024);
    let record = disk.0.join("run.plimsoll");
    let args = short("--levels 10,20,30 --rated 500 -o small/run.plimsoll");
    let args = args.replace("--trials 1", "--trials 50");
    folder.run(args).says(1, &["small/run.plimsoll", "space"]);
    let kept = trials_in(&record);
    assert!(kept >= 1, "{kept}");
    folder.run("report small/run.plimsoll").says(0, &[]);
    drop(disk);
}
