//! `plimsoll gate --pool` and signals to `plimsoll gate -- CMD`: the real binary on this machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::side_folder::is_root;
use common::{Ended, Folder, has, send, unignoring, unwrapped, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Works on every machine and for every user: no driver and no file is needed.
const SPIN: &str = "--latency poll --means spinner";

/// Its own process group is not in the foreground of a terminal from which tests are run.
/// Root has one gate at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(command: &Command) -> Child {
    spawn_by(unignoring("INT,TERM,HUP,QUIT", command))
}

fn spawn_by(mut command: Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

#[test]
fn signals_to_the_gate_alone_reach_the_command() {
    let _alone = alone();
    let folder = Folder::new();
    let script = "trap 'exit 3' INT; trap 'exit 4' QUIT; : >ready; while :; do sleep 0.02; done";
    let mut args: Vec<String> = format!("gate {SPIN} -- sh -c")
        .split(' ')
        .map(str::to_owned)
        .collect();
    args.push(script.to_owned());
    for (signal, code) in [(Signal::INT, 3), (Signal::QUIT, 4)] {
        let mut gate = spawn(&folder.command(&args));
        wait("the command", || folder.path("ready").exists());
        send(&gate, &[signal]);
        let mut ended = None;
        wait("its end", || {
            ended = gate.try_wait().unwrap();
            ended.is_some()
        });
        assert_eq!(ended.unwrap().code(), Some(code), "{signal:?}");
        fs::remove_file(folder.path("ready")).unwrap();
    }
}

#[test]
fn a_second_gate_does_not_start_its_command() {
    let _alone = alone();
    let folder = Folder::new();
    let mut first = spawn(&folder.command(format!("gate {SPIN} --log log -- sleep 600")));
    wait("the first decision", || {
        fs::read_to_string(folder.path("log")).is_ok_and(|log| log.contains("awake_decision"))
    });
    let second = folder.run(format!("gate {SPIN} -- touch started"));
    send(&first, &[Signal::TERM]);
    first.wait().unwrap();
    second.says(2, &["runs plimsoll gate"]);
    assert!(!folder.path("started").exists());
}

/// A folder, and as root a user of its own: it reaches nothing else of the machine, and no
/// other test.
struct Place {
    folder: Folder,
    user: Option<u32>,
}

impl Place {
    /// `None` where there is no pool that is a part of the machine.
    fn with_pool() -> Option<Place> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let user = 55_000 + (std::process::id() * 4 + nth) % 5_000;
        let place = Place {
            folder: Folder::new(),
            user: is_root().then_some(user),
        };
        let tried = place.run(&format!("gate -q {SPIN} --pool 1 -- true"));
        (tried.code == Some(0) && cpus_of("self").contains(['-', ','])).then_some(place)
    }

    fn command(&self, args: &str) -> Command {
        match self.user {
            Some(_) => self.of_user(self.folder.of_nobody(args)),
            None => self.folder.command(args),
        }
    }

    fn of_user(&self, mut command: Command) -> Command {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.current_dir(self.folder.path("."));
        command
    }

    fn run(&self, args: &str) -> Ended {
        Ended::of(self.command(args))
    }

    fn journals(&self) -> usize {
        let state = match self.user {
            Some(_) => "state-of-nobody",
            None => "state",
        };
        let entries = fs::read_dir(self.folder.path(state).join("plimsoll/journals"));
        let names = entries.unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "gate.lock").count()
    }
}

fn cpus_of(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().trim().to_owned()
}

/// A process that outlives its parent; ended in the end.
struct Outlives(String);

impl Outlives {
    /// It has written its number, and is no shell any more.
    fn named(folder: &Folder, file: &str) -> Outlives {
        let pid = || fs::read_to_string(folder.path(file)).unwrap_or_default();
        let comm = |pid: String| fs::read_to_string(format!("/proc/{}/comm", pid.trim()));
        wait(file, || comm(pid()).is_ok_and(|comm| comm == "sleep\n"));
        Outlives(pid().trim().to_owned())
    }
}

