//! A job that is a command: run repeatedly during the window, with the time of each
//! run.

use super::{SharedGroup, lock};
use plimsoll_control::{ControlError, Gate, Group, wait_with_cpu_time};
use plimsoll_engine::RunError;
use plimsoll_host::Pid;
use plimsoll_load::LoadError;
use plimsoll_model::{Arm, human_duration};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A shorter run mostly measures the start of a shell.
const SHORTEST: Duration = Duration::from_millis(50);

/// How long a raised stop may stay unseen.
const LOOK: Duration = Duration::from_millis(50);

/// Between two looks for processes that nothing holds, once the window has closed.
const LOOK_WHETHER_HELD: Duration = Duration::from_millis(500);

/// At least this between two looks for processes that a command has left.
const LOOK_FOR_REST: Duration = Duration::from_millis(5);

/// So many times as long as a look takes there is none. Without a cgroup a look reads all processes of
/// the machine, and must not disturb what is measured.
const LOOK_SELDOM: u32 = 50;

/// When to look for processes that a command has left: after its first run, then seldom, and after each
/// run once it has left any.
#[derive(Debug, Default)]
struct Looks {
    next: Option<Instant>,
    has_found: bool,
}

impl Looks {
    fn is_due(&self, now: Instant) -> bool {
        self.has_found || self.next.is_none_or(|next| now >= next)
    }

    /// Returns how long there is none after a look from `began` to `ended`.
    fn looked(&mut self, began: Instant, ended: Instant) -> Duration {
        let pause = LOOK_SELDOM * (ended - began);
        self.next = Some(ended + pause);
        pause
    }
}

/// Checks without running it whether a command line can be a job: a shell can parse
/// it, and finds its first word.
///
/// # Errors
/// A [`LoadError::Mistake`] with the reason.
pub(super) fn check(line: &str) -> Result<(), LoadError> {
    let Some(first) = line.split_whitespace().next() else {
        return Err(LoadError::Mistake(
            "the job is an empty command; give --job burn, or a command such as --job 'make -j2'"
                .to_owned(),
        ));
    };
    let asks = |args: &[&str]| {
        let asked = Command::new("/bin/sh")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // Without a shell no job can start; the start reports that better.
        asked.is_ok_and(|status| !status.success())
    };
    if asks(&["-n", "-c", line]) {
        return Err(LoadError::Mistake(format!(
            "the job `{line}` cannot be read by the shell; look at its quotes and brackets"
        )));
    }
    // An assignment, a bracket or a quote is not a command name.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+".contains(c);
    let is_name = first.chars().all(is_plain);
    if is_name && asks(&["-c", "command -v -- \"$1\"", "sh", first]) {
        return Err(LoadError::Mistake(format!(
            "the job `{line}` begins with `{first}`, which is not a command here; install it, give \
             its path, or use --job burn"
        )));
    }
    Ok(())
}

/// Builtins and keywords of the shell.
const OF_SHELLS: [&str; 45] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done", "elif",
    "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "getopts", "hash",
    "if", "in", "jobs", "local", "read", "readonly", "return", "set", "shift", "source", "then",
    "time", "times", "trap", "type", "ulimit", "umask", "unset", "until", "wait", "while",
];

/// The program of a job's line and its arguments. A line of plain words starts
/// without a shell, because a shell may drop environment variables whose names are
/// not identifiers (dash does). Every other line needs a shell.
fn program(line: &str) -> (&str, Vec<&str>) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=:,@% \t".contains(c);
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    match words.next() {
        Some(first)
            if line.chars().all(is_plain)
                && !first.contains('=')
                && !OF_SHELLS.contains(&first) =>
        {
            (first, words.collect())
        }
        _ => ("/bin/sh", vec!["-c", line]),
    }
}

/// A command that is restarted whenever it ends.
#[derive(Debug)]
pub(super) struct Repeated {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that restarts the command has, too.
#[derive(Debug)]
struct Shared {
    line: String,
    gate: Gate,
    group: SharedGroup,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// No further runs.
    enough: bool,
    /// The durations of the successful runs.
    runs: Vec<Duration>,
    /// The command of the run has ended, and processes that it started have not.
    lingers: bool,
    /// Why there are no further runs.
    failed: Option<RunError>,
}

/// The result of the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// This many runs have ended, with this total duration.
    Ended(u64, Duration),
    /// It has not ended in time.
    TooLong,
    /// The wait was stopped.
    Stopped,
}

