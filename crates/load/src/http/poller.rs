//! Waits for sockets, a point in time, or a wake-up, whichever is first.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::thread::{ClockId, clock_nanosleep_relative};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Tokens of the timer and of a [`Waker`]; sockets use others.
const TIMER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

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

/// Edge-triggered sockets and a timer.
///
/// The timer is a timerfd: unlike epoll's time-out it has nanosecond resolution
/// on every kernel and no timer slack.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed_for: Option<u64>,
    events: Vec<Event>,
}

impl Poller {
    /// A poller that reports at most `batch` events at a time.
    pub(crate) fn new(batch: usize) -> io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let token = EventData::new_u64(TIMER);
        epoll::add(&epoll, &timer, token, EventFlags::IN | EventFlags::ET)?;
        Ok(Poller {
            epoll,
            timer,
            armed_for: None,
            events: Vec::with_capacity(batch),
        })
    }

    /// Registers `socket` until it is closed: readable, writable and closed are
    /// each reported once per edge.
    pub(crate) fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)
    }

    /// Ends a wait when `waker` is used.
    pub(crate) fn add_waker(&self, waker: &Waker) -> io::Result<()> {
        let token = EventData::new_u64(WAKER);
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&self.epoll, &waker.0, token, flags)
    }

    /// Sleeps for `ns` without watching sockets, then collects the ready ones
    /// in `ready`.
    pub(crate) fn sleep_then_poll(&mut self, ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        // A signal only shortens the sleep.
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(ns));
        self.wait(0, Until::Now, ready).map(|_| ())
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
            Until::At(at) if at > now => {
                self.arm(now, at)?;
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
        let mut fired = None;
        for event in &self.events {
            let (token, flags) = (event.data.u64(), event.flags);
            match token {
                TIMER => fired = self.armed_for.take(),
                WAKER => {}
                _ => {
                    let gone = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                    let hang_up = flags.intersects(gone);
                    ready.push(Ready { token, hang_up });
                }
            }
        }
        // A timer that fired without a wait says nothing about wake-up latency.
        Ok(fired.filter(|_| timeout.is_none() && ready.is_empty()))
    }

    /// Sets the timer, unless it is set already. It is relative to now, which
    /// avoids clock conversion; it is late, never early, by the time since
    /// `now` was read.
    fn arm(&mut self, now: u64, at: u64) -> io::Result<()> {
        if self.armed_for == Some(at) || (at == u64::MAX && self.armed_for.is_none()) {
            return Ok(());
        }
        // Zero disarms the timer.
        let wait = if at == u64::MAX { 0 } else { at - now };
        let spec = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(wait),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
        self.armed_for = (at != u64::MAX).then_some(at);
        Ok(())
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
        let mut poller = Poller::new(4).unwrap();
        let mut ready = Vec::new();
        let began = Instant::now();
        let fired = poller.wait(0, Until::At(3_000_000), &mut ready);
        assert_eq!(fired, Ok(Some(3_000_000)));
        assert!(began.elapsed().as_millis() >= 3);
        assert_eq!(poller.wait(7, Until::At(7), &mut ready), Ok(None));
        assert!(ready.is_empty());
    }

    #[test]
    fn a_waker_ends_an_unlimited_wait() {
        let mut poller = Poller::new(4).unwrap();
        let waker = Waker::new().unwrap();
        poller.add_waker(&waker).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            let fired = poller.wait(0, Until::At(u64::MAX), &mut Vec::new());
            assert_eq!(fired, Ok(None));
        });
    }
}
