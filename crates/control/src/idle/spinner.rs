//! A thread of class `SCHED_IDLE` that keeps one CPU from sleeping by running on it.
//!
//! Any other task of the CPU preempts it at once, and the scheduler counts the CPU as
//! idle (`sched_idle_cpu` in kernel/sched/fair.c). It needs no privilege. It takes power,
//! slows the second thread of its core, and is billed as CPU time, so it stops by itself
//! when the hypervisor runs something else meanwhile (steal) or its budget is spent.
//!
//! `pause` is its instruction: `tpause` and `umwait` take less power, but need `unsafe`.

use crate::error::ControlError;
use crate::schedule::{Class, set_affinity, take_class};
use plimsoll_host::{CpuTimes, Root};
use plimsoll_model::{CpuId, Share};
use rustix::thread::sched_getcpu;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// When a spinner stops by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpinLimits {
    /// The largest share of steal on its CPU, over each second.
    pub most_steal: Share,
    /// The most CPU time that it may take in all; `None`: any.
    pub budget: Option<Duration>,
}

/// Steal is counted in ticks of 10 ms: 5 % are 5 of them in a second, so one is no alarm.
impl Default for SpinLimits {
    fn default() -> SpinLimits {
        SpinLimits {
            most_steal: Share::new(0.05).unwrap_or(Share::ZERO),
            budget: None,
        }
    }
}

/// Why a spinner has stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpinEnd {
    /// The hypervisor ran something else for more than this share of a second.
    Steal(Share),
    /// The counters of steal cannot be read.
    StealUnknown,
    Budget(Duration),
    /// Its CPU went offline, or was taken from this process.
    CpuGone,
    /// The class `SCHED_IDLE` is not permitted.
    NoClass,
}

impl fmt::Display for SpinEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpinEnd::Steal(share) => write!(f, "the hypervisor took {share} of the CPU's time"),
            SpinEnd::StealUnknown => f.write_str("steal cannot be read from /proc/stat"),
            SpinEnd::Budget(spent) => {
                write!(
                    f,
                    "its budget of CPU time is spent ({:.1} s)",
                    spent.as_secs_f64()
                )
            }
            SpinEnd::CpuGone => f.write_str("the CPU is offline, or not this process' to use"),
            SpinEnd::NoClass => f.write_str("the class SCHED_IDLE is not permitted here"),
        }
    }
}

/// The guard of one spinner. Times are since its start.
#[derive(Debug)]
pub(super) struct Guard {
    limits: SpinLimits,
    cpu: CpuId,
    /// When steal was last read, and how much it was.
    last: Option<(Duration, Duration)>,
}

/// How often steal is read: each time costs as much as /proc/stat is long.
const STEAL_PERIOD: Duration = Duration::from_secs(1);

impl Guard {
    pub(super) fn new(limits: SpinLimits, cpu: CpuId) -> Guard {
        Guard {
            limits,
            cpu,
            last: None,
        }
    }

    /// Whether the spinner stops: `spun` is its own CPU time, `on` the CPU that it runs
    /// on. `steal` is read once per [`STEAL_PERIOD`].
    pub(super) fn check(
        &mut self,
        now: Duration,
        spun: Duration,
        on: CpuId,
        steal: impl FnOnce() -> Option<Duration>,
    ) -> Option<SpinEnd> {
        if on != self.cpu {
            return Some(SpinEnd::CpuGone);
        }
        if self.limits.budget.is_some_and(|budget| spun >= budget) {
            return Some(SpinEnd::Budget(spun));
        }
        let then = self.last;
        if then.is_some_and(|(then, _)| now.saturating_sub(then) < STEAL_PERIOD) {
            return None;
        }
        let Some(steal) = steal() else {
            return Some(SpinEnd::StealUnknown);
        };
        self.last = Some((now, steal));
        let (then, before) = then?;
        let share = Share::of(steal.saturating_sub(before), now.saturating_sub(then))?;
        (share > self.limits.most_steal).then_some(SpinEnd::Steal(share))
    }
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    spun_ns: AtomicU64,
    end: Mutex<Option<SpinEnd>>,
}

/// A spinner, which stops when this is dropped. It does not wait for that: on a busy CPU
/// the thread may not run for long.
#[derive(Debug)]
pub(super) struct Spinner(Arc<Shared>);

