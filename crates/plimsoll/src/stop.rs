//! Ctrl-C, SIGTERM and all others that end a process: the first ends a run cleanly, a
//! later one at once, when what the run has started has been ended.

use crate::failure::Failure;
use crate::signals::ending;
use crate::terminal;
use plimsoll_host::{Root, own_ignored_signals};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Signals within this time are one: a terminal that is closed sends SIGHUP by its
/// shell and by the kernel, and timeout(1) sends its signal to the process and to
/// its group.
const ONE: Duration = Duration::from_millis(500);

/// While a run begins, a signal ends the process after this time at the latest: a file that is read
/// may be a pipe without a writer.
const BEGINS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone, Default)]
pub(crate) struct Stop {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    raised: AtomicBool,
    begins: AtomicBool,
    before_exit: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Held by the thread that ends the process.
    leaving: Mutex<()>,
}

impl Stop {
    /// Handles the signals of this process from now on.
    pub(crate) fn on_signals() -> Result<Stop, Failure> {
        Stop::default().listening()
    }

    /// The same for a run that begins, and has nothing to lose until [`Stop::begun`].
    pub(crate) fn on_signals_of_a_run() -> Result<Stop, Failure> {
        let stop = Stop::default();
        // Before the first signal can come.
        stop.shared.begins.store(true, Ordering::Relaxed);
        stop.listening()
    }

    fn listening(self) -> Result<Stop, Failure> {
        let stop = self;
        // Signals that are ignored stay ignored, as under nohup(1) and in background jobs
        // of scripts.
        let ignored = own_ignored_signals(&Root::machine()).unwrap_or(0);
        let listening = Signals::new(ending(ignored)).and_then(|signals| {
            let stop = stop.clone();
            let thread = thread::Builder::new().name("signals".to_owned());
            thread.spawn(move || stop.act_on(signals))
        });
        listening.map_err(|e| {
            Failure::Run(format!(
                "signals cannot be handled: {e}; see `ulimit -u`, `ulimit -n` and pids.max of the cgroup"
            ))
        })?;
        Ok(stop)
    }

    /// From here on the run has a record and a plan.
    pub(crate) fn begun(&self) {
        self.shared.begins.store(false, Ordering::Relaxed);
    }

    /// Ends the process if the run has not begun after a while.
    fn leave_if_it_begins(&self) {
        let stop = self.clone();
        // Without a thread a second signal ends it.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(BEGINS_WITHIN);
            if stop.shared.begins.load(Ordering::Relaxed) {
                stop.leave_at_once();
            }
        });
    }

    /// Has `act` called before the process ends at once. Only the first call
    /// has an effect.
    pub(crate) fn before_exit(&self, act: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.before_exit.set(Box::new(act));
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.shared.raised
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Ends the run, as the first Ctrl-C does.
    pub(crate) fn raise(&self) {
        self.flag().store(true, Ordering::Relaxed);
    }

    /// Ends the process, with what it has started and on the terminal that it had.
    pub(crate) fn leave_at_once(&self) -> ! {
        let leaving = &self.shared.leaving;
        let _alone = leaving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(act) = self.shared.before_exit.get() {
            act();
        }
        let (done, is_done) = channel();
        let given_back = thread::Builder::new().spawn(move || {
            terminal::give_back();
            let _ = done.send(());
        });
        if given_back.is_ok() {
            let _ = is_done.recv_timeout(terminal::PATIENCE);
        }
        std::process::exit(i32::from(Failure::INTERRUPTED));
    }

    fn act_on(&self, mut signals: Signals) {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            if ends_at_once(first, Instant::now()) {
                self.leave_at_once();
            }
            if first.is_none() && self.shared.begins.load(Ordering::Relaxed) {
                self.leave_if_it_begins();
            }
            first = first.or_else(|| Some(Instant::now()));
            self.raise();
        }
    }
}

/// Whether a signal that comes `now` is another one than the first.
fn ends_at_once(first: Option<Instant>, now: Instant) -> bool {
    first.is_some_and(|first| now.saturating_duration_since(first) >= ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_come_together_are_one() {
        let first = Instant::now();
        assert!(!ends_at_once(None, first));
        assert!(!ends_at_once(Some(first), first + ONE / 2));
        assert!(ends_at_once(Some(first), first + ONE));
    }
}
