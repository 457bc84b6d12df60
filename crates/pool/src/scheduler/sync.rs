//! What the model-checked modules are built of: the standard library, or loom's
//! models of it with `--cfg model_check`.

use crate::waiting::Step;
#[cfg(model_check)]
pub(crate) use loom::hint::spin_loop;
#[cfg(model_check)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(model_check)]
pub(crate) use loom::thread::yield_now;
#[cfg(not(model_check))]
pub(crate) use std::hint::spin_loop;
#[cfg(not(model_check))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(model_check))]
pub(crate) use std::thread::yield_now;

/// Locks; no caller leaves what it guards in pieces when it panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Passes the time of a step that does not park.
pub(crate) fn take(step: Step) {
    match step {
        Step::Pause(times) => (0..times).for_each(|_| spin_loop()),
        Step::Yield => yield_now(),
        Step::Park => {}
    }
}

#[cfg(not(model_check))]
pub(crate) use futex::Parker;
#[cfg(model_check)]
pub(crate) use model::{HORIZON_NS, Parker};

#[cfg(not(model_check))]
mod futex {
    use crate::wait::{Clock, wait_while, wake};
    use std::sync::atomic::{AtomicU32, Ordering};

    const EMPTY: u32 = 0;
    const NOTIFIED: u32 = 1;

    /// Where one worker sleeps. Notification and reset happen under the lock of
    /// [`Sleep`](crate::scheduler::sleep::Sleep).
    #[derive(Debug)]
    pub(crate) struct Parker {
        word: AtomicU32,
        clock: Clock,
    }

    impl Parker {
        pub(crate) fn new(clock: Clock) -> Parker {
            let word = AtomicU32::new(EMPTY);
            Parker { word, clock }
        }

        /// Lets the current or the next [`Parker::park`] return.
        pub(crate) fn notify(&self) {
            self.word.store(NOTIFIED, Ordering::Release);
        }

        /// Ends the sleep of a worker that was notified.
        pub(crate) fn wake(&self) {
            wake(&self.word, 1);
        }

        pub(crate) fn reset(&self) {
            self.word.store(EMPTY, Ordering::Relaxed);
        }

        /// Sleeps until notified or until `until_ns` of the clock.
        pub(crate) fn park(&self, until_ns: Option<u64>) {
            while self.word.load(Ordering::Acquire) == EMPTY {
                if until_ns.is_some_and(|until| self.clock.now_ns() >= until) {
                    return;
                }
                wait_while(
                    &self.word,
                    EMPTY,
                    until_ns.map(|until| (&self.clock, until)),
                );
            }
        }
    }
}

#[cfg(model_check)]
mod model {
    use crate::wait::Clock;
    use loom::sync::{Condvar, Mutex};

    /// In a model, time passes at once up to here, and not beyond.
    pub(crate) const HORIZON_NS: u64 = 1_000;

    /// The same with a condition variable. A sleep until a time within the horizon ends. Another
    /// that nobody ends is a deadlock, which loom reports.
    #[derive(Debug)]
    pub(crate) struct Parker {
        notified: Mutex<bool>,
        condition: Condvar,
    }

    impl Parker {
        pub(crate) fn new(_: Clock) -> Parker {
            Parker {
                notified: Mutex::new(false),
                condition: Condvar::new(),
            }
        }

        pub(crate) fn notify(&self) {
            *super::lock(&self.notified) = true;
        }

        pub(crate) fn wake(&self) {
            self.condition.notify_one();
        }

        pub(crate) fn reset(&self) {
            *super::lock(&self.notified) = false;
        }

        pub(crate) fn park(&self, until_ns: Option<u64>) {
            let mut notified = super::lock(&self.notified);
            while !*notified && until_ns.is_none_or(|until| until > HORIZON_NS) {
                notified = match self.condition.wait(notified) {
                    Ok(guard) => guard,
                    Err(poison) => poison.into_inner(),
                };
            }
        }
    }
}