impl Repeated {
    pub(super) fn new(line: &str, gate: &Gate, group: &SharedGroup) -> Repeated {
        let shared = Shared {
            line: line.to_owned(),
            gate: gate.clone(),
            group: Arc::clone(group),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        Repeated {
            shared: Arc::new(shared),
            thread: None,
        }
    }

    /// Starts the first run.
    pub(super) fn start(&mut self) -> Result<(), RunError> {
        let first = self.shared.start(&mut lock(&self.shared.group))?;
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("job".to_owned())
            .spawn(move || shared.again_and_again(first));
        self.thread = Some(thread.map_err(|source| LoadError::System {
            what: "no thread could be made for the job".to_owned(),
            source,
            way_out: "see `ulimit -u` and pids.max of the cgroup".to_owned(),
        })?);
        Ok(())
    }

    /// Whether the first run continues.
    pub(super) fn is_in_first_run(&self) -> bool {
        let state = self.shared.state();
        state.runs.is_empty() && state.failed.is_none()
    }

    /// Waits until a run has ended, or for this long.
    ///
    /// # Errors
    /// There are no further runs, or a process of this one is not held.
    pub(super) fn wait(&self, until: Instant, stop: &AtomicBool) -> Result<Waited, RunError> {
        let mut next_look = Instant::now();
        let mut state = self.shared.state();
        loop {
            if let Some(failed) = state.failed.take() {
                return Err(failed);
            }
            if !state.runs.is_empty() {
                let took = state.runs.iter().sum();
                return Ok(Waited::Ended(state.runs.len() as u64, took));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Waited::Stopped);
            }
            if Instant::now() >= until {
                return Ok(Waited::TooLong);
            }
            if Instant::now() >= next_look {
                // Others take the lock of the group first.
                drop(state);
                self.check_held()?;
                next_look = Instant::now() + LOOK_WHETHER_HELD;
                state = self.shared.state();
                continue;
            }
            let waited = self.shared.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// # Errors
    /// If a process of it is not held.
    pub(super) fn check_held(&self) -> Result<(), RunError> {
        check_held(&self.shared.line, &lock(&self.shared.group))
    }

    /// Whether all its processes are held. If not, the reason is what [`Repeated::wait`] returns, also
    /// when they have ended by then.
    pub(super) fn is_held(&self) -> bool {
        let held = self.check_held();
        let is_held = held.is_ok();
        if let Err(error) = held {
            self.shared.state().failed = Some(error);
        }
        is_held
    }

    /// A sentence for a run that took too long.
    pub(super) fn too_long(&self, timeout: Duration, arm: Arm) -> RunError {
        let (line, within) = (&self.shared.line, human_duration(timeout));
        if self.shared.state().lingers {
            return RunError::Stuck(format!(
                "the job `{line}` ended, and processes that it had started were not gone within \
                 {within}, so its work has no end; give a command that waits for what it starts and \
                 leaves no daemon, or more time with --job-timeout"
            ));
        }
        RunError::Stuck(format!(
            "the job `{line}` did not end within {within} held by '{arm}'; give it more time with \
             --job-timeout, give a shorter job, or leave this way of holding it out with --arms"
        ))
    }

    /// Kills it and waits until it has ended.
    pub(super) fn end(mut self) -> Result<(), ControlError> {
        self.shared.state().enough = true;
        let killed = lock(&self.shared.group).kill();
        // If the thread cannot kill its job, a join would never return.
        if let Some(thread) = self.thread.take()
            && killed.is_ok()
        {
            let _ = thread.join();
        }
        killed
    }
}

/// Whether a run that has ended like this is good.
fn checked(line: &str, ended: std::io::Result<ExitStatus>, took: Duration) -> Result<(), RunError> {
    let why = match ended {
        Err(error) => {
            return Err(RunError::Stuck(format!(
                "the job `{line}` could not be waited for: {error}; go on with --resume"
            )));
        }
        Ok(status) if !status.success() => format!(
            "the job `{line}` failed ({status}); run it by hand to see what it says, and give one \
             that succeeds"
        ),
        Ok(_) if took < SHORTEST => format!(
            "the job `{line}` ended after {}, which is too short to tell what it gains; give one \
             that takes {} or more",
            human_duration(took),
            human_duration(SHORTEST)
        ),
        Ok(_) => return Ok(()),
    };
    Err(LoadError::Mistake(why).into())
}

/// # Errors
/// If a process of the job has left its cgroup: neither its CPU time nor its end is known.
fn check_held(line: &str, group: &Group) -> Result<(), RunError> {
    match group.escaped()?.first() {
        None => Ok(()),
        Some(pid) => Err(RunError::Usage(format!(
            "the job `{line}` has left its cgroup (process {pid}), so that nothing holds it and its \
             CPU time is not counted; give a command that stays there: not one that systemd-run or a \
             container runtime moves"
        ))),
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, group: &mut Group) -> Result<(Child, Instant), ControlError> {
        let (program, args) = program(&self.line);
        let child = group.start(&self.gate, program.as_ref(), &args, |command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
        })?;
        Ok((child, Instant::now()))
    }

    /// Waits for each run and starts the next.
    fn again_and_again(&self, first: (Child, Instant)) {
        let (mut child, mut began) = first;
        let mut looks = Looks::default();
        loop {
            let ended = wait_with_cpu_time(&mut child);
            let exited = Instant::now();
            if let Ok((_, used)) = &ended {
                lock(&self.group).count_ended(*used);
            }
            let gone = self.wait_for_the_rest(&mut looks);
            let took = match &gone {
                Ok(Some(gone)) => *gone - began,
                Ok(None) | Err(_) => exited - began,
            };
            let mut state = self.state();
            if state.enough {
                return;
            }
            let next = checked(&self.line, ended.map(|(status, _)| status), took).and_then(|()| {
                gone?;
                state.runs.push(took);
                drop(state);
                self.changed.notify_all();
                Ok(self.start_unless_enough()?)
            });
            match next {
                Ok(Some(next)) => (child, began) = next,
                Ok(None) => return,
                Err(error) => {
                    self.state().failed = Some(error);
                    self.changed.notify_all();
                    return;
                }
            }
        }
    }

    /// Waits until no process of the run is left: what a command starts and does not wait for is
    /// work of its run, too. Returns when that was, if any was left when the command ended.
    fn wait_for_the_rest(&self, looks: &mut Looks) -> Result<Option<Instant>, RunError> {
        let mut gone = None;
        if !looks.is_due(Instant::now()) {
            return Ok(None);
        }
        loop {
            let began = Instant::now();
            let left = self.left();
            let pause = looks.looked(began, Instant::now());
            let mut state = self.state();
            match left {
                _ if state.enough => return Ok(None),
                Err(error) => return Err(error),
                Ok(left) => state.lingers = !left.is_empty(),
            }
            if !state.lingers {
                return Ok(gone);
            }
            looks.has_found = true;
            drop(state);
            thread::sleep(pause.max(LOOK_FOR_REST));
            gone = Some(Instant::now());
        }
    }

    fn left(&self) -> Result<Vec<Pid>, RunError> {
        let mut group = lock(&self.group);
        group.reap()?;
        check_held(&self.line, &group)?;
        Ok(group.processes()?)
    }

    /// Starts the next run. The end of the job is flagged before it takes the group's
    /// lock, so a run is either not started or killed.
    fn start_unless_enough(&self) -> Result<Option<(Child, Instant)>, ControlError> {
        let mut group = lock(&self.group);
        if self.state().enough {
            return Ok(None);
        }
        self.start(&mut group).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_fiftieth_of_the_time() {
        let (mut looks, start) = (Looks::default(), Instant::now());
        let ms = |ms: u64| start + Duration::from_millis(ms);
        assert!(looks.is_due(start));
        assert_eq!(looks.looked(ms(100), ms(104)), Duration::from_millis(200));
        assert!(!looks.is_due(ms(303)) && looks.is_due(ms(304)));
        looks.has_found = true;
        assert!(looks.is_due(ms(303)));
    }

    #[test]
    fn plain_words_need_no_shell() {
        let direct = [
            ("make -j2 CFLAGS=-O2", vec!["make", "-j2", "CFLAGS=-O2"]),
            (" ./build.sh\tall ", vec!["./build.sh", "all"]),
        ];
        for (line, words) in direct {
            assert_eq!(program(line), (words[0], words[1..].to_vec()));
        }
        for line in [
            "make && make test",
            "CC=clang make",
            "echo $HOME",
            "ls *.c",
            "cd build",
            "exit 3",
            "echo 'a b'",
            "make\nmake test",
            "make # all",
            "~/build",
        ] {
            assert_eq!(program(line), ("/bin/sh", vec!["-c", line]), "{line}");
        }
    }
}
