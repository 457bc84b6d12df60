//! Ctrl-C and SIGTERM: the first ends a run cleanly, a second Ctrl-C at once.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a run is to end.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    raised: Arc<AtomicBool>,
    /// Up when one more Ctrl-C is to end the process where it is. Who has
    /// taken the terminal takes this down, for it would not be given back.
    at_once: Arc<AtomicBool>,
    /// Whether that was seen to be up once before.
    seen: Arc<AtomicBool>,
}

impl Stop {
    /// Handles the signals of this process from now on.
    pub(crate) fn on_signals() -> Result<Stop, Failure> {
        let stop = Stop {
            raised: Arc::default(),
            at_once: Arc::default(),
            seen: Arc::default(),
        };
        let failed = |e| Failure::Run(format!("signals cannot be handled: {e}"));
        let interrupted = i32::from(Failure::INTERRUPTED);
        // The first signal finds the flag down and raises it; the second exits.
        let at_once = Arc::clone(&stop.at_once);
        flag::register_conditional_shutdown(SIGINT, interrupted, at_once).map_err(failed)?;
        for signal in [SIGINT, SIGTERM] {
            for raised in [&stop.raised, &stop.at_once] {
                flag::register(signal, Arc::clone(raised)).map_err(failed)?;
            }
        }
        Ok(stop)
    }

    /// The flag itself, for those who run trials.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.raised
    }

    /// Whether the run is to end.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// Ends the run, as the first Ctrl-C does.
    pub(crate) fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// For who has taken the terminal, and asks again and again: whether the
    /// process is to end now. Until [`Stop::hand_back`] that is theirs to do.
    pub(crate) fn was_interrupted_again(&self) -> bool {
        self.at_once.swap(false, Ordering::Relaxed) && self.seen.swap(true, Ordering::Relaxed)
    }

    /// The terminal is given back: one more Ctrl-C ends the process by itself.
    pub(crate) fn hand_back(&self) {
        self.at_once.store(self.is_raised(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_interruption_is_told_from_the_first() {
        let stop = Stop {
            raised: Arc::default(),
            at_once: Arc::default(),
            seen: Arc::default(),
        };
        let interrupt = || {
            stop.raise();
            stop.at_once.store(true, Ordering::Relaxed);
        };
        assert!(!stop.was_interrupted_again());
        interrupt();
        assert!(!stop.was_interrupted_again());
        assert!(!stop.was_interrupted_again(), "nothing happened since");
        interrupt();
        assert!(stop.was_interrupted_again());
    }

    #[test]
    fn who_gives_the_terminal_back_leaves_the_next_ctrl_c_to_the_process() {
        let stop = Stop {
            raised: Arc::default(),
            at_once: Arc::default(),
            seen: Arc::default(),
        };
        stop.hand_back();
        assert!(!stop.at_once.load(Ordering::Relaxed));
        stop.raise();
        stop.hand_back();
        assert!(stop.at_once.load(Ordering::Relaxed));
    }
}
