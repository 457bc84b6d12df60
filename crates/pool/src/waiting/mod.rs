//! How a worker waits for work: policies as values.
//!
//! A worker that found nothing in a *search* of all queues takes a *step* and searches again: some
//! pauses of the CPU (`pause` on x86-64, `isb` on arm64), `sched_yield`, or parking in a futex. The
//! policy decides which. It never decides whether a wake-up is lost: a worker that parks does so by
//! the protocol of the scheduler, whatever it did before.
//!
//! | policy | steps after searches in vain | constants |
//! |---|---|---|
//! | [`Waiting::Spin`] | pauses, for ever | 1, 2, 4, 8, then 16 pauses |
//! | [`Waiting::SpinThenYield`] | pauses, then yields, for ever | 1 to 32 pauses in 6 steps |
//! | [`Waiting::YieldThenPark`] | pauses, yields, then parks | 6 steps of pauses, 26 yields: some 15 us on an idle CPU |
//! | [`Waiting::SpinThenPark`] | pauses for a time, then parks | [`SPIN_LIMIT`] |
//! | [`Waiting::Adaptive`] | pauses for a learnt time, then parks | [`WAKE_UP_PRICE`], and those of [`SpinLimit`] |
//! | [`Waiting::Park`] | parks | none |
//!
//! `tpause` and `umwait`, which wait for a time or a write without using the core, are not
//! available: the standard library has no stable function for them, so they need `unsafe` code,
//! which this crate forbids. Not all machines have them either (`waitpkg` among the flags in
//! /proc/cpuinfo).
//!
//! No lock of this crate spins by itself. `std::sync::Mutex` pauses (`spin_loop`) up to 100 times
//! before it sleeps.

mod adaptive;

pub use adaptive::SpinLimit;

use plimsoll_model::{human_duration, parse_duration};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long [`Waiting::SpinThenPark`] spins unless it is told: about what it costs to park and to be
/// woken, so that it burns at most twice what the best time would have.
pub const SPIN_LIMIT: Duration = Duration::from_micros(50);

/// What [`Waiting::Adaptive`] takes a wake-up by the kernel to be worth in spinning, unless it is
/// told: gaps well below it are spun through, gaps well above it are slept through.
///
/// It is 50 times what a wake-up costs in CPU time, because a late start costs more than CPU time: with
/// Poisson gaps of 1 ms a worker spins through 999 of 1000, with gaps of 5 ms on average it parks.
pub const WAKE_UP_PRICE: Duration = Duration::from_micros(2_500);

/// Steps of doubling pauses before yields.
const PAUSES: u32 = 6;

/// Steps of [`Waiting::YieldThenPark`] before it parks.
const ROUNDS: u32 = 32;

/// The longest step of pauses of a policy that spins, as a power of 2: below 1 us.
const LONGEST_PAUSE: u32 = 4;

/// How a worker waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Spins until there is work. Burns a CPU, and takes it from threads that could run.
    Spin,
    /// Spins, then yields until there is work. Burns a CPU that no other thread wants.
    SpinThenYield,
    /// Spins, yields some times, then parks.
    YieldThenPark,
    /// Spins for at most so long, then parks.
    SpinThenPark { limit: Duration },
    /// Spins for a time that follows the gaps it saw, then parks. A wake-up is taken to be worth
    /// `price` of spinning.
    Adaptive { price: Duration },
    /// Parks at once.
    Park,
}

impl Waiting {
    /// All, with their usual constants.
    pub const ALL: [Waiting; 6] = [
        Waiting::Spin,
        Waiting::SpinThenYield,
        Waiting::YieldThenPark,
        Waiting::SpinThenPark { limit: SPIN_LIMIT },
        Waiting::Adaptive {
            price: WAKE_UP_PRICE,
        },
        Waiting::Park,
    ];

    fn name(self) -> &'static str {
        match self {
            Waiting::Spin => "spin",
            Waiting::SpinThenYield => "spin-then-yield",
            Waiting::YieldThenPark => "yield-then-park",
            Waiting::SpinThenPark { .. } => "spin-then-park",
            Waiting::Adaptive { .. } => "adaptive",
            Waiting::Park => "park",
        }
    }

    fn time(self) -> Option<Duration> {
        match self {
            Waiting::SpinThenPark { limit: time } | Waiting::Adaptive { price: time } => Some(time),
            _ => None,
        }
    }

    fn with_time(self, time: Duration) -> Option<Waiting> {
        match self {
            Waiting::SpinThenPark { .. } => Some(Waiting::SpinThenPark { limit: time }),
            Waiting::Adaptive { .. } => Some(Waiting::Adaptive { price: time }),
            _ => None,
        }
    }
}

