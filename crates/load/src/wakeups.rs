//! Wake-ups of a sleeping thread at intended times.
//!
//! The waker never waits for the thread that it wakes, and wakes it as often as was intended, so a
//! thread that is still busy with the wake-up before hides nothing. Latency runs from the call that
//! wakes to the first instruction after the wait; that of a timer from its intended time. How late
//! the waker called is the slip, which is no part of the latency: it is the sleep of the waker's
//! own CPU, and what is measured is that of the other one. A slip near the gap changes how long the
//! woken CPU sleeps.
//!
//! The waker sleeps until [`LEAD`] before the next wake-up and polls the clock from there on, on a
//! CPU of its own. It takes `LEAD / gap` of its CPU, with every policy alike.
//!
//! ```
//! use plimsoll_load::wakeups::{Pair, PairSpec};
//! use plimsoll_model::{Arrivals, Wait};
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//!
//! let cpu = plimsoll_pool::allowed_cpus()?.iter().next().ok_or("no CPU")?;
//! let ms = Duration::from_millis(1);
//! let spec = PairSpec { wait: Wait::Timer, waker: None, wakee: cpu, gap: ms, arrivals: Arrivals::Constant, seed: 1 };
//! let woken = Pair::start(&spec)?.run(10 * ms, &AtomicBool::new(false))?.ok_or("stopped")?;
//! assert_eq!(woken.latency.count(), 9, "at 1 to 9 ms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::LoadError;
use crate::arrivals::Schedule;
use crate::thread_id;
use plimsoll_model::{Arrivals, CpuId, Histogram, Rate, Wait};
use plimsoll_pool::{PoolError, pin_this_thread};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::thread::{clock_nanosleep_absolute, futex, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long before a wake-up the waker polls: twice the p99 of a timer's own wake-up on a virtual
/// machine with two CPUs (Linux 6.18, timer slack 1 ns).
pub const LEAD: Duration = Duration::from_micros(100);

/// The longest gap: the end of a run waits for it.
pub const LONGEST_GAP: Duration = Duration::from_secs(1);

/// From the start of the threads to the begin of the window: they are pinned and asleep by then.
const SETTLING: Duration = Duration::from_millis(5);

/// How long a raised stop may stay unseen.
const STOP_GRAIN: Duration = Duration::from_millis(50);

/// How many times of calls are kept: half of them are more than 2 s of wake-ups at the shortest
/// gap of `plimsoll wake`.
const CALLS: usize = 1 << 19;

/// In the count of wake-ups: no more follow.
const CLOSED: u32 = 1 << 31;

/// Who wakes whom, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSpec {
    pub wait: Wait,
    /// The waker's CPU; `None` for a timer, which has none.
    pub waker: Option<CpuId>,
    /// The CPU of the thread that is woken.
    pub wakee: CpuId,
    /// From one wake-up to the next, on average; up to [`LONGEST_GAP`].
    pub gap: Duration,
    pub arrivals: Arrivals,
    /// Seeds the arrivals.
    pub seed: u64,
}

/// What came of the wake-ups whose intended time lies in the window.
#[derive(Debug, Default)]
pub struct Woken {
    /// From the call that woke the thread, or the intended time of a timer, until it ran.
    pub latency: Histogram,
    /// From the intended time of each until the waker was about to wake.
    pub slip: Histogram,
    /// How often the thread went to sleep: less often than it was woken if it was still awake.
    pub slept: u64,
}

/// The threads, pinned and waiting for the window to open.
#[derive(Debug)]
pub struct Pair {
    wakee: Member,
    waker: Option<Member>,
    cancelled: Arc<AtomicBool>,
}

/// A window on the monotonic clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Window {
    opens: u64,
    closes: u64,
}

impl Window {
    /// The intended times within it.
    fn times(self, schedule: Schedule) -> impl Iterator<Item = u64> {
        let times = schedule.map(move |at| self.opens.saturating_add(at));
        times.take_while(move |at| *at < self.closes)
    }
}

#[derive(Debug)]
struct Member {
    id: u32,
    window: Sender<Window>,
    thread: JoinHandle<Woken>,
}

