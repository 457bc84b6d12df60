//! The signals that end a process, and their source for `plimsoll side`, which passes
//! them on to the command.

use crate::failure::Failure;
use plimsoll_host::{Root, own_ignored_signals};
use plimsoll_side::{Signal, SignalSource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::process::{getpid, kill_process};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Not on every system, and so not in [`signal_hook::consts`].
const SIGSTKFLT: i32 = rustix::process::Signal::STKFLT.as_raw();
const SIGPWR: i32 = rustix::process::Signal::POWER.as_raw();

/// Each signal that ends a process by default and that can be handled (signal(7)), but
/// for those that are ignored now. Without those of faults (SIGSEGV and its like),
/// after which a program cannot go on, SIGPIPE, which is ignored, and SIGXFSZ.
pub(crate) fn ending(ignored: u64) -> impl Iterator<Item = i32> {
    // The C library has the first ones for itself: glibc 32 and 33, musl 34, too.
    const FIRST: i32 = if cfg!(target_env = "musl") { 35 } else { 34 };
    const REAL_TIME: std::ops::RangeInclusive<i32> = FIRST..=64;
    let named = [
        SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGSTKFLT, SIGXCPU,
        SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
    ];
    let all = named.into_iter().chain(REAL_TIME);
    all.filter(move |signal| !is_in(ignored, *signal))
}

/// Has a write beyond `ulimit -f` fail with an error, as one to a full disk does. Not by ignoring the
/// signal, which commands would inherit.
pub(crate) fn survive_file_limit() {
    let ignored = own_ignored_signals(&Root::machine()).unwrap_or(0);
    if !is_in(ignored, SIGXFSZ) {
        // Without it such a write ends this program, as by default.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

fn is_in(set: u64, signal: i32) -> bool {
    set & (1 << (signal - 1)) != 0
}

#[derive(Debug)]
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    pub(crate) fn listen(root: &Root) -> Result<Signals, Failure> {
        // Signals that are ignored stay ignored, by the command too: `nohup` and
        // background jobs of shells rely on it.
        let ignored = own_ignored_signals(root).unwrap_or(0);
        Signals::handle(ignored)
            .map_err(|e| Failure::Run(format!("signals cannot be handled: {e}; see `ulimit -n`")))
    }

    fn handle(ignored: u64) -> io::Result<Signals> {
        let (woken, wake) = UnixStream::pair()?;
        let pause = Some(SIGTSTP).filter(|signal| !is_in(ignored, *signal));
        let all = ending(ignored).chain(pause).chain([SIGCHLD]);
        let delivery = SignalDelivery::with_pipe(woken, wake, SignalOnly, all)?;
        Ok(Signals { delivery })
    }
}

fn meaning(signal: i32) -> Option<Signal> {
    match signal {
        SIGCHLD => None,
        SIGINT => Some(Signal::Interrupt),
        SIGQUIT => Some(Signal::Quit),
        SIGHUP => Some(Signal::HangUp),
        SIGTSTP => Some(Signal::Pause),
        _ => Some(Signal::Terminate),
    }
}

impl Signals {
    /// As [`SignalSource::wait`], or until `other` can be read.
    pub(crate) fn wait_beside(
        &mut self,
        other: Option<BorrowedFd<'_>>,
        at_most: Duration,
    ) -> Vec<Signal> {
        let timeout = Timespec::try_from(at_most).ok();
        let own = PollFd::new(self.delivery.get_read(), PollFlags::IN);
        let other = other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN));
        let mut waited: Vec<PollFd<'_>> = [own].into_iter().chain(other).collect();
        // A signal that interrupts it has also been written to the pipe.
        let _ = poll(&mut waited, timeout.as_ref());
        let mut received = Vec::new();
        for signal in self.delivery.pending().filter_map(meaning) {
            // Those of one meaning that come at once are one.
            if !received.contains(&signal) {
                received.push(signal);
            }
        }
        received
    }
}

impl SignalSource for Signals {
    fn wait(&mut self, at_most: Duration) -> Vec<Signal> {
        self.wait_beside(None, at_most)
    }

    fn pause(&mut self) {
        // Until SIGCONT. A process that cannot be stopped continues.
        let _ = kill_process(getpid(), rustix::process::Signal::STOP);
    }
}