/// The name, and the time where it is not the usual one: `adaptive`, `spin-then-park:20us`.
impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_usual = Waiting::ALL.contains(self);
        match self.time().filter(|_| !is_usual) {
            Some(time) => write!(f, "{}:{}us", self.name(), time.as_nanos() as f64 / 1e3),
            None => f.write_str(self.name()),
        }
    }
}

/// A text that names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitingError {
    #[error("'{0}' is no waiting policy")]
    Unknown(String),
    #[error("{0} takes no time")]
    TakesNoTime(&'static str),
    #[error("'{0}' is no time from 1us to {limit}", limit = human_duration(LONGEST_TIME))]
    Time(String),
}

/// The longest spin limit or price that can be asked for.
const LONGEST_TIME: Duration = Duration::from_secs(1);

impl FromStr for Waiting {
    type Err = WaitingError;

    fn from_str(text: &str) -> Result<Waiting, WaitingError> {
        let (name, time) = match text.split_once(':') {
            Some((name, time)) => (name, Some(time)),
            None => (text, None),
        };
        let named = Waiting::ALL.into_iter().find(|w| w.name() == name);
        let named = named.ok_or_else(|| WaitingError::Unknown(text.to_owned()))?;
        let Some(time) = time else {
            return Ok(named);
        };
        let range = Duration::from_micros(1)..=LONGEST_TIME;
        let parsed = parse_duration(time).filter(|time| range.contains(time));
        let parsed = parsed.ok_or_else(|| WaitingError::Time(time.to_owned()))?;
        let timed = named.with_time(parsed);
        timed.ok_or(WaitingError::TakesNoTime(named.name()))
    }
}

/// What a worker does after a search in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many pauses of the CPU.
    Pause(u32),
    /// Lets another thread run on this CPU.
    Yield,
    /// Sleeps until woken.
    Park,
}

/// The waiting of one worker. Its decisions are pure: time is an argument.
#[derive(Debug)]
pub(crate) struct Waiter {
    policy: Waiting,
    /// Of [`Waiting::Adaptive`].
    learnt: Option<SpinLimit>,
    /// When the current wait began.
    began_ns: Option<u64>,
    /// When the worker began to spin, at first or after it was woken.
    spins_since_ns: u64,
}

impl Waiter {
    pub(crate) fn new(policy: Waiting) -> Waiter {
        Waiter {
            policy,
            learnt: match policy {
                Waiting::Adaptive { price } => Some(SpinLimit::new(price)),
                _ => None,
            },
            began_ns: None,
            spins_since_ns: 0,
        }
    }

    /// Whether it looks at the time; else any time will do.
    pub(crate) fn needs_clock(&self) -> bool {
        self.policy.time().is_some()
    }

    /// The step after the `round`th search in vain, from 0, since the wait began or since the
    /// worker was woken.
    pub(crate) fn step(&mut self, round: u32, now_ns: u64) -> Step {
        if round == 0 {
            self.spins_since_ns = now_ns;
        }
        self.began_ns.get_or_insert(now_ns);
        let spun = Duration::from_nanos(now_ns.saturating_sub(self.spins_since_ns));
        let spin = Step::Pause(1 << round.min(LONGEST_PAUSE));
        let spin_until = |limit: Duration| if spun < limit { spin } else { Step::Park };
        match self.policy {
            Waiting::Spin => spin,
            Waiting::SpinThenYield | Waiting::YieldThenPark if round < PAUSES => {
                Step::Pause(1 << round)
            }
            Waiting::SpinThenYield => Step::Yield,
            Waiting::YieldThenPark if round < ROUNDS => Step::Yield,
            Waiting::YieldThenPark | Waiting::Park => Step::Park,
            Waiting::SpinThenPark { limit } => spin_until(limit),
            Waiting::Adaptive { price } => {
                spin_until(self.learnt.as_ref().map_or(price, SpinLimit::limit))
            }
        }
    }

    /// Whether a wait goes on: a search that finds work at once is none.
    pub(crate) fn waits(&self) -> bool {
        self.began_ns.is_some()
    }

    /// The wait has ended, with work.
    pub(crate) fn found(&mut self, now_ns: u64) {
        let began_ns = self.began_ns.take();
        if let (Some(began_ns), Some(learnt)) = (began_ns, &mut self.learnt) {
            learnt.observe(Duration::from_nanos(now_ns.saturating_sub(began_ns)));
        }
    }
}

#[cfg(all(test, not(model_check)))]
mod tests;
