//! How a worker waits for a point in time or for a stop.
//!
//! Workers sleep, which uses no CPU time but starts jobs late by the wake-up
//! latency of the kernel and of the CPU's idle state. With 1000 empty jobs a
//! second on a virtual machine with two CPUs (AMD EPYC, Linux 6.18, timer slack
//! 1 ns), starts were late by 35 us in the median (99 %: 90 us) for 2.5 % of the
//! worker's CPU. Spinning for the last 50 us made that 0.1 us (40 us) for 3.7 %.
//!
//! A worker sleeps in a futex wait on the [`Gate`]'s word, with an absolute
//! time-out on CLOCK_MONOTONIC. One system call thus serves both ends: the
//! timer wakes it at the time, and stopping the pool wakes it at once. An
//! absolute time-out is not delayed by the time between reading the clock and
//! falling asleep.

use crate::waiting::{Step, Waiter};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Sets the timer slack of the calling thread to 1 ns; the kernel's default
/// delays timers by up to 50 us (prctl(2), PR_SET_TIMERSLACK).
pub(crate) fn set_min_timer_slack() {
    // If a sandbox refuses it, starts are up to 50 us later, which the slip
    // shows.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Nanoseconds since the epoch, and their mapping to the kernel's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    /// CLOCK_MONOTONIC at the epoch.
    began_monotonic_ns: i128,
}

impl Clock {
    pub(crate) fn new(began: Instant) -> Clock {
        // The closest of several pairs of readings, in case this thread is
        // interrupted between the two.
        let (_, began_monotonic_ns) = (0..5)
            .map(|_| {
                let before = Instant::now();
                let monotonic = clock_gettime(ClockId::Monotonic);
                let apart = before.elapsed();
                let monotonic_ns =
                    i128::from(monotonic.tv_sec) * 1_000_000_000 + i128::from(monotonic.tv_nsec);
                let since = before.saturating_duration_since(began).as_nanos();
                let until = began.saturating_duration_since(before).as_nanos();
                (apart, monotonic_ns - since as i128 + until as i128)
            })
            .min()
            .unwrap_or_default();
        Clock {
            began,
            began_monotonic_ns,
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.ns_at(Instant::now())
    }

    /// 0 before the epoch.
    pub(crate) fn ns_at(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.began);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self, at_ns: u64) -> Timespec {
        let ns = self.began_monotonic_ns + i128::from(at_ns);
        Timespec {
            // Below 2^64 ns plus the machine's uptime: fits in 63 bits.
            tv_sec: i64::try_from(ns.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
            tv_nsec: ns.rem_euclid(1_000_000_000) as i64,
        }
    }
}

/// A barrier for workers: closed until all are ready, then open until the pool
/// is stopped. The phase only increases.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicU32);

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const STOPPED: u32 = 2;

/// Sleeps while `word` has this value, until a wake-up or a time of the clock.
/// Signals end it too: the caller looks at word and clock again in every case.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, until: Option<(&Clock, u64)>) {
    let until = until.map(|(clock, at_ns)| clock.monotonic(at_ns));
    let flags = futex::Flags::PRIVATE;
    let _ = futex::wait_bitset(word, flags, value, until.as_ref(), ANY_WAKER);
}

/// Wakes up to `count` threads that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    // Fails only for an invalid address.
    let _ = futex::wake(word, futex::Flags::PRIVATE, count);
}

/// Matches every wake-up.
const ANY_WAKER: NonZeroU32 = NonZeroU32::MAX;

impl Gate {
    pub(crate) fn open(&self) {
        self.advance(OPEN);
    }

    pub(crate) fn stop(&self) {
        self.advance(STOPPED);
    }

    fn advance(&self, phase: u32) {
        self.0.fetch_max(phase, Ordering::AcqRel);
        wake(&self.0, i32::MAX as u32);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire) == STOPPED
    }

    /// Waits until the gate is opened; `false` if it was stopped instead.
    pub(crate) fn wait_open(&self) -> bool {
        while self.0.load(Ordering::Acquire) == CLOSED {
            wait_while(&self.0, CLOSED, None);
        }
        !self.is_stopped()
    }

    /// Waits as `waiter` decides until `at_ns` and returns the current time, or `None` if the
    /// gate was stopped first.
    pub(crate) fn wait_until(&self, clock: &Clock, at_ns: u64, waiter: &mut Waiter) -> Option<u64> {
        let mut round = 0;
        loop {
            let now = clock.now_ns();
            if self.is_stopped() {
                return None;
            }
            if now >= at_ns {
                waiter.found(now);
                return Some(now);
            }
            match waiter.step(round, now) {
                Step::Pause(pauses) => (0..pauses).for_each(|_| std::hint::spin_loop()),
                Step::Yield => std::thread::yield_now(),
                Step::Park => wait_while(&self.0, OPEN, Some((clock, at_ns))),
            }
            round = round.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::Waiting;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn wait_ends_at_the_time_and_not_before() {
        let gate = Gate::default();
        gate.open();
        let clock = Clock::new(Instant::now());
        for at_ns in [3_000_000, 0] {
            for policy in Waiting::ALL {
                let woke = gate.wait_until(&clock, at_ns, &mut Waiter::new(policy));
                assert!(woke.unwrap() >= at_ns, "{policy}: {at_ns}: {woke:?}");
            }
        }
    }

    #[test]
    fn stop_ends_endless_waits() {
        let gate = Arc::new(Gate::default());
        let clock = Clock::new(Instant::now());
        let until = move |gate: &Gate, at_ns| {
            gate.wait_until(&clock, at_ns, &mut Waiter::new(Waiting::Park))
        };
        let own = Arc::clone(&gate);
        let waiter = std::thread::spawn(move || own.wait_open().then(|| until(&own, u64::MAX)));
        gate.open();
        gate.stop();
        let woke = waiter.join().unwrap().flatten();
        assert_eq!(woke, None);
        assert_eq!(until(&gate, 0), None, "it stays so");
    }

    #[test]
    fn both_clocks_agree_for_past_and_future_epochs() {
        let now = Instant::now();
        let hour = Duration::from_secs(3600);
        let monotonic_s = |began| Clock::new(began).monotonic(0).tv_sec;
        let here = monotonic_s(now);
        assert!((monotonic_s(now + hour) - here - 3600).abs() <= 1);
        if let Some(earlier) = now.checked_sub(hour) {
            assert!((monotonic_s(earlier) - here + 3600).abs() <= 1);
        }
        assert_eq!(Clock::new(now + hour).now_ns(), 0);
    }
}
