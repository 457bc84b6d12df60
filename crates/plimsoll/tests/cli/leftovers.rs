//! What a killed `plimsoll side` leaves: nothing ends it unasked, `doctor` lists it, and
//! `repair` lets it go on or ends it.

use crate::common::server::{self, Server};
use crate::common::side_folder::{Running, SideFolder, groups, is_root, lives};
use crate::common::{Ended, has, unwrapped, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const WORK: &str = "trap '' HUP TERM; while :; do echo; sleep 0.05; done >work";

/// A `side` that was killed, and the command that it has left.
struct Left {
    place: SideFolder,
    pid: String,
    groups: Vec<PathBuf>,
}

impl Left {
    fn by(place: SideFolder, mut running: Running, pid: String) -> Left {
        let groups = groups(&pid);
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        Left { place, pid, groups }
    }

    fn restricted() -> Left {
        let place = SideFolder::new();
        let running = place.running("-q", &format!("echo $$; {WORK}"));
        let pid = running.line.clone();
        Left::by(place, running, pid)
    }

    /// A busy machine freezes it before its first line, which would then be written
    /// into a closed pipe: it writes none.
    fn frozen() -> Left {
        let place = SideFolder::new();
        let server = Server::start(server::SEVEN);
        let guard = format!("prometheus {} up<1", server.url());
        let mut command = place.command(["-q", "--period", "100ms", "--log", "log"]);
        command.args(["--guard", &guard, "--", "sh", "-c", WORK]);
        let running = place.started(command);
        let pid = running.command();
        place.wait_for_log("log", "\"action\":\"frozen\"");
        Left::by(place, running, pid)
    }

    fn doctor(&self) -> String {
        unwrapped(&self.place.folder.run("doctor").stdout)
    }

    /// Other runs of these tests may leave groups at the same time.
    fn is_over(&self) {
        let groups = &self.groups;
        assert!(groups.iter().all(|folder| !folder.exists()), "{groups:?}");
        assert_eq!(self.place.journals(), 0);
        let named = format!("process {} ", self.pid);
        assert!(!self.doctor().contains(&named));
        assert!(!self.place.folder.run("repair").stdout.contains(&named));
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let pid = self.pid.parse().ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

#[test]
fn nothing_but_repair_ends_the_command_of_a_killed_run() {
    let left = Left::restricted();
    let named = format!("process {} (sh)", left.pid);
    let asks = [&*named, "restricted", "plimsoll repair --thaw"];
    left.place.side("-q -- true").says(0, &asks);
    has(&left.doctor(), &[&named, "plimsoll repair"]);
    let listed = left.place.folder.run("repair");
    assert_eq!(listed.code, Some(1), "{listed:?}");
    has(&listed.stdout, &[&named, "--thaw", "--kill ends it"]);
    assert!(lives(&left.pid));
    let ended = left.place.folder.run("repair --kill");
    has(&ended.stdout, &["killed"]);
    wait("the command to be gone", || !lives(&left.pid));
    left.is_over();
}

#[test]
fn a_frozen_command_of_a_killed_run_goes_on_when_it_is_thawed() {
    let left = Left::frozen();
    if left.groups.is_empty() {
        // The kernel has ended the stopped process group.
        eprintln!("skipped: no cgroup can be made here");
        return;
    }
    let work = || fs::metadata(left.place.folder.path("work")).map_or(0, |meta| meta.len());
    let done = work();
    left.place
        .side("-q -- true")
        .says(0, &["frozen", "plimsoll repair --thaw"]);
    has(&left.doctor(), &["frozen", "plimsoll repair"]);
    assert_eq!(work(), done);
    left.place.folder.run("repair --thaw");
    wait("the command to go on", || work() > done);
    left.is_over();
}

#[test]
fn a_frozen_command_is_found_when_its_journal_is_gone() {
    let left = Left::frozen();
    if left.groups.is_empty() {
        eprintln!("skipped: no cgroup can be made here");
        return;
    }
    fs::remove_dir_all(left.place.folder.path("state")).unwrap();
    let named = format!("process {} ", left.pid);
    has(&left.doctor(), &[&named, "frozen", "plimsoll repair"]);
    let listed = left.place.folder.run("repair");
    assert_eq!(listed.code, Some(1), "{listed:?}");
    has(
        &listed.stdout,
        &[&named, "frozen", "--thaw", "--kill ends it"],
    );
    assert!(lives(&left.pid));
    left.place.folder.run("repair --kill");
    wait("the command to be gone", || !lives(&left.pid));
    left.is_over();
}

#[test]
fn without_a_cgroup_the_processes_are_told_by_their_token() {
    let place = SideFolder::new();
    if !is_root() {
        return;
    }
    // The first process ends, and what it has started leaves its process group.
    let away = "setsid sh -c 'echo $$; exec sleep 1000' &";
    let script = format!("{away} trap '' HUP; while :; do sleep 0.05; done");
    let running = place.spawned(place.of_nobody(["--period", "10s", "--", "sh", "-c", &script]));
    let first = running.command();
    let pid = running.line.clone();
    let left = Left::by(place, running, pid.clone());
    let killed = Command::new("kill").args(["-9", &first]).status().unwrap();
    assert!(killed.success());
    wait("the first process to be gone", || !lives(&first));
    let repair = |flag: &str| {
        let mut repair = left.place.folder.of_nobody("repair");
        repair.args(flag.split_whitespace());
        Ended::of(repair)
    };
    let listed = repair("");
    assert_eq!(listed.code, Some(1), "{listed:?}");
    has(&listed.stdout, &[&format!("process {pid} (sleep)")]);
    repair("--kill").says(0, &[]);
    wait("the command to be gone", || !lives(&pid));
}

#[test]
fn a_folder_of_journals_that_others_can_open_is_refused() {
    let place = SideFolder::new();
    place.side("-q --as sysload -- true").says(0, &[]);
    let journals = place.folder.path("state/plimsoll/journals");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(journals, open).unwrap();
    for args in ["side -q -- touch ran", "repair"] {
        let refused = place.folder.run(args);
        refused.says(1, &["mode 755", "XDG_STATE_HOME"]);
    }
    assert!(!place.folder.path("ran").exists());
}
