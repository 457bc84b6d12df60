//! `plimsoll side` in a folder, and what tests look for around it.

use super::{Arguments, Ended, Folder, LONG, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One at a time: each looks at what groups are left.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder to run `side` in.
pub(crate) struct SideFolder {
    pub(crate) folder: Folder,
    _alone: MutexGuard<'static, ()>,
}

impl SideFolder {
    pub(crate) fn new() -> SideFolder {
        SideFolder {
            folder: Folder::new(),
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(crate) fn command(&self, args: impl Arguments) -> Command {
        let mut command = self.folder.command("side");
        command.args(args.words());
        command
    }

    /// Runs to its end. The first decision comes late unless the flags say
    /// otherwise, because a busy machine has nothing left for the command.
    pub(crate) fn side(&self, args: impl Arguments) -> Ended {
        Ended::of(self.command(late(args)))
    }

    /// A command that runs and has written its first line; the first decision
    /// comes as late.
    pub(crate) fn running(&self, flags: impl Arguments, script: &str) -> Running {
        let mut command = self.command(late(flags));
        command.args(["--", "sh", "-c", script]);
        self.spawned(command)
    }

    /// The same of any command line.
    pub(crate) fn spawned(&self, command: Command) -> Running {
        let mut running = self.started(command);
        running.stdout.read_line(&mut running.line).unwrap();
        running.line = running.line.trim().to_owned();
        running
    }

    /// A command that need not have begun.
    pub(crate) fn started(&self, mut command: Command) -> Running {
        let stderr = tempfile::NamedTempFile::new().unwrap();
        command
            .stdout(Stdio::piped())
            .stderr(stderr.reopen().unwrap());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running {
            child: SideProcess(child),
            stdout,
            line: String::new(),
            stderr,
        }
    }

    /// Runs something endless that is decided about ten times a second, and logs
    /// it. On a busy machine it stands still before it does anything.
    pub(crate) fn logged(&self, log: &str, flags: impl Arguments) -> Running {
        let mut command = self.command(["--period", "100ms", "--log", log]);
        command.args(flags.words());
        command.args(["--", "sh", "-c", "while :; do sleep 0.05; done"]);
        self.started(command)
    }

    /// Waits until the log has some text.
    pub(crate) fn wait_for_log(&self, log: &str, text: &str) {
        let path = self.folder.path(log);
        wait(text, || {
            let log = fs::read_to_string(&path).unwrap_or_default();
            log.contains(text)
        });
    }

    /// `plimsoll side` as the user nobody; as root alone.
    pub(crate) fn of_nobody(&self, args: impl Arguments) -> Command {
        let mut command = self.folder.of_nobody("side");
        command.args(args.words());
        command
    }

    pub(crate) fn journals(&self) -> usize {
        self.folder.journals()
    }
}

impl Drop for SideFolder {
    /// A test that fails leaves no frozen group, which a command of a later test could enter.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.folder.command("repair --kill").output();
        }
    }
}

/// With a first decision that comes late, unless the flags say otherwise.
fn late(args: impl Arguments) -> Vec<String> {
    let mut words = args.words();
    if !words
        .iter()
        .any(|word| word == "--period" || word == "sysload")
    {
        words.splice(0..0, ["--period".to_owned(), "10s".to_owned()]);
    }
    words
}

pub(crate) struct Running {
    pub(crate) child: SideProcess,
    pub(crate) stdout: BufReader<std::process::ChildStdout>,
    /// The first line that the command wrote.
    pub(crate) line: String,
    stderr: tempfile::NamedTempFile,
}

/// A `side` that is ended with its command when it is dropped, as by a test that fails.
pub(crate) struct SideProcess(Child);

impl Drop for SideProcess {
    fn drop(&mut self) {
        let end = Instant::now() + LONG;
        // The second signal kills the command.
        while Instant::now() < end && matches!(self.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(self), Signal::TERM);
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

impl Deref for SideProcess {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for SideProcess {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Running {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Its standard error so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.stderr.path()).unwrap()
    }

    /// The first process that it has started.
    pub(crate) fn command(&self) -> String {
        let own = self.child.id().to_string();
        let mut found = None;
        wait("the command to be started", || {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let pids = entries.filter_map(|e| e.file_name().into_string().ok());
            found = pids
                .into_iter()
                .find(|pid| parent(pid).as_ref() == Some(&own));
            found.is_some()
        });
        found.unwrap()
    }

    pub(crate) fn wait_until_it_says(&self, words: &str) {
        wait(words, || self.stderr().contains(words));
    }

    pub(crate) fn end(mut self) -> Ended {
        let mut stdout = self.line.clone();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        let stderr = self.stderr();
        Ended {
            code,
            stdout,
            stderr,
        }
    }
}

pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn parent(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1).map(str::to_owned)
}

/// The groups of version 1 and 2 that a process is in, if they are Plimsoll's.
pub(crate) fn groups(pid: &str) -> Vec<PathBuf> {
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

/// Whether the tests may become another user; says so if they may not.
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can become nobody");
    }
    root
}
