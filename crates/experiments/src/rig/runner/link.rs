//! The pipes between the process of a scheduler and the rig, at the scheduler's end.

use super::messages::Answer;
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How often the process says that it goes on.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// The pipes to the rig.
#[derive(Debug)]
pub(super) struct Link {
    orders: BufReader<File>,
    answers: File,
    said: Instant,
}

impl Link {
    pub(super) fn open() -> io::Result<Link> {
        // The rig's own end, by whatever signal, is that of this process too.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let orders = io::stdin().as_fd().try_clone_to_owned()?;
        let answers = io::stdout().as_fd().try_clone_to_owned()?;
        // What a library reads and prints is not for the rig.
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(io::stderr())?;
        Ok(Link {
            orders: BufReader::new(orders.into()),
            answers: answers.into(),
            said: Instant::now(),
        })
    }

    /// The next line; an error if the rig has closed the pipe.
    pub(super) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.orders.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    /// Says something; if nobody is there to hear it, the process ends.
    pub(super) fn say(&mut self, answer: &Answer) {
        let said = serde_json::to_string(answer).map_err(io::Error::from);
        let said = said.and_then(|text| self.answers.write_all(format!("{text}\n").as_bytes()));
        if said.is_err() {
            end_at_once();
        }
        self.said = Instant::now();
    }

    /// Says now and then that the process goes on, which it does.
    pub(super) fn goes_on(&mut self) -> bool {
        if self.said.elapsed() >= ALIVE_EVERY {
            self.say(&Answer::Alive);
        }
        true
    }
}

/// At exit the functions of a library would run, which may hang.
pub(super) fn end_at_once() {
    let _ = kill_process(getpid(), Signal::KILL);
}
