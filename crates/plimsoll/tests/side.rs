//! `plimsoll side` and `plimsoll replay`: the real binary, on whatever cgroups
//! there are. Nothing here says how fast something is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::{Ended, Folder};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long something may take on a loaded machine.
const LONG: Duration = Duration::from_secs(60);

/// What does not concern the law needs no room on a machine that is busy.
const SYSLOAD: [&str; 3] = ["-q", "--as", "sysload"];

/// One at a time: each looks at what groups are left.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder that also has the journals of what runs in it.
struct Place {
    folder: Folder,
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    fn new() -> Place {
        let folder = Folder::new();
        fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o700)).unwrap();
        Place {
            folder,
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(&["side"]);
        command
            .args(args)
            .env("XDG_RUNTIME_DIR", self.folder.0.path());
        command
    }

    fn side(&self, args: &[&str]) -> Ended {
        ended(self.command(args))
    }

    /// A command that has said that it runs, and what is to be read of it. Where
    /// the flags do not say otherwise the first decision comes late, because a
    /// machine that is busy with other tests has nothing left for it.
    fn running(&self, flags: &[&str], script: &str) -> Running {
        let mut args = flags.to_vec();
        if !flags.contains(&"--period") {
            args.extend(["--period", "10s"]);
        }
        args.extend(["--", "sh", "-c", script]);
        let mut command = self.command(&args);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Running {
            child,
            stdout,
            line: line.trim().to_owned(),
        }
    }

    /// Journals that are left.
    fn journals(&self) -> usize {
        let left = fs::read_dir(self.folder.path("plimsoll"));
        left.map_or(0, |entries| entries.flatten().count())
    }
}

struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// The first line that the command wrote.
    line: String,
}

impl Running {
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    fn end(mut self) -> Ended {
        let mut stdout = self.line.clone();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code();
        Ended {
            code,
            stdout,
            stderr,
        }
    }
}

fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The groups of version 1 and 2 that a process is in, if they are Plimsoll's.
fn groups(pid: &str) -> Vec<PathBuf> {
    let table = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut found = Vec::new();
    for line in mounts.lines().filter(|l| l.contains(" cgroup")) {
        let point = Path::new(line.split(' ').nth(1).unwrap());
        for path in table.lines().filter_map(|l| l.splitn(3, ':').nth(2)) {
            let folder = point.join(path.trim_start_matches('/'));
            if path.contains("plimsoll-") && folder.join("cgroup.procs").exists() {
                found.push(folder);
            }
        }
    }
    found
}

#[test]
fn streams_and_exit_codes_are_those_of_the_command() {
    let place = Place::new();
    let said = place.side(&[
        "-q",
        "--as",
        "sysload",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 7",
    ]);
    assert_eq!(
        (said.code, &*said.stdout, &*said.stderr),
        (Some(7), "out\n", "err\n")
    );
    let said = place.side(&["--", "true"]);
    said.says(
        0,
        &["as a sideload by", "headroom 20 %", "CPU s", "never frozen"],
    );
    place
        .side(&["-q", "--", "sh", "-c", "kill -9 $$"])
        .says(137, &[]);
    place
        .side(&["-q", "--", "plimsoll-no-such-program"])
        .says(127, &["not found"]);
    place.side(&["-q", "--", "/etc/passwd"]).says(126, &[]);
    assert_eq!(place.journals(), 0);
}

#[test]
fn standard_input_reaches_the_command() {
    let place = Place::new();
    let mut command = place.command(&["-q", "--as", "sysload", "--", "cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through");
}

#[test]
fn a_command_that_fills_a_pipe_which_closes_ends_by_it() {
    let place = Place::new();
    let mut running = place.running(&SYSLOAD, "exec yes");
    assert_eq!(running.line, "y");
    running.stdout = BufReader::new(fs_null());
    // The reading end is closed now.
    assert_eq!(running.child.wait().unwrap().code(), Some(128 + 13));
}

/// Something of the right type to read from.
fn fs_null() -> std::process::ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    child.wait().unwrap();
    stdout
}

