//! The real binary, in a folder of its own.

#![allow(dead_code, reason = "each test file uses a part of this")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A run of the binary that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Ended with `code`, and says each of `words` in one message on standard
    /// error that is not a panic.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, words: &[&str]) -> &Ended {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(
                self.stderr.contains(word),
                "'{word}' is missing: {}",
                self.stderr
            );
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A folder to run in; gone in the end.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(args)
            .current_dir(self.0.path())
            .env_remove("NO_COLOR")
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        let output = self.command(args).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// Takes a machine as loud as those that run tests are: a run of which no trial
/// counts has failed.
pub(crate) const LOUD: [&str; 6] = [
    "--max-slip",
    "10s",
    "--max-steal",
    "100%",
    "--max-other",
    "100%",
];

/// Arguments of the shortest sweep that there is.
pub(crate) fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![
        "sweep",
        "--quick",
        "--trials",
        "1",
        "--duration",
        "200ms",
        "--seed",
        "1",
    ];
    args.extend(LOUD);
    args.extend_from_slice(more);
    args
}

/// A number of seconds to sleep for that no other process has: what sleeps is found
/// by it.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("86400.{}{nth:03}", std::process::id())
}

/// How many processes sleep for this long.
pub(crate) fn sleepers(marker: &str) -> usize {
    let line = format!("sleep\0{marker}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|found| found.ends_with(line.as_bytes()))
        .filter(|found| found.iter().filter(|byte| **byte == 0).count() == 2)
        .count()
}

/// The binary as `command` starts it, but with no signal of these ignored, as
/// whatever runs the tests may have them.
pub(crate) fn hearing(signals: &str, command: &Command) -> Command {
    under_env(&format!("--default-signal={signals}"), command)
}

/// `command` started by env(1) with this option; it keeps the process id.
pub(crate) fn under_env(option: &str, command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg(option)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => env.env(name, value),
            None => env.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        env.current_dir(dir);
    }
    env.stdin(Stdio::null());
    env
}

/// Sends signals, one after the other at once.
pub(crate) fn send(child: &Child, signals: &[Signal]) {
    for signal in signals {
        kill_process(Pid::from_child(child), *signal).unwrap();
    }
}

/// How many trials a record holds, by another reader than our own; none while
/// it is being made.
pub(crate) fn trials_in(record: &Path) -> i64 {
    rusqlite::Connection::open_with_flags(record, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
        .and_then(|db| db.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)))
        .unwrap_or(0)
}