impl Pair {
    /// Starts the threads, each pinned to its CPU.
    ///
    /// # Errors
    /// A thread cannot be started or pinned; or another thread is to wake and has no CPU.
    pub fn start(spec: &PairSpec) -> Result<Pair, LoadError> {
        let rate = Rate::per_second(1.0 / spec.gap.as_secs_f64());
        let rate = rate.filter(|_| spec.gap <= LONGEST_GAP && !spec.gap.is_zero());
        let Some(rate) = rate else {
            return LoadError::mistake("the gap between wake-ups is not above 0 and up to 1s");
        };
        let schedule = Schedule::new(spec.arrivals, rate, spec.seed);
        let cancelled = Arc::new(AtomicBool::new(false));
        let (own, times) = (Arc::clone(&cancelled), schedule.clone());
        if spec.wait == Wait::Timer {
            let body = move |window: Window| sleeper(&own, window.times(times));
            let wakee = Member::start(spec.wakee, body)?;
            return Ok(Pair {
                wakee,
                waker: None,
                cancelled,
            });
        }
        let Some(cpu) = spec.waker else {
            return LoadError::mistake("a thread is woken by another, which has no CPU");
        };
        let line = Arc::new(Line::new(spec.wait)?);
        let wakees = Arc::clone(&line);
        let wakee = Member::start(spec.wakee, move |window| {
            wakee(&wakees, window.times(schedule))
        })?;
        let waker = Member::start(cpu, move |window| waker(&line, &own, window.times(times)))?;
        Ok(Pair {
            wakee,
            waker: Some(waker),
            cancelled,
        })
    }

    /// The kernel's IDs of the threads.
    pub fn thread_ids(&self) -> Vec<u32> {
        let members = [Some(&self.wakee), self.waker.as_ref()];
        members.into_iter().flatten().map(|m| m.id).collect()
    }

    /// Wakes for the length of a window; `None` when stopped before its end.
    ///
    /// # Errors
    /// A thread has failed.
    pub fn run(self, window: Duration, stop: &AtomicBool) -> Result<Option<Woken>, LoadError> {
        let opens = now_ns().saturating_add(crate::ns(SETTLING));
        let times = Window {
            opens,
            closes: opens.saturating_add(crate::ns(window)),
        };
        for member in [Some(&self.wakee), self.waker.as_ref()]
            .into_iter()
            .flatten()
        {
            // A thread that has ended has panicked, which its join tells.
            let _ = member.window.send(times);
        }
        loop {
            let left = Duration::from_nanos(times.closes.saturating_sub(now_ns()));
            if stop.load(Ordering::Relaxed) {
                self.cancelled.store(true, Ordering::Relaxed);
            } else if !left.is_zero() {
                std::thread::sleep(left.min(STOP_GRAIN));
                continue;
            }
            break;
        }
        let waker = self.waker.map(Member::join).transpose()?;
        let mut woken = self.wakee.join()?;
        woken.slip = waker.map_or_else(Histogram::new, |w| w.slip);
        Ok((!self.cancelled.load(Ordering::Relaxed)).then_some(woken))
    }
}

impl Member {
    /// A thread that is pinned, and runs `body` once it is told the window; never if the sender
    /// is dropped.
    fn start(
        cpu: CpuId,
        body: impl FnOnce(Window) -> Woken + Send + 'static,
    ) -> Result<Member, LoadError> {
        let (window, opened): (Sender<Window>, Receiver<Window>) = channel();
        let (ready, report) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("wake-up-{cpu}"))
            .spawn(move || {
                // A sandbox that refuses the slack shows as slip or as latency of timers.
                let _ = set_current_timer_slack(NonZeroU64::new(1));
                let _ = ready.send(pin_this_thread(cpu).map(|()| thread_id()));
                opened.recv().map(body).unwrap_or_default()
            })
            .map_err(|source| PoolError::Spawn { cpu, source })?;
        let id = report.recv().unwrap_or(Ok(0))?;
        Ok(Member { id, window, thread })
    }

    fn join(self) -> Result<Woken, LoadError> {
        drop(self.window);
        let failed = |_| {
            let why = std::io::Error::other("it panicked");
            LoadError::system("a thread that measures wake-ups failed", why, "report this")
        };
        self.thread.join().map_err(failed)
    }
}

