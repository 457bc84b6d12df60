//! Waits for sockets, a point in time, or a wake-up, whichever is first.

use crate::ns;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::time::Duration;

/// How many timers a poller has: one to wait for, and others that are set ahead.
pub(crate) const TIMERS: usize = 4;
/// The token of a [`Waker`].
const WAKER: u64 = u64::MAX;
/// The token of the first timer. Those from here on are the poller's own; sockets use others.
pub(crate) const FIRST_TIMER: u64 = WAKER - TIMERS as u64;

/// How long to wait if no socket is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Now,
    /// Until this time, on the clock of the `now` given with it.
    At(u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    /// The peer has closed its side, or the connection is broken.
    pub(crate) hang_up: bool,
}

impl Ready {
    /// The index and generation of the socket; see [`token`].
    pub(crate) fn socket(self) -> (usize, u32) {
        (self.token as u32 as usize, (self.token >> 32) as u32)
    }
}

/// Identifies a socket among all that its thread ever opened: its place, and
/// how many sockets the place has had.
pub(crate) fn token(index: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | (index as u32 as u64)
}

/// Edge-triggered sockets and timers.
///
/// The timers are timerfds: unlike epoll's time-out they have nanosecond resolution
/// on every kernel and no timer slack.
///
/// Setting the timer that ends first on a CPU programs its clock, which costs some 10 us in a virtual machine. Setting
/// one that ends after another costs less than 1 us, and the interrupt of the first programs it.
/// [`Poller::set_ahead`] uses that.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timers: [Timer; TIMERS],
    /// When the clock of the caller was at zero, in nanoseconds of the monotonic clock.
    zero: u64,
    events: Vec<Event>,
}

struct Timer {
    fd: OwnedFd,
    /// The time it was last set for.
    at: u64,
}

impl Timer {
    fn new() -> io::Result<Timer> {
        // Blocking: `sleep_then_poll` reads it.
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Timer { fd, at: 0 })
    }

    fn set(&mut self, zero: u64, at: u64) -> io::Result<()> {
        let spec = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(zero.saturating_add(at)),
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &spec)?;
        self.at = at;
        Ok(())
    }
}

impl Poller {
    /// A poller that reports at most `batch` events at a time, on a clock that is at `now` and runs as the
    /// monotonic clock does.
    pub(crate) fn new(batch: usize, now: u64) -> io::Result<Poller> {
        let monotonic = clock_gettime(ClockId::Monotonic);
        let zero = Duration::try_from(monotonic)
            .map_or(0, ns)
            .saturating_sub(now);
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timers = [Timer::new()?, Timer::new()?, Timer::new()?, Timer::new()?];
        for (timer, token) in timers.iter().zip(FIRST_TIMER..) {
            let token = EventData::new_u64(token);
            epoll::add(&epoll, &timer.fd, token, EventFlags::IN | EventFlags::ET)?;
        }
        Ok(Poller {
            epoll,
            timers,
            zero,
            events: Vec::with_capacity(batch),
        })
    }