impl Drop for Outlives {
    fn drop(&mut self) {
        let pid = self.0.parse().ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// CMD leaves an orphan of its own session.
const ORPHAN: &str = "(setsid sleep 600 >/dev/null 2>&1 & echo $! >orphan)";

#[test]
fn a_command_of_a_killed_gate_gets_its_cpus_back_by_the_repair() {
    let _alone = alone();
    let Some(place) = Place::with_pool() else {
        return;
    };
    let script = format!("{ORPHAN}; echo $$ >job; exec sleep 600");
    let args = format!("gate -q {SPIN} --pool 1 -- sh -c '{script}'");
    let mut gate = spawn_by(place.command(&args));
    let job = Outlives::named(&place.folder, "job");
    let orphan = Outlives::named(&place.folder, "orphan");
    let pinned = cpus_of(&job.0);
    assert_eq!(cpus_of(&orphan.0), pinned);
    assert_ne!(pinned, cpus_of("self"));
    gate.kill().unwrap();
    gate.wait().unwrap();
    let named = |pid: &Outlives| format!("process {} (sleep)", pid.0);
    let doctor = place.run("doctor");
    let asks = [&*named(&job), &named(&orphan), "where a gate has placed"];
    has(&unwrapped(&doctor.stdout), &asks);
    let repaired = place.run("repair");
    let done = ["Gave 2 threads back", &named(&job), &named(&orphan)];
    has(&repaired.says(0, &[]).stdout, &done);
    let all = cpus_of("self");
    assert_eq!((cpus_of(&job.0), cpus_of(&orphan.0)), (all.clone(), all));
    let again = place.run("repair");
    has(&again.stdout, &["Nothing is left"]);
    assert_eq!(place.journals(), 0);
}

#[test]
fn what_a_command_leaves_on_the_pool_gets_its_cpus_back_at_the_end() {
    let _alone = alone();
    let Some(place) = Place::with_pool() else {
        return;
    };
    // It ends when its orphan is there.
    let script = format!("{ORPHAN}; until grep -qs sleep /proc/$(cat orphan)/comm; do :; done");
    let args = format!("gate -q {SPIN} --pool 1 -- sh -c '{script}'");
    let ended = place.run(&args);
    let orphan = Outlives::named(&place.folder, "orphan");
    ended.says(0, &[]);
    assert_eq!(cpus_of(&orphan.0), cpus_of("self"));
    assert_eq!(place.journals(), 0);
}

#[test]
fn tasks_of_a_killed_gate_are_found_though_they_have_left_their_parent() {
    let _alone = alone();
    let Some(place) = Place::with_pool() else {
        return;
    };
    let script = format!("echo $$ >job; read line; {ORPHAN}; exec sleep 600");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::piped());
    let mut followed = place.of_user(command).spawn().unwrap();
    let pid = followed.id().to_string();
    let args = format!("gate -q {SPIN} --pool 1 --pid {pid}");
    let mut gate = spawn_by(place.command(&args));
    wait("it is placed", || cpus_of(&pid) != cpus_of("self"));
    gate.kill().unwrap();
    gate.wait().unwrap();
    // Born after the end of the gate.
    drop(followed.stdin.take());
    let orphan = Outlives::named(&place.folder, "orphan");
    let pinned = cpus_of(&orphan.0);
    let repaired = place.run("repair");
    let all = cpus_of("self");
    let now = (cpus_of(&pid), cpus_of(&orphan.0));
    followed.kill().unwrap();
    followed.wait().unwrap();
    assert_ne!(pinned, all);
    has(&repaired.says(0, &[]).stdout, &["Gave 2 threads back"]);
    assert_eq!(now, (all.clone(), all));
}

/// As another user, it leaves its parent, its session and its process group.
#[test]
fn orphans_of_another_user_get_their_cpus_back() {
    let _alone = alone();
    // Only root may start it; a pool is a part of the machine.
    let (Some(_), true) = (Place::with_pool(), is_root()) else {
        return;
    };
    // The user writes to one; the journals are in the other.
    let (open, folder) = (Folder::new(), Folder::new());
    fs::set_permissions(open.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    let script = "(setsid sleep 600 >/dev/null 2>&1 & echo $! >orphan); \
                  until grep -qs sleep /proc/$(cat orphan)/comm; do :; done; echo $$ >job; exec sleep $0";
    let gate = |seconds: &str| {
        let _ = fs::remove_file(open.path("orphan"));
        let _ = fs::remove_file(open.path("job"));
        let mut args: Vec<&str> = "gate --pool 1 --latency poll --means spinner --"
            .split(' ')
            .collect();
        args.extend("setpriv --reuid 54321 --clear-groups sh -c".split(' '));
        args.extend([script, seconds]);
        let mut command = folder.command(&args);
        command.current_dir(open.path("."));
        command
    };
    let ended = Ended::of(gate("0"));
    let orphan = Outlives::named(&open, "orphan");
    ended.says(0, &[]);
    assert_eq!(cpus_of(&orphan.0), cpus_of("self"));
    let mut killed = spawn_by(gate("600"));
    let orphan = Outlives::named(&open, "orphan");
    let job = Outlives::named(&open, "job");
    wait("its user is in the journal", || {
        let files = fs::read_dir(folder.path("state/plimsoll/journals")).unwrap();
        let texts = files.map(|file| fs::read_to_string(file.unwrap().path()));
        texts.flatten().any(|text| text.contains("\"uid\":54321"))
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let pinned = cpus_of(&orphan.0);
    let repaired = folder.run("repair");
    assert_ne!(pinned, cpus_of("self"));
    has(&repaired.says(0, &[]).stdout, &["back their former CPUs"]);
    let all = cpus_of("self");
    assert_eq!((cpus_of(&job.0), cpus_of(&orphan.0)), (all.clone(), all));
}

#[test]
fn a_daemon_that_changes_its_user_after_it_was_seen_gets_its_cpus_back() {
    let _alone = alone();
    let (Some(_), true) = (Place::with_pool(), is_root()) else {
        return;
    };
    let folder = Folder::new();
    let daemon = "echo $$ >orphan; until [ -e seen ]; do sleep 0.05; done; \
                  exec setpriv --reuid 54322 --clear-groups sleep 600";
    let script =
        format!("(setsid sh -c '{daemon}' >/dev/null 2>&1 &); echo $$ >job; exec sleep 600");
    let mut args: Vec<&str> = "gate --pool 1 --latency poll --means spinner -- sh -c"
        .split(' ')
        .collect();
    args.push(&script);
    let mut gate = spawn_by(folder.command(&args));
    let job = Outlives::named(&folder, "job");
    let number = || fs::read_to_string(folder.path("orphan")).unwrap_or_default();
    wait("it is in the journal", || {
        let pid = number();
        let pid = pid.trim();
        let files = fs::read_dir(folder.path("state/plimsoll/journals")).unwrap();
        let mut texts = files.flat_map(|file| fs::read_to_string(file.unwrap().path()));
        !pid.is_empty() && texts.any(|text| text.contains(&format!("[{pid},{pid},")))
    });
    folder.write("seen", "");
    let orphan = Outlives::named(&folder, "orphan");
    let all = cpus_of("self");
    // The journal comes first.
    wait("it is pinned", || cpus_of(&orphan.0) != all);
    gate.kill().unwrap();
    gate.wait().unwrap();
    has(
        &folder.run("repair").says(0, &[]).stdout,
        &["back their former CPUs"],
    );
    assert_eq!((cpus_of(&job.0), cpus_of(&orphan.0)), (all.clone(), all));
}