impl Spinner {
    pub(super) fn start(
        root: &Root,
        cpu: CpuId,
        limits: SpinLimits,
    ) -> Result<Spinner, ControlError> {
        let shared = Arc::new(Shared::default());
        let (started, is_started) = mpsc::channel();
        let (root, its) = (root.clone(), Arc::clone(&shared));
        let thread = std::thread::Builder::new().name(format!("spin{cpu}"));
        let spawned = thread.spawn(move || {
            let pinned = set_affinity(0, &[cpu].into_iter().collect());
            let is_pinned = pinned.is_ok();
            // The owner may have given up.
            let _ = started.send(pinned);
            if is_pinned {
                let end = spin(&root, cpu, limits, &its);
                *its.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
            }
        });
        spawned.map_err(|source| ControlError::NoSpinner { cpu, source })?;
        match is_started.recv() {
            Ok(Ok(())) => Ok(Spinner(shared)),
            Ok(Err(error)) => Err(ControlError::NoSpinner {
                cpu,
                source: match error {
                    ControlError::File { source, .. } => source,
                    other => io::Error::other(other.to_string()),
                },
            }),
            Err(_) => Err(ControlError::Ending),
        }
    }

    /// CPU time taken so far, up to a millisecond ago.
    pub(super) fn spun(&self) -> Duration {
        Duration::from_nanos(self.0.spun_ns.load(Ordering::Relaxed))
    }

    pub(super) fn end(&self) -> Option<SpinEnd> {
        *self.0.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

fn spin(root: &Root, cpu: CpuId, limits: SpinLimits, shared: &Shared) -> Option<SpinEnd> {
    /// How often the guard looks: short beside a budget, long beside what it costs.
    const PERIOD: Duration = Duration::from_millis(1);
    if !take_class(Class::Idle) {
        return Some(SpinEnd::NoClass);
    }
    let mut guard = Guard::new(limits, cpu);
    let start = Instant::now();
    let steal = || {
        let times = CpuTimes::read(root).ok()??;
        Some(times.each.get(&cpu)?.steal.0)
    };
    let mut next = start;
    loop {
        while Instant::now() < next {
            for _ in 0..100 {
                spin_loop();
            }
            if shared.stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        let spun = own_cpu_time();
        let ns = u64::try_from(spun.as_nanos()).unwrap_or(u64::MAX);
        shared.spun_ns.store(ns, Ordering::Relaxed);
        let on = CpuId::try_from(sched_getcpu()).unwrap_or(cpu);
        let now = Instant::now();
        if let Some(end) = guard.check(now - start, spun, on, steal) {
            return Some(end);
        }
        if shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        next = now + PERIOD;
    }
}

fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = 3;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The first end within `seconds`, on virtual time: each second the hypervisor takes
    /// `steal`, and the spinner runs half of the time.
    fn end(
        limits: SpinLimits,
        seconds: u64,
        steal: impl Fn(u64) -> Option<Duration>,
    ) -> Option<(u64, SpinEnd)> {
        let mut guard = Guard::new(limits, CPU);
        let mut at_ms = 0..seconds * 1000;
        at_ms.find_map(|at| {
            let end = guard.check(ms(at), ms(at / 2), CPU, || steal(at / 1000));
            end.map(|end| (at, end))
        })
    }

    #[test]
    fn steal_of_a_second_stops_it_and_less_does_not() {
        let limits = SpinLimits::default();
        let none = |_| Some(ms(1234));
        assert_eq!(end(limits, 10, none), None);
        // 5 % is the limit itself.
        assert_eq!(end(limits, 10, |s| Some(ms(50 * s))), None);
        let share = Share::new(0.06).unwrap();
        let burst = |s| Some(ms(if s < 4 { 0 } else { 60 }));
        assert_eq!(end(limits, 10, burst), Some((4000, SpinEnd::Steal(share))));
        assert_eq!(end(limits, 10, |_| None), Some((0, SpinEnd::StealUnknown)));
    }

    #[test]
    fn the_budget_is_cpu_time_and_not_wall_time() {
        let limits = SpinLimits {
            budget: Some(ms(1500)),
            ..SpinLimits::default()
        };
        let found = end(limits, 10, |_| Some(Duration::ZERO));
        assert_eq!(found, Some((3000, SpinEnd::Budget(ms(1500)))));
    }

    #[test]
    fn another_cpu_stops_it_at_once() {
        let mut guard = Guard::new(SpinLimits::default(), CPU);
        let on_own = guard.check(ms(0), ms(0), CPU, || Some(ms(0)));
        assert_eq!(on_own, None);
        let on_other = guard.check(ms(1), ms(1), CPU + 1, || Some(ms(0)));
        assert_eq!(on_other, Some(SpinEnd::CpuGone));
    }
}
