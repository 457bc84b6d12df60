//! A process that the lab has started, and its lines.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines between two looks; of more, the first are dropped.
const MOST_LINES: usize = 500;
/// Lines of standard output that are kept as findings.
const MOST_FOUND: usize = 400;
/// The longest line, in bytes; the rest of it begins another.
const LONGEST: u64 = 4096;
/// For how long lines are waited for when the process has ended: others may hold its streams.
const LATE_LINES: Duration = Duration::from_secs(1);
/// After so long a process is asked a second time, which ends it and its command at once.
const AGAIN: Duration = Duration::from_secs(3);
/// After so long it is killed.
const LAST: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// What was printed.
#[derive(Debug, Default)]
struct Lines {
    new: VecDeque<String>,
    found: Vec<String>,
}

/// A process. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Task {
    child: Child,
    lines: Arc<Mutex<Lines>>,
    readers: Vec<JoinHandle<()>>,
    ended: Option<(Instant, ExitStatus)>,
    asked: Option<Instant>,
    asked_again: bool,
}

impl Task {
    /// Starts a command whose standard error, and standard output where it is not set to anything
    /// else, are read.
    pub(super) fn start(mut command: Command, reads_output: bool) -> io::Result<Task> {
        if reads_output {
            command.stdout(Stdio::piped());
        }
        let child = command.stderr(Stdio::piped()).spawn()?;
        let mut task = Task {
            child,
            lines: Arc::default(),
            readers: Vec::new(),
            ended: None,
            asked: None,
            asked_again: false,
        };
        if let Some(output) = task.child.stdout.take() {
            task.read(output, true)?;
        }
        if let Some(errors) = task.child.stderr.take() {
            task.read(errors, false)?;
        }
        Ok(task)
    }

    fn read(&mut self, from: impl Read + Send + 'static, finds: bool) -> io::Result<()> {
        let lines = Arc::clone(&self.lines);
        let thread = std::thread::Builder::new().name("lines".to_owned());
        let reader = thread.spawn(move || read(from, finds, &lines))?;
        self.readers.push(reader);
        Ok(())
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The lines since the last look.
    pub(super) fn lines(&self) -> VecDeque<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut lines.new)
    }

    /// The first lines of standard output.
    pub(super) fn found(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut lines.found)
    }

    /// How it ended, once all that it printed was read.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.ended = Some((Instant::now(), status));
        }
        let (at, status) = self.ended?;
        let all_read = self.readers.iter().all(JoinHandle::is_finished);
        (all_read || at.elapsed() >= LATE_LINES).then_some(status)
    }

    pub(super) fn was_asked_to_end(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks it to end, as a first Ctrl-C does. It gives back what it has changed.
    pub(super) fn ask_to_end(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Instant::now());
            self.signal(Signal::TERM);
        }
    }

    /// Asks it again, or kills it, if it takes too long to end.
    pub(super) fn kill_if_overdue(&mut self) {
        let Some(asked) = self.asked else { return };
        if !self.asked_again && asked.elapsed() >= AGAIN {
            self.asked_again = true;
            self.signal(Signal::TERM);
        }
        if asked.elapsed() >= LAST {
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        // Before it was waited for, its id is not another's.
        if self.ended.is_none() {
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.ask_to_end();
        while self.ended.is_none() {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(LOOK),
                // Nobody can wait for it any more.
                Ok(Some(_)) | Err(_) => return,
            }
            self.kill_if_overdue();
        }
    }
}

fn read(from: impl Read, finds: bool, lines: &Mutex<Lines>) {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match (&mut from).take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']).replace('\t', "  ");
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if finds && lines.found.len() < MOST_FOUND {
            lines.found.push(line.clone());
        }
        if lines.new.len() == MOST_LINES {
            lines.new.pop_front();
        }
        lines.new.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Task {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        Task::start(command, true).unwrap()
    }

    fn wait(task: &mut Task) -> ExitStatus {
        loop {
            if let Some(status) = task.ended() {
                return status;
            }
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn lines_of_both_streams_are_read_and_those_of_output_are_found() {
        let mut task = shell("echo one; echo 'a\tb' >&2; exit 3");
        assert_eq!(wait(&mut task).code(), Some(3));
        let mut lines = Vec::from(task.lines());
        lines.sort();
        assert_eq!(lines, ["a  b", "one"]);
        assert_eq!(task.found(), ["one"]);
    }

    #[test]
    fn flood_of_lines_takes_no_more_memory_than_some_lines() {
        let mut task = shell("yes | head -n 20000; printf 'end'");
        wait(&mut task);
        let lines = task.lines();
        assert_eq!(lines.len(), MOST_LINES);
        assert_eq!(lines.back().map(String::as_str), Some("end"));
        assert_eq!(task.found().len(), MOST_FOUND);
    }

    #[test]
    fn dropped_task_has_ended() {
        let task = shell("sleep 1000");
        let id = Pid::from_raw(task.id() as i32).unwrap();
        drop(task);
        assert!(rustix::process::test_kill_process(id).is_err());
    }
}
