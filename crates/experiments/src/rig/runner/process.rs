//! The rig's side of the process of a scheduler: starts it, hears it, and kills it.

use super::messages::{Answer, Doing, GO, Order};
use plimsoll_engine::RunError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a stop and the end of the process are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long the process may say nothing. It says once a second that it goes on, and
/// gives up on its scheduler by itself, earlier than this.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// Graphs of any size are built.
    ForEver,
    /// While the process says something.
    WhileAlive,
    Until(Instant),
}

impl Patience {
    fn is_over(self, heard: Instant) -> bool {
        match self {
            Patience::ForEver => false,
            Patience::WhileAlive => heard.elapsed() >= SILENCE,
            Patience::Until(end) => Instant::now() >= end,
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// The user stopped the run.
    Stopped,
    /// The scheduler ended or stopped its process, in words.
    Broke(String),
    /// The run cannot go on.
    Rig(RunError),
}

/// A process that has prepared a task.
#[derive(Debug)]
pub(super) struct SchedulerProcess {
    child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
    /// Of a line whose end has not been read.
    unread: Vec<u8>,
    heard: Instant,
    doing: Option<Doing>,
}

impl SchedulerProcess {
    /// Starts a process and has it prepare all but the scheduler.
    pub(super) fn prepared(
        program: &[OsString],
        order: &Order,
        stop: &AtomicBool,
    ) -> Result<SchedulerProcess, Lost> {
        let mut process = SchedulerProcess::start(program)
            .map_err(|e| stuck(&format!("{e}; raise `ulimit -u` or pids.max")))?;
        let text = serde_json::to_string(order).map_err(|e| stuck(&e))?;
        process.tell(&format!("{text}\n"));
        match process.answer(Patience::ForEver, stop) {
            Ok(Answer::Ready) => Ok(process),
            Ok(other) => Err(unasked(other)),
            // No code of the scheduler has run yet.
            Err(Lost::Broke(why)) => Err(stuck(&format!("{why} while it was prepared"))),
            Err(lost) => Err(lost),
        }
    }

    fn start(program: &[OsString]) -> io::Result<SchedulerProcess> {
        let (program, args) = program.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal from the terminal is for the rig, which ends its process itself.
            .process_group(0)
            .spawn()?;
        let (orders, answers) = (child.stdin.take(), child.stdout.take());
        let (orders, answers) = orders.zip(answers).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(SchedulerProcess {
            child,
            orders,
            answers,
            unread: Vec::new(),
            heard: Instant::now(),
            doing: None,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has the process do its task, and waits for the result.
    pub(super) fn carry_out(
        &mut self,
        patience: Patience,
        stop: &AtomicBool,
    ) -> Result<Answer, Lost> {
        self.tell(GO);
        self.answer(patience, stop)
    }

    /// If the process is gone, waiting for its answer tells why.
    fn tell(&mut self, line: &str) {
        let _ = self.orders.write_all(line.as_bytes());
        self.heard = Instant::now();
    }

    /// The next answer that is one, and not a sign of life.
    fn answer(&mut self, patience: Patience, stop: &AtomicBool) -> Result<Answer, Lost> {
        loop {
            match self.line(patience, stop)? {
                Answer::Alive => {}
                Answer::Doing(doing) => self.doing = Some(doing),
                Answer::Broke(why) => return Err(Lost::Broke(why)),
                Answer::Refused(why) => return Err(Lost::Rig(RunError::Usage(why))),
                Answer::Stuck(why) => return Err(Lost::Rig(RunError::Stuck(why))),
                answer => return Ok(answer),
            }
        }
    }

    fn line(&mut self, patience: Patience, stop: &AtomicBool) -> Result<Answer, Lost> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                self.heard = Instant::now();
                return serde_json::from_str(&String::from_utf8_lossy(&line))
                    .map_err(|_| self.broke("its process wrote into the pipe to the rig"));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Lost::Stopped);
            }
            // Before the pipe is read, so that what it has said last is heard.
            let ended = self.ended();
            match (self.hear(), ended) {
                (Ok(true), _) => {}
                (_, Some(status)) => return Err(self.broke(&in_words(&status))),
                (Ok(false), None) => {}
                // It has closed its end, and is about to end, or never will.
                (Err(_), None) => std::thread::sleep(LOOK_EVERY),
            }
            if patience.is_over(self.heard) {
                let silent = self.heard.elapsed().as_secs();
                let why = format!("its process did nothing for {silent} s");
                return Err(self.broke(&why));
            }
        }
    }

    /// Reads what is there, or comes within a moment: whether there was something.
    ///
    /// # Errors
    /// Nothing will come any more.
    fn hear(&mut self) -> io::Result<bool> {
        let timeout = Timespec::try_from(LOOK_EVERY).ok();
        let mut fds = [PollFd::new(&self.answers, PollFlags::IN)];
        if poll(&mut fds, timeout.as_ref())? == 0 {
            return Ok(false);
        }
        let mut block = [0; 1 << 16];
        match self.answers.read(&mut block)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.unread.extend_from_slice(&block[..read]);
                Ok(true)
            }
        }
    }

    /// How the process ended, if it has. It stays, so that its CPU time can be read.
    fn ended(&self) -> Option<WaitIdStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), options).ok()?
    }

    fn broke(&self, what: &str) -> Lost {
        Lost::Broke(match self.doing {
            None => what.to_owned(),
            Some(doing) => format!("{what} {doing}"),
        })
    }
}

impl Drop for SchedulerProcess {
    /// Ends the process and what it has started.
    fn drop(&mut self) {
        // It has not been waited for, so the number is still that of its group.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stuck(why: &dyn std::fmt::Display) -> Lost {
    Lost::Rig(RunError::Stuck(format!(
        "the process of a scheduler cannot be started: {why}"
    )))
}

/// An answer to what was not asked.
pub(super) fn unasked(answer: Answer) -> Lost {
    drop(answer);
    Lost::Broke("its process wrote into the pipe to the rig".to_owned())
}

/// How a process ended.
fn in_words(status: &WaitIdStatus) -> String {
    if let Some(signal) = status.terminating_signal() {
        let named = Signal::from_named_raw(signal);
        return match named {
            Some(Signal::SEGV) => "it accessed memory that is not its own (SIGSEGV)".to_owned(),
            Some(Signal::BUS) => "it accessed memory that is not there (SIGBUS)".to_owned(),
            Some(Signal::ABORT) => "it aborted (SIGABRT)".to_owned(),
            Some(Signal::KILL) => "its process was killed (SIGKILL)".to_owned(),
            _ => format!("its process was ended by signal {signal}"),
        };
    }
    let code = status.exit_status().unwrap_or_default();
    format!("it ended its process with exit code {code}")
}
