//! Signals of `plimsoll side`: those that are passed on to the command, and
//! SIGCHLD.

use crate::failure::Failure;
use plimsoll_host::{Root, own_ignored_signals};
use plimsoll_side::{Signal, SignalSource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{getpid, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level::pipe};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Signals {
    /// Readable after any of them.
    woken: UnixStream,
    raised: Vec<(Signal, Arc<AtomicBool>)>,
}

impl Signals {
    pub(crate) fn listen(root: &Root) -> Result<Signals, Failure> {
        // Signals that are ignored stay ignored, by the command too: `nohup` and
        // background jobs of shells rely on it.
        let ignored = own_ignored_signals(root).unwrap_or(0);
        Signals::handle(ignored)
            .map_err(|e| Failure::Run(format!("signals cannot be handled: {e}")))
    }

    fn handle(ignored: u64) -> std::io::Result<Signals> {
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let passed_on = [
            (SIGINT, Signal::Interrupt),
            (SIGTERM, Signal::Terminate),
            (SIGQUIT, Signal::Quit),
            (SIGHUP, Signal::HangUp),
            (SIGTSTP, Signal::Pause),
        ];
        let mut raised = Vec::new();
        for (number, signal) in passed_on {
            if ignored & (1 << (number - 1)) != 0 {
                continue;
            }
            let up = Arc::new(AtomicBool::new(false));
            flag::register(number, Arc::clone(&up))?;
            // After the flag, so that the thread that wakes up finds it raised.
            pipe::register(number, wake.try_clone()?)?;
            raised.push((signal, up));
        }
        pipe::register(SIGCHLD, wake)?;
        Ok(Signals { woken, raised })
    }
}

impl SignalSource for Signals {
    fn wait(&mut self, at_most: Duration) -> Vec<Signal> {
        let timeout = Timespec::try_from(at_most).ok();
        // A signal that interrupts it has also been written to the pipe.
        let _ = poll(
            &mut [PollFd::new(&self.woken, PollFlags::IN)],
            timeout.as_ref(),
        );
        let mut spent = [0; 64];
        while self.woken.read(&mut spent).is_ok_and(|n| n == spent.len()) {}
        let up = |(_, up): &&(Signal, Arc<AtomicBool>)| up.swap(false, Ordering::Relaxed);
        self.raised
            .iter()
            .filter(up)
            .map(|(signal, _)| *signal)
            .collect()
    }

    fn pause(&mut self) {
        // Until SIGCONT. A process that cannot be stopped continues.
        let _ = kill_process(getpid(), rustix::process::Signal::STOP);
    }
}