#[test]
fn what_forks_away_or_ignores_sigterm_ends_with_the_command() {
    let place = Place::new();
    let script = "setsid sh -c 'trap \"\" TERM; sleep 1000' >/dev/null 2>&1 & echo $!";
    let said = place.side(&["-q", "--as", "sysload", "--", "sh", "-c", script]);
    said.says(0, &[]);
    assert!(!lives(said.stdout.trim()), "{said:?}");
    assert_eq!(place.journals(), 0);
}

#[test]
fn signals_are_passed_on_and_the_second_one_kills() {
    let place = Place::new();
    let script = "trap 'echo heard; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let running = place.running(&SYSLOAD, script);
    running.signal("-TERM");
    let said = running.end();
    assert_eq!(
        (said.code, said.stdout.trim()),
        (Some(9), "readyheard"),
        "{said:?}"
    );

    // Not SIGINT, which whoever runs in the background of a shell ignores.
    let script = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
    let running = place.running(&SYSLOAD, script);
    let pid = running.line.clone();
    // Signals of one kind that come at once are one.
    wait("the command to be killed", || {
        running.signal("-TERM");
        !lives(&pid)
    });
    running.end().says(137, &["told twice to end it"]);
    assert!(!lives(&pid));
}

#[test]
fn numbers_and_guards_that_make_no_sense_are_refused_before_anything_runs() {
    let place = Place::new();
    let cases: [(&[&str], &str); 16] = [
        (&["--headroom", "0"], "give 1 to 90 percent"),
        (&["--headroom", "100"], "worth running"),
        (&["--headroom", "-5"], "less than nothing"),
        (&["--headroom", "abc"], "not a number"),
        (&["--guard", "latency<5ms"], "kind is not"),
        (&["--guard", "run-delay<200%"], "between 0% and 100%"),
        (&["--guard", "run-delay pid me"], "number of a process"),
        (&["--guard", "psi<x%"], "between 0% and 100%"),
        (
            &["--guard", "http localhost:80 p99<1ms"],
            "http://localhost:80",
        ),
        (
            &["--guard", "http http://localhost:1/ p42<1ms"],
            "p50 and p99",
        ),
        (&["--guard", "prometheus nowhere up<1"], "http://nowhere"),
        (&["--period", "1ms"], "100ms and 10s"),
        (&["--memory", "2"], "with its unit"),
        (&["--mechanism", "prayer"], "--mechanism"),
        (&["--as", "sysload", "--log", "log"], "nothing to log"),
        (&["--log", "/no/such/folder/log"], "/no/such/folder/log"),
    ];
    for (flags, words) in cases {
        let mut args = flags.to_vec();
        args.extend(["--", "touch", "ran"]);
        place.side(&args).says(2, &[words]);
    }
    place.side(&[]).says(2, &["--"]);
    assert!(!place.folder.path("ran").exists());
}

/// Runs something endless under a guard until its log says that the guard cannot
/// be read, then ends it.
fn blind(place: &Place, log: &str, flags: &[&str]) -> Ended {
    let mut all = vec!["--period", "100ms", "--log", log];
    all.extend(flags);
    let running = place.running(&all, "echo $$; exec sleep 1000");
    let path = place.folder.path(log);
    // What the law makes of it depends on what else the machine does.
    wait("a guard to be missed", || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.contains("\"state\":\"unknown\"")
    });
    running.signal("-TERM");
    running.end()
}

#[test]
fn each_decision_is_logged_and_comes_out_the_same_again() {
    let place = Place::new();
    for mechanism in ["auto", "idle"] {
        let log = format!("{mechanism}.jsonl");
        let flags = ["--mechanism", mechanism, "--guard", "run-delay pid 4194303"];
        blind(&place, &log, &flags)
            .says(143, &["no process 4194303", "could not be read in the end"]);
        let again = place.folder.run(&["replay", &log]);
        again.says(0, &[]);
        assert!(again.stdout.contains("the same"), "{again:?}");
    }
    // A decision that was never made, and what is no log.
    let log = place.folder.path("auto.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let changed = text.replacen("\"cpus\":", "\"cpus\":100", 1);
    fs::write(&log, changed).unwrap();
    let again = place.folder.run(&["replay", "auto.jsonl"]);
    again.says(1, &["line 2", "this version decides"]);
    fs::write(&log, "no log\n").unwrap();
    place
        .folder
        .run(&["replay", "auto.jsonl"])
        .says(2, &["line 1"]);
    fs::write(&log, "").unwrap();
    place
        .folder
        .run(&["replay", "auto.jsonl"])
        .says(2, &["no decisions"]);
    place
        .folder
        .run(&["replay", "nowhere"])
        .says(2, &["nowhere"]);
}