/// Between a waker and the thread that it wakes.
#[derive(Debug)]
struct Line {
    /// How many wake-ups were made, and perhaps [`CLOSED`].
    made: AtomicU32,
    /// When the last of them were called, by their number modulo [`CALLS`].
    called: Vec<AtomicU64>,
    /// Where the thread waits, unless it waits in the futex of `made`.
    eventfd: Option<OwnedFd>,
}

impl Line {
    fn new(wait: Wait) -> Result<Line, LoadError> {
        let made = || eventfd(0, EventfdFlags::CLOEXEC);
        let eventfd = (wait == Wait::Eventfd).then(made).transpose();
        Ok(Line {
            made: AtomicU32::new(0),
            called: (0..CALLS).map(|_| AtomicU64::new(0)).collect(),
            eventfd: eventfd
                .map_err(|e| LoadError::system("cannot make an eventfd", e, "raise `ulimit -n`"))?,
        })
    }

    /// Notes the time of a wake-up that [`Line::wake`] then makes.
    fn call(&self, number: u32, at_ns: u64) {
        if let Some(called) = self.called.get(number as usize % CALLS) {
            called.store(at_ns, Ordering::Relaxed);
        }
    }

    /// When a wake-up of the last `CALLS / 2` was called; of an older one, whose place may be
    /// written over, when it was intended, which is earlier.
    fn called(&self, number: u32, made: u32, intended: u64) -> u64 {
        let place = self.called.get(number as usize % CALLS);
        place
            .filter(|_| ((made - number) as usize) < CALLS / 2)
            .map_or(intended, |called| called.load(Ordering::Relaxed))
    }

    fn wake(&self, add: u32) {
        self.made.fetch_add(add, Ordering::Release);
        // Neither fails: the futex is this process' own, and the count is read again and again.
        match &self.eventfd {
            Some(fd) => {
                let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
            }
            None => {
                let _ = futex::wake(&self.made, futex::Flags::PRIVATE, 1);
            }
        }
    }

    /// Sleeps unless more than `seen` wake-ups were made. May return early.
    fn sleep(&self, seen: u32) {
        match &self.eventfd {
            Some(fd) => {
                let _ = rustix::io::read(fd, &mut [0; 8]);
            }
            None => {
                let _ = futex::wait(&self.made, futex::Flags::PRIVATE, seen, None);
            }
        }
    }
}

fn waker(line: &Line, cancelled: &AtomicBool, times: impl Iterator<Item = u64>) -> Woken {
    let mut woken = Woken::default();
    let lead = crate::ns(LEAD);
    for (number, at) in (0..).zip(times) {
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        let mut now = now_ns();
        if now.saturating_add(lead) < at {
            sleep_until(at - lead);
            now = now_ns();
        }
        while now < at {
            std::hint::spin_loop();
            now = now_ns();
        }
        woken.slip.record_ns(now - at);
        line.call(number, now);
        line.wake(1);
    }
    line.wake(CLOSED);
    woken
}

fn wakee(line: &Line, mut times: impl Iterator<Item = u64>) -> Woken {
    let mut woken = Woken::default();
    let mut seen = 0;
    loop {
        let made = line.made.load(Ordering::Acquire);
        let now = now_ns();
        let wakes = made & !CLOSED;
        for (number, at) in (seen..wakes).zip(times.by_ref()) {
            let called = line.called(number, wakes, at);
            woken.latency.record_ns(now.saturating_sub(called));
        }
        seen = wakes;
        if made != seen {
            return woken;
        }
        // A wake-up since then ends the wait at once.
        woken.slept += u64::from(line.made.load(Ordering::Relaxed) == seen);
        line.sleep(seen);
    }
}

fn sleeper(cancelled: &AtomicBool, times: impl Iterator<Item = u64>) -> Woken {
    let mut woken = Woken::default();
    for at in times {
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        woken.slept += u64::from(now_ns() < at);
        sleep_until(at);
        woken.latency.record_ns(now_ns().saturating_sub(at));
    }
    woken
}

