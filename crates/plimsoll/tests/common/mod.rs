//! The real binary, in a folder of its own.

#![allow(dead_code, reason = "each test file uses a part of this")]

pub(crate) mod server;
pub(crate) mod side_folder;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something may take on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// Arguments of a command: a list of words, or a line of them, in which single
/// quotes enclose a word with blanks.
pub(crate) trait Arguments {
    fn words(&self) -> Vec<String>;
}

impl Arguments for str {
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (nth, part) in self.split('\'').enumerate() {
            match nth % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Arguments for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Arguments for [S; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<S: AsRef<str>> Arguments for Vec<S> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

/// A run of the binary that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Runs a command to its end.
    pub(crate) fn of(mut command: Command) -> Ended {
        let output = loop {
            match command.output() {
                // A child that another test has just started has this file open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                output => break output.unwrap(),
            }
        };
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Ended with `code`, and says each of `words` in one message on standard
    /// error that is not a panic.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, words: &[&str]) -> &Ended {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        has(&self.stderr, words);
        self
    }

    /// Standard output of a run that succeeded, on one line.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        unwrapped(&self.says(0, &[]).stdout)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// Fails unless `text` has all of `words`.
#[track_caller]
pub(crate) fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

/// Fails unless the JSON keeps to the schema, and names each fault.
#[track_caller]
pub(crate) fn keeps_to_schema(found: &Value, schema: &str) {
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let faults: Vec<String> = schema
        .iter_errors(found)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A text on one line, whatever its lines were.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A published table; `tests/data` has them as they were printed.
pub(crate) fn table(name: &str) -> String {
    format!("{}/tests/data/{name}.csv", env!("CARGO_MANIFEST_DIR"))
}

/// Waits for what must come, however slow the machine is.
pub(crate) fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "{what} did not come within {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A folder to run in, which also has the journals of what runs; gone in the end.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        Folder(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, args: impl Arguments) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(args.words())
            .current_dir(self.0.path())
            .env_remove("NO_COLOR")
            .env("XDG_STATE_HOME", self.path("state"))
            // What a killed run leaves is gone with the folder.
            .env("TMPDIR", self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: impl Arguments) -> Ended {
        Ended::of(self.command(args))
    }

    pub(crate) fn spawn(&self, args: impl Arguments) -> Child {
        unignoring("INT,TERM,HUP,QUIT", &self.command(args))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Journals that are left.
    pub(crate) fn journals(&self) -> usize {
        let folder = fs::read_dir(self.path("state/plimsoll/journals"));
        let names = folder.into_iter().flatten().map(|entry| entry.unwrap());
        // The lock of `gate` stays: who removes a locked file lets two in.
        names
            .filter(|entry| entry.file_name() != "gate.lock")
            .count()
    }

    /// The binary as the user nobody, who can make no cgroup; as root alone.
    pub(crate) fn of_nobody(&self, args: impl Arguments) -> Command {
        let program = self.path("plimsoll-copy");
        if !program.exists() {
            // By another process: a child that another test starts meanwhile would hold our
            // file open for writing until its exec, and it could not be executed (ETXTBSY).
            let copied = Command::new("cp")
                .args([env!("CARGO_BIN_EXE_plimsoll").as_ref(), program.as_os_str()])
                .status();
            assert!(copied.unwrap().success());
            fs::set_permissions(self.0.path(), Permissions::from_mode(0o777)).unwrap();
        }
        let mut command = Command::new(&program);
        command
            .uid(65534)
            .gid(65534)
            .args(args.words())
            .env("XDG_STATE_HOME", self.path("state-of-nobody"))
            .env("TMPDIR", self.0.path())
            .stdin(Stdio::null())
            .current_dir(self.0.path());
        command
    }

    /// Changes a record by SQL.
    pub(crate) fn change(&self, record: &str, sql: &str) {
        let db = rusqlite::Connection::open(self.path(record)).unwrap();
        db.execute_batch(sql).unwrap();
    }
}

/// Accepts a machine as disturbed as those that run tests: a run without a valid
/// trial fails. `xtask/src/dist/container.rs` has the same: tests are in no library.
pub(crate) const LOUD: [&str; 6] = [
    "--max-slip",
    "10s",
    "--max-steal",
    "100%",
    "--max-other",
    "100%",
];

/// The shortest sweep that there is, with more flags.
pub(crate) fn short(more: &str) -> String {
    let loud = LOUD.join(" ");
    format!("sweep --quick --trials 1 --duration 200ms --seed 1 {loud} {more}")
}

/// A number of seconds to sleep that no other process uses: it identifies the sleeper.
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

/// `command` with none of these signals ignored, as they may be in the process that
/// runs the tests.
pub(crate) fn unignoring(signals: &str, command: &Command) -> Command {
    let option = format!("--default-signal={signals}");
    // That of busybox, in the guest, has no such option; nothing ignores them there.
    let knows = Command::new("env").args([&*option, "true"]).output();
    match knows.is_ok_and(|ended| ended.status.success()) {
        true => under_env(&option, command),
        false => under(&["env"], command),
    }
}

/// `command` started by env(1) with this option; it keeps the process id.
pub(crate) fn under_env(option: &str, command: &Command) -> Command {
    under(&["env", option], command)
}

/// `command` started by another one, with the same environment and folder.
pub(crate) fn under(starter: &[&str], command: &Command) -> Command {
    let mut env = Command::new(starter[0]);
    env.args(&starter[1..])
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
