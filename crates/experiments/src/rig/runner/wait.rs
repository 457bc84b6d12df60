//! A trial of waiting, in the process of its scheduler: this thread wakes idle workers at the
//! times of a pattern, on a CPU of its own.
//!
//! It never waits for the workers, and a call that is late is made at once, so a slow worker hides
//! nothing. How late it called is the slip. It sleeps until [`LEAD`] before a call and polls the clock
//! from there on. All other threads of the process are the scheduler's, so what the process uses
//! beside this thread is what waiting burns.

use super::super::outcome::RigOutcome;
use super::super::plan::RigPlan;
use super::super::waiting::{GapPattern, WaitFigures, WaitPlan};
use super::bench::Broken;
use super::link::Link;
use super::messages::{Answer, Doing};
use plimsoll_engine::{RunError, this_thread};
use plimsoll_host::{Root, own_voluntary_switches};
use plimsoll_model::{CpuSet, Histogram};
use plimsoll_schedulers::{Arrivals, PATIENCE, WaitPolicy, Waiters, call_within, pin_this_thread};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long before a call the clock is polled.
const LEAD: Duration = Duration::from_micros(100);

/// How long a stop may stay unseen.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The part of the window before it in which workers learn.
const WARM_UP: u32 = 10;

/// What a trial is made at.
pub(super) struct Wait<'t> {
    pub(super) policy: &'t str,
    pub(super) gaps: GapPattern,
    pub(super) mean_gap: Duration,
    pub(super) window: Duration,
    pub(super) seed: u64,
}

impl Wait<'_> {
    /// # Errors
    /// The workers do not start or stop, or the kernel does not count their time.
    pub(super) fn measured(&self, plan: &RigPlan, link: &mut Link) -> Result<RigOutcome, Broken> {
        let wait = plan.wait.as_ref().ok_or_else(no_plan)?;
        let usage = |error: &dyn std::fmt::Display| RunError::Usage(error.to_string());
        let policy: WaitPolicy = self.policy.parse().map_err(|e| usage(&e))?;
        let cpus = &plan.run.cpus.service;
        let waker = cpus.iter().next().ok_or_else(no_plan)?;
        let workers: CpuSet = cpus.iter().skip(1).collect();
        pin_this_thread(waker).map_err(|e| usage(&e))?;
        link.say(&Answer::Doing(Doing::Starting));
        let start = move || policy.start(&workers);
        let started = call_within(&mut || link.goes_on(), PATIENCE, "start", start);
        let waiters = started
            .map_err(|e| Broken::Contract(e.to_string()))?
            .map_err(|e| usage(&e))?;
        link.say(&Answer::Doing(Doing::Measuring));
        let out = self.run(wait, &waiters, link);
        link.say(&Answer::Doing(Doing::Stopping));
        let stopped = call_within(&mut || link.goes_on(), PATIENCE, "stop", || drop(waiters));
        stopped.map_err(|e| Broken::Contract(e.to_string()))?;
        out
    }

    fn run(
        &self,
        plan: &WaitPlan,
        waiters: &Waiters,
        link: &mut Link,
    ) -> Result<RigOutcome, Broken> {
        let arrivals = Arc::new(Arrivals::new(plan.price));
        let mut slip = Histogram::new();
        let warm_up = self.window / WARM_UP;
        let last = match self.gaps {
            GapPattern::Idle => warm_up,
            _ => warm_up + self.window,
        };
        let began = Instant::now();
        let mut before = None;
        let mut calls: u64 = 0;
        for at_ns in self.gaps.times(self.mean_gap, self.seed) {
            let at = Duration::from_nanos(at_ns);
            if before.is_none() && at >= warm_up {
                arrivals.restart();
                before = Some((Instant::now(), Used::read()));
                slip.clear();
                calls = 0;
            }
            if at >= last {
                break;
            }
            wait_until(began + at, link);
            slip.record(began.elapsed().saturating_sub(at));
            waiters.wake(&arrivals);
            calls += 1;
        }
        let (opened, before) = before.ok_or_else(no_plan)?;
        wait_until(began + warm_up + self.window, link);
        let used = Used::read().since(before);
        let window = opened.elapsed();
        let arrived = settled(&arrivals, calls, link)?;
        Ok(RigOutcome {
            waiting: Some(WaitFigures {
                workers_cpu: used.cpu,
                window,
                gaps: arrived.gaps,
                hindsight: arrived.hindsight,
                parked: used.parked,
                wakeups: arrived.latency.count(),
            }),
            latency_ns: counts(&arrived.latency),
            slip_ns: counts(&slip),
            ..RigOutcome::default()
        })
    }
}

/// All arrivals, once there are as many as calls.
fn settled(
    arrivals: &Arrivals,
    calls: u64,
    link: &mut Link,
) -> Result<plimsoll_schedulers::Arrived, Broken> {
    let began = Instant::now();
    loop {
        let arrived = arrivals.so_far();
        // A call of the warm-up may arrive in the window.
        if arrived.latency.count() >= calls {
            return Ok(arrived);
        }
        if began.elapsed() > PATIENCE {
            let (missing, calls) = (calls - arrived.latency.count(), calls);
            let why = format!("{missing} of {calls} wake-ups did not arrive");
            return Err(Broken::Contract(why));
        }
        link.goes_on();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn wait_until(at: Instant, link: &mut Link) {
    link.goes_on();
    loop {
        let left = at.saturating_duration_since(Instant::now());
        if left <= LEAD {
            break;
        }
        std::thread::sleep((left - LEAD).min(LONGEST_SLEEP));
        link.goes_on();
    }
    while Instant::now() < at {
        std::hint::spin_loop();
    }
}

fn no_plan() -> RunError {
    let why = "the plan has no CPUs or policies for this trial; this is a defect of Plimsoll";
    RunError::Stuck(why.to_owned())
}

/// Values with their counts, as they go through the pipe.
fn counts(histogram: &Histogram) -> Vec<(u64, u64)> {
    let steps = histogram.as_hdr().iter_recorded();
    steps
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .collect()
}

/// What all threads but this one have used.
#[derive(Clone, Copy)]
struct Used {
    cpu: Duration,
    parked: Option<u64>,
}

impl Used {
    fn read() -> Used {
        let time = |clock| {
            let time = clock_gettime(clock);
            let ns = u32::try_from(time.tv_nsec).unwrap_or(0);
            Duration::new(time.tv_sec.unsigned_abs(), ns)
        };
        let all = time(ClockId::ProcessCPUTime);
        Used {
            cpu: all.saturating_sub(time(ClockId::ThreadCPUTime)),
            parked: own_voluntary_switches(&Root::machine(), this_thread()),
        }
    }

    fn since(self, before: Used) -> Used {
        let parked = self.parked.zip(before.parked);
        Used {
            cpu: self.cpu.saturating_sub(before.cpu),
            parked: parked.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}