/// CLOCK_MONOTONIC, in nanoseconds.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Sleeps until a time of that clock; at once if it has passed.
fn sleep_until(at_ns: u64) {
    let until = Timespec {
        tv_sec: (at_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (at_ns % 1_000_000_000).cast_signed(),
    };
    // A signal ends it early.
    while now_ns() < at_ns && clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn spec(wait: Wait) -> PairSpec {
        let cpus = plimsoll_pool::allowed_cpus().unwrap();
        let wakee = cpus.iter().last().unwrap();
        PairSpec {
            wait,
            waker: (wait != Wait::Timer).then(|| cpus.iter().next().unwrap()),
            wakee,
            gap: MS,
            arrivals: Arrivals::Poisson,
            seed: 7,
        }
    }

    fn run(spec: &PairSpec) -> Woken {
        let pair = Pair::start(spec).unwrap();
        let threads = 1 + usize::from(spec.waker.is_some());
        assert_eq!(pair.thread_ids().len(), threads);
        pair.run(50 * MS, &AtomicBool::new(false)).unwrap().unwrap()
    }

    #[test]
    fn each_intended_wake_up_is_counted_once() {
        for wait in Wait::ALL {
            let spec = spec(wait);
            let rate = Rate::per_second(1000.0).unwrap();
            let intended = Schedule::new(Arrivals::Poisson, rate, 7);
            let intended = intended.take_while(|at| *at < 50_000_000).count() as u64;
            let woken = run(&spec);
            assert_eq!(woken.latency.count(), intended, "{wait}");
            let slips = if wait == Wait::Timer { 0 } else { intended };
            assert_eq!(woken.slip.count(), slips, "{wait}");
            assert!(woken.slept <= intended + 1, "{wait}: {}", woken.slept);
        }
    }

    #[test]
    fn a_waker_that_cannot_keep_up_skips_nothing() {
        // A gap below what a wake-up costs: all are late, none is left out.
        for wait in Wait::ALL {
            let gap = Duration::from_nanos(500);
            let spec = PairSpec {
                gap,
                arrivals: Arrivals::Constant,
                ..spec(wait)
            };
            let pair = Pair::start(&spec).unwrap();
            let woken = pair.run(MS, &AtomicBool::new(false)).unwrap().unwrap();
            assert!((1_999..=2_000).contains(&woken.latency.count()), "{wait}");
        }
    }

    #[test]
    fn latency_runs_from_the_call_while_its_time_is_kept() {
        let line = Line::new(Wait::Futex).unwrap();
        line.call(7, 900);
        assert_eq!(line.called(7, 8, 500), 900);
        let many = 7 + CALLS as u32 / 2;
        assert_eq!(line.called(7, many - 1, 500), 900);
        assert_eq!(line.called(7, many, 500), 500, "it may be written over");
    }

    #[test]
    fn a_raised_stop_ends_it() {
        for wait in Wait::ALL {
            let pair = Pair::start(&spec(wait)).unwrap();
            let day = Duration::from_secs(86_400);
            assert!(pair.run(day, &AtomicBool::new(true)).unwrap().is_none());
        }
    }

    #[test]
    fn a_pair_that_never_ran_ends() {
        drop(Pair::start(&spec(Wait::Futex)).unwrap());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |spec: PairSpec| Pair::start(&spec).unwrap_err().to_string();
        let too_long = PairSpec {
            gap: 2 * LONGEST_GAP,
            ..spec(Wait::Futex)
        };
        assert!(refused(too_long).contains("gap"));
        let no_gap = PairSpec {
            gap: Duration::ZERO,
            ..spec(Wait::Timer)
        };
        assert!(refused(no_gap).contains("gap"));
        let nobody = PairSpec {
            waker: None,
            ..spec(Wait::Eventfd)
        };
        assert!(refused(nobody).contains("no CPU"));
        let no_such_cpu = PairSpec {
            wakee: 8000,
            ..spec(Wait::Timer)
        };
        assert!(refused(no_such_cpu).contains("CPU 8000"));
    }
}
