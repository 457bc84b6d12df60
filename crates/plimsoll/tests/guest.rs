//! The guest itself, and what `plimsoll doctor` finds there: a machine with
//! cgroup v2 and PSI, which those that test Plimsoll often are not. And the faults that
//! change a machine as a whole: a step of its clock, a CPU that goes off.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::{Folder, short, wait};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::SystemTime;

/// A cgroup below the root, made by this test and gone in the end.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Group {
        let path = PathBuf::from(format!("/sys/fs/cgroup/{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Group(path)
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }

    /// What `plimsoll doctor` says in this group, one sentence a line.
    fn doctor(&self) -> Vec<String> {
        let ended = Command::new("sh")
            .args(["-c", "echo $$ >\"$0\"/cgroup.procs && exec \"$1\" doctor"])
            .arg(&self.0)
            .arg(env!("CARGO_BIN_EXE_plimsoll"))
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let text = String::from_utf8(ended.stdout).unwrap();
        // Continued lines are set in.
        let text = text.replace("\n        ", " ");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that cannot be removed is gone with the guest.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_guest_has_cgroup_v2_with_its_controllers() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = "cgroup2 /sys/fs/cgroup cgroup2 rw";
    assert!(mounts.lines().any(|l| l.starts_with(mount)), "{mounts}");
    for list in ["cgroup.controllers", "cgroup.subtree_control"] {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{list}")).unwrap();
        let controllers: Vec<&str> = text.split_whitespace().collect();
        for controller in ["cpu", "cpuset", "io", "memory", "pids"] {
            assert!(controllers.contains(&controller), "{list}: {text}");
        }
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn doctor_finds_psi_and_schedstat() {
    let said = Group::new("doctor").doctor();
    for line in [
        "ok      pressure stall information: /proc/pressure",
        "ok      scheduler statistics per thread: /proc/PID/schedstat, nanosecond resolution",
        "ok      all CPUs for Plimsoll: 2 CPUs",
        "ok      CPU time without a limit: no visible limit",
    ] {
        assert!(said.iter().any(|l| l == line), "{line}: {said:#?}");
    }
    assert!(said[0].starts_with("guest, QEMU "), "{said:#?}");
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn doctor_finds_the_limit_of_its_cgroup() {
    let group = Group::new("limited");
    group.set("cpu.max", "150000 100000");
    let said = group.doctor();
    let limit = "missing CPU time without a limit: with a limit of 1.50 of 2 CPUs,";
    assert!(said.iter().any(|l| l.starts_with(limit)), "{said:#?}");
}

/// A sweep of the hash service, some trials of which have ended.
struct Sweep {
    folder: Folder,
    child: Child,
}

impl Sweep {
    fn begun(flags: &str) -> Sweep {
        let folder = Folder::new();
        let line = short(&format!(
            "--plain --no-html -o run.plimsoll --rated 20 {flags}"
        ));
        let child = folder.spawn(line);
        let sweep = Sweep { folder, child };
        wait("trials", || sweep.trials().len() >= 2);
        sweep
    }

    /// What is stored of each trial.
    fn trials(&self) -> Vec<String> {
        let read = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
            let db = Connection::open_with_flags(self.folder.path("run.plimsoll"), flags)?;
            let mut rows = db.prepare("SELECT * FROM trial ORDER BY id")?;
            let columns = rows.column_count();
            let all = rows.query_map([], |row| {
                let cells = (0..columns).map(|i| row.get_ref(i).map(|cell| format!("{cell:?}")));
                cells.collect::<Result<String, _>>()
            })?;
            all.collect::<Result<Vec<String>, rusqlite::Error>>()
        };
        // While it is being made there is none.
        read().unwrap_or_default()
    }

    /// Waits for its end, resumes it if it was not complete, and finds the trials that had
    /// ended before as they were.
    fn loses_none_of(&mut self, before: &[String]) {
        let mut stderr = self.child.stderr.take().unwrap();
        let code = self.child.wait().unwrap().code();
        let said = std::io::read_to_string(&mut stderr).unwrap();
        assert!(matches!(code, Some(0 | 1)), "{code:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        if code == Some(1) {
            assert!(said.contains("resume with"), "{said}");
            self.folder
                .run("sweep --plain --resume run.plimsoll")
                .says(0, &[]);
        }
        let after = self.trials();
        assert_eq!(&after[..before.len()], before, "{said}");
        let json = self.folder.run("report run.plimsoll --format json").json();
        assert_eq!(json["record"]["ended"], "complete", "{said}");
        println!(
            "exit code {code:?}: {}",
            said.lines().last().unwrap_or_default()
        );
    }
}

/// Sets the wall clock off by so many seconds from what it is.
fn step_clock(seconds: i64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let then = now.unwrap().as_secs().saturating_add_signed(seconds);
    let set = Command::new("date")
        .args(["-s", &format!("@{then}")])
        .output();
    assert!(set.unwrap().status.success());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_step_of_the_wall_clock_loses_nothing() {
    for seconds in [86_400, -86_400] {
        let mut sweep = Sweep::begun("--levels 10,20,30,40");
        let before = sweep.trials();
        step_clock(seconds);
        sweep.loses_none_of(&before);
    }
}

/// CPU 1, on again when dropped.
struct Offline;

const CPU: &str = "/sys/devices/system/cpu/cpu1/online";

impl Offline {
    fn new() -> Offline {
        fs::write(CPU, "0").unwrap();
        Offline
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = fs::write(CPU, "1");
    }
}

/// The parts of the wake-ups that a run recorded, in nanoseconds: until the CPU had left its idle
/// state (none if it was in none), until the thread was runnable, until it ran.
fn recorded(record: &Path) -> Vec<(Option<u64>, u64, u64)> {
    let db = Connection::open_with_flags(record, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut trials = db.prepare("SELECT outcome_json FROM trial").unwrap();
    let outcomes = trials.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let of = |outcome: rusqlite::Result<String>| {
        let outcome: Value = serde_json::from_str(&outcome.unwrap()).unwrap();
        let recorded = &outcome["recorded"];
        assert!(recorded["absent"].is_null(), "{recorded}");
        let parts = recorded["wakeups"].as_array().unwrap().iter();
        let ns = |part: &Value, name: &str| part[name].as_u64();
        let of = |part: &Value| {
            let known = |name| ns(part, name).unwrap();
            (
                ns(part, "idle_exit_ns"),
                known("activation_ns"),
                known("run_queue_ns"),
            )
        };
        parts.map(of).collect::<Vec<_>>()
    };
    outcomes.flat_map(of).collect()
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn wake_ups_out_of_idle_states_are_recorded_in_their_parts() {
    let folder = Folder::new();
    let args = "wake --waits futex --gaps 10ms --policies as-is --passes 1 -z 1s -o w.plimsoll";
    folder.run(args);
    let parts = recorded(&folder.path("w.plimsoll"));
    let asleep = parts.iter().filter(|(exit, ..)| exit.is_some()).count();
    assert!(asleep > 30, "{asleep} of {}: {parts:?}", parts.len());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_cpu_of_the_service_that_goes_off_loses_nothing() {
    let mut sweep = Sweep::begun("--levels 10,20,30,40");
    let before = sweep.trials();
    let off = Offline::new();
    let seen = sweep.trials().len();
    wait("a trial on what is left, or the end", || {
        sweep.trials().len() > seen + 1 || sweep.child.try_wait().unwrap().is_some()
    });
    drop(off);
    sweep.loses_none_of(&before);
}