#[test]
fn a_server_that_is_not_there_leaves_a_guard_unread() {
    let place = Place::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let http = format!("http {url}/ p99<10ms");
    let prometheus = format!("prometheus {url} up<1");
    let said = blind(&place, "log", &["--guard", &http, "--guard", &prometheus]);
    said.says(143, &["p99_ms of", "up could not be read"]);
}

#[test]
fn two_sideloads_at_once_leave_each_other_alone() {
    let place = Place::new();
    let first = place.running(&["-q"], "echo $$; sleep 1000");
    place.side(&["-q", "--", "true"]).says(0, &[]);
    assert!(lives(&first.line));
    let pid = first.line.clone();
    first.signal("-TERM");
    first.end().says(143, &[]);
    assert!(!lives(&pid));
    assert_eq!(place.journals(), 0);
}

#[test]
fn what_is_left_after_kill_9_is_given_back_by_the_next() {
    let place = Place::new();
    let mut running = place.running(
        &["-q"],
        "echo $$; trap '' HUP TERM; while :; do sleep 1; done",
    );
    let pid = running.line.clone();
    let groups = groups(&pid);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert_eq!(place.journals(), 1);
    place
        .side(&["-q", "--", "true"])
        .says(0, &["repaired what process", "left when it was killed"]);
    assert!(!lives(&pid));
    assert!(groups.iter().all(|folder| !folder.exists()), "{groups:?}");
    assert_eq!(place.journals(), 0);
}

#[test]
fn a_group_that_is_removed_under_our_feet_ends_the_command_and_says_so() {
    let place = Place::new();
    let running = place.running(&["-q", "--period", "1s"], "echo $$; exec sleep 1000");
    let folders = groups(&running.line);
    if folders.is_empty() {
        eprintln!("skipped: no cgroup can be made here");
        running.signal("-TERM");
        running.end();
        return;
    }
    for folder in folders {
        let home = folder.parent().unwrap().join("cgroup.procs");
        // One of several mounts of the same tree may have been used for it before.
        if fs::write(home, &running.line).is_ok() {
            wait("the group to be empty", || {
                !folder.exists() || fs::remove_dir(&folder).is_ok()
            });
        }
    }
    let pid = running.line.clone();
    running.end().says(1, &["was removed by someone else"]);
    wait("the command to end", || !lives(&pid));
}

#[test]
fn without_permission_it_falls_down_the_ladder_and_says_so() {
    let place = Place::new();
    if fs::write("/proc/self/oom_score_adj", "0").is_err() || !is_root() {
        eprintln!("skipped: only root can become nobody");
        return;
    }
    let folder = place.folder.0.path();
    let program = place.folder.path("plimsoll-copy");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let nobody = |args: &[&str]| {
        let mut command = Command::new(&program);
        command
            .uid(65534)
            .gid(65534)
            .arg("side")
            .args(args)
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null())
            .current_dir(folder);
        ended(command)
    };
    let said = nobody(&["--", "sh", "-c", "chrt -p $$; exit 3"]);
    said.says(
        3,
        &[
            "by idle",
            "may not make a cgroup",
            "what is lost here",
            "not held",
        ],
    );
    assert!(said.stdout.contains("SCHED_IDLE"), "{said:?}");
    // A limit that cannot be had is refused, and nothing runs without it.
    nobody(&["--mechanism", "quota", "--", "true"]).says(2, &["CPU quota", "--mechanism auto"]);
    nobody(&["--memory", "1GiB", "--", "true"]).says(2, &["memory limit", "--memory"]);
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find_map(|l| l.strip_prefix("Uid:")).unwrap();
    uid.split_whitespace().nth(1) == Some("0")
}