    /// Registers `socket` until it is closed: readable, writable and closed are
    /// each reported once per edge.
    pub(crate) fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        debug_assert!(token < FIRST_TIMER, "{token}");
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)
    }

    /// Ends a wait when `waker` is used.
    pub(crate) fn add_waker(&self, waker: &Waker) -> io::Result<()> {
        let token = EventData::new_u64(WAKER);
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&self.epoll, &waker.0, token, flags)
    }

    /// Sets a timer for each of the times `ahead` that a wait will be for after the one until `at`, as long as there
    /// are free timers. One that ends during a wait for something else only ends that wait early.
    pub(crate) fn set_ahead(
        &mut self,
        now: u64,
        at: u64,
        ahead: impl Iterator<Item = u64>,
    ) -> io::Result<()> {
        self.timer_for(now, at)?;
        for at in ahead {
            match self.timers.iter_mut().find(|timer| timer.at <= now) {
                Some(free) if at > now => free.set(self.zero, at)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Sleeps until `at`, which is later than `now`, without watching sockets, then collects the ready ones in `ready`.
    pub(crate) fn sleep_then_poll(
        &mut self,
        now: u64,
        at: u64,
        ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
        let timer = self.timer_for(now, at)?;
        // A signal only shortens the sleep.
        let _ = io::read(&timer.fd, &mut [0; 8]);
        self.wait(now, Until::Now, ready).map(|_| ())
    }

    /// The timer that is set for `at`, later than `now`: a free one if none is yet, else the one that ends last.
    fn timer_for(&mut self, now: u64, at: u64) -> io::Result<&Timer> {
        let rank = |timer: &Timer| match timer.at {
            set if set == at => (0, 0),
            past if past <= now => (1, 0),
            later => (2, u64::MAX - later),
        };
        let best = (0..TIMERS)
            .min_by_key(|i| rank(&self.timers[*i]))
            .unwrap_or(0);
        let timer = &mut self.timers[best];
        if timer.at != at {
            timer.set(self.zero, at)?;
        }
        Ok(timer)
    }

    /// Waits, and collects the sockets that became ready in `ready`. Returns
    /// the time that was waited for if the timer ended the wait.
    pub(crate) fn wait(
        &mut self,
        now: u64,
        until: Until,
        ready: &mut Vec<Ready>,
    ) -> io::Result<Option<u64>> {
        const NO_TIME: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = match until {
            Until::At(u64::MAX) => None,
            Until::At(at) if at > now => {
                self.timer_for(now, at)?;
                None
            }
            Until::At(_) | Until::Now => Some(&NO_TIME),
        };
        self.events.clear();
        let events = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, events, timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
        let mut ended = false;
        for event in &self.events {
            let (token, flags) = (event.data.u64(), event.flags);
            match token {
                WAKER => {}
                FIRST_TIMER.. => {
                    let timer = &self.timers[(token - FIRST_TIMER) as usize];
                    ended |= until == Until::At(timer.at);
                }
                _ => {
                    let gone = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                    let hang_up = flags.intersects(gone);
                    ready.push(Ready { token, hang_up });
                }
            }
        }
        // A timer that ended before the wait says nothing about wake-up latency.
        Ok(match until {
            Until::At(at) if ended && ready.is_empty() => Some(at),
            _ => None,
        })
    }
}

fn timespec(ns: u64) -> Timespec {
    // Both fit, by the division and the modulus.
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

/// Ends the waits of all pollers that it was added to.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Waker> {
        Ok(Waker(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    pub(crate) fn wake(&self) {
        // Fails only if the counter is near 2^64: then it has been woken
        // already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_wait_is_never_shorter_than_requested() {
        let began = Instant::now();
        let mut poller = Poller::new(4, 0).unwrap();
        let mut ready = Vec::new();
        let fired = poller.wait(0, Until::At(3_000_000), &mut ready);
        assert_eq!(fired, Ok(Some(3_000_000)));
        assert!(began.elapsed().as_millis() >= 3);
        assert_eq!(poller.wait(7, Until::At(7), &mut ready), Ok(None));
        assert!(ready.is_empty());
    }

    #[test]
    fn a_timer_set_ahead_serves_its_own_wait_only() {
        let began = Instant::now();
        let mut poller = Poller::new(4, 0).unwrap();
        let mut ready = Vec::new();
        let ahead = [5_000_000, 7_000_000];
        poller.set_ahead(0, 3_000_000, ahead.into_iter()).unwrap();
        let set = poller.timers.each_ref().map(|timer| timer.at);
        assert_eq!(set, [3_000_000, 5_000_000, 7_000_000, 0]);
        poller.sleep_then_poll(0, 3_000_000, &mut ready).unwrap();
        assert!(began.elapsed().as_millis() >= 3);
        poller
            .sleep_then_poll(3_000_000, 7_000_000, &mut ready)
            .unwrap();
        assert!(began.elapsed().as_millis() >= 7);
        assert_eq!(poller.timers.each_ref().map(|timer| timer.at), set);
    }

    #[test]
    fn a_timer_that_ended_later_than_the_one_waited_for_does_not_hide_it() {
        let mut poller = Poller::new(4, 0).unwrap();
        let ahead = [1_000_002, 1_000_003];
        poller.set_ahead(0, 1_000_001, ahead.into_iter()).unwrap();
        let (waited_for, since) = (1_000_001, Instant::now());
        while since.elapsed().as_millis() < 2 {}
        let fired = poller.wait(0, Until::At(waited_for), &mut Vec::new());
        assert_eq!(fired, Ok(Some(waited_for)));
    }

    #[test]
    fn more_times_than_timers_are_waited_for_all_the_same() {
        let mut poller = Poller::new(4, 0).unwrap();
        let ahead = (1..9).map(|ms| ms * 10_000_000);
        poller.set_ahead(0, 1_000_000, ahead).unwrap();
        let mut fired = poller.wait(0, Until::At(2_000_000), &mut Vec::new());
        let set = poller.timers.each_ref().map(|timer| timer.at);
        assert_eq!(
            set,
            [1_000_000, 10_000_000, 20_000_000, 2_000_000],
            "it took the timer that would end last"
        );
        if fired == Ok(None) {
            // The timer for the first time ended it, and on a busy machine both did.
            fired = poller.wait(1_000_000, Until::At(2_000_000), &mut Vec::new());
        }
        assert_eq!(fired, Ok(Some(2_000_000)));
    }

    #[test]
    fn a_waker_ends_an_unlimited_wait() {
        let mut poller = Poller::new(4, 0).unwrap();
        let waker = Waker::new().unwrap();
        poller.add_waker(&waker).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            let fired = poller.wait(0, Until::At(u64::MAX), &mut Vec::new());
            assert_eq!(fired, Ok(None));
        });
    }
}
