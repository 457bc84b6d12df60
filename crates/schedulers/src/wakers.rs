//! Idle workers that are woken for one small job, under a waiting policy.
//!
//! The policies of the crate `pool`, and two peers: a spawn into an idle rayon pool, and into an idle
//! tokio runtime, from a thread that is not theirs.

use crate::error::SchedulerError;
use crate::threads_of_cpus::{check, pin_worker};
use plimsoll_graph::Jobs;
use plimsoll_model::{CpuId, CpuSet, Histogram};
use plimsoll_pool::{GraphScheduler, SchedulerOptions, Waiting, WaitingError};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Whose workers wait, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Those of Plimsoll's own scheduler.
    Own(Waiting),
    /// Those of rayon, as it waits.
    Rayon,
    /// Those of tokio, as it waits.
    Tokio,
}

impl WaitPolicy {
    /// All, with the usual constants.
    pub fn all() -> Vec<WaitPolicy> {
        let own = Waiting::ALL.into_iter().map(WaitPolicy::Own);
        own.chain([WaitPolicy::Rayon, WaitPolicy::Tokio]).collect()
    }

    /// Whether it is another scheduler's.
    pub fn is_peer(self) -> bool {
        !matches!(self, WaitPolicy::Own(_))
    }

    /// Starts one worker per CPU, pinned to it.
    ///
    /// # Errors
    /// No CPU, one that this process may not use, or a worker cannot be started.
    pub fn start(self, cpus: &CpuSet) -> Result<Waiters, SchedulerError> {
        check(cpus)?;
        let places: Vec<CpuId> = cpus.iter().collect();
        Ok(Waiters(match self {
            WaitPolicy::Own(waiting) => {
                let options = SchedulerOptions {
                    waiting,
                    ..SchedulerOptions::PLAIN
                };
                Kind::Own(GraphScheduler::start(cpus, options)?)
            }
            WaitPolicy::Rayon => {
                let pool = rayon_core::ThreadPoolBuilder::new()
                    .num_threads(places.len())
                    .start_handler(move |index| pin_worker(places[index]))
                    .build();
                Kind::Rayon(pool.map_err(|e| SchedulerError::Spawn(std::io::Error::other(e)))?)
            }
            WaitPolicy::Tokio => {
                let started = AtomicUsize::new(0);
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(places.len())
                    .on_thread_start(move || {
                        let index = started.fetch_add(1, Ordering::Relaxed);
                        pin_worker(places[index % places.len()]);
                    })
                    .build();
                Kind::Tokio(runtime.map_err(SchedulerError::Spawn)?)
            }
        }))
    }
}

impl fmt::Display for WaitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitPolicy::Own(waiting) => waiting.fmt(f),
            WaitPolicy::Rayon => f.write_str("rayon"),
            WaitPolicy::Tokio => f.write_str("tokio"),
        }
    }
}

impl FromStr for WaitPolicy {
    type Err = WaitingError;

    fn from_str(text: &str) -> Result<WaitPolicy, WaitingError> {
        match text {
            "rayon" => Ok(WaitPolicy::Rayon),
            "tokio" => Ok(WaitPolicy::Tokio),
            own => own.parse().map(WaitPolicy::Own),
        }
    }
}

/// Workers that wait.
#[derive(Debug)]
pub struct Waiters(Kind);

#[derive(Debug)]
enum Kind {
    Own(GraphScheduler),
    Rayon(rayon_core::ThreadPool),
    Tokio(tokio::runtime::Runtime),
}

impl Waiters {
    /// Has a worker arrive at `arrivals`; does not wait for it.
    pub fn wake(&self, arrivals: &Arc<Arrivals>) {
        let call = Call {
            called: Instant::now(),
            arrivals: Arc::clone(arrivals),
        };
        match &self.0 {
            // The handle is not needed: the job runs on.
            Kind::Own(scheduler) => drop(scheduler.submit(Arc::new(call))),
            Kind::Rayon(pool) => pool.spawn(move || call.arrived()),
            Kind::Tokio(runtime) => drop(runtime.spawn(async move { call.arrived() })),
        }
    }
}

/// A wake-up on its way.
struct Call {
    called: Instant,
    arrivals: Arc<Arrivals>,
}

impl Call {
    fn arrived(&self) {
        self.arrivals.count(self.called, Instant::now());
    }
}

impl Jobs for Call {
    fn count(&self) -> u32 {
        1
    }

    fn predecessors(&self, _job: u32) -> u32 {
        0
    }

    fn successors(&self, _job: u32) -> &[u32] {
        &[]
    }

    fn run(&self, _job: u32, _worker: usize) {
        self.arrived();
    }
}

/// What came of wake-ups so far.
#[derive(Debug, Clone, Default)]
pub struct Arrived {
    /// From the call to the first instruction of the job.
    pub latency: Histogram,
    /// The sum of the gaps in which the workers had nothing to do: from a job to the next call.
    pub gaps: Duration,
    /// The sum of the lesser of each gap and the price: what waiting costs at least for an oracle that knows
    /// each gap before, in time of spinning.
    pub hindsight: Duration,
    /// When the last job had ended.
    last: Option<Instant>,
}

/// Where woken workers report.
#[derive(Debug)]
pub struct Arrivals {
    price: Duration,
    so_far: Mutex<Arrived>,
}

impl Arrivals {
    /// With the price of a wake-up, in time of spinning.
    pub fn new(price: Duration) -> Arrivals {
        Arrivals {
            price,
            so_far: Mutex::default(),
        }
    }

    fn count(&self, called: Instant, arrived: Instant) {
        let mut so_far = self.lock();
        so_far.latency.record(arrived - called);
        if let Some(last) = so_far.last {
            let gap = called.saturating_duration_since(last);
            so_far.gaps += gap;
            so_far.hindsight += gap.min(self.price);
        }
        so_far.last = Some(arrived);
    }

    /// What came so far.
    pub fn so_far(&self) -> Arrived {
        self.lock().clone()
    }

    /// Forgets what came so far, but for when the last job ended.
    pub fn restart(&self) {
        let mut so_far = self.lock();
        *so_far = Arrived {
            last: so_far.last,
            ..Arrived::default()
        };
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_wakes_once_for_each_call() {
        let cpus: CpuSet = plimsoll_pool::allowed_cpus()
            .unwrap()
            .iter()
            .take(1)
            .collect();
        for policy in WaitPolicy::all() {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            let waiters = policy.start(&cpus).unwrap();
            let arrivals = Arc::new(Arrivals::new(Duration::from_micros(50)));
            (0..20).for_each(|_| waiters.wake(&arrivals));
            while arrivals.so_far().latency.count() < 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn hindsight_pays_the_lesser_of_gap_and_price() {
        let us = Duration::from_micros;
        let arrivals = Arrivals::new(us(50));
        let zero = Instant::now();
        // Gaps of 30 and 100 us, and a call while the worker was still busy.
        for (called, arrived) in [(0, 10), (40, 45), (145, 155), (150, 160)] {
            arrivals.count(zero + us(called), zero + us(arrived));
        }
        let found = arrivals.so_far();
        assert_eq!((found.gaps, found.hindsight), (us(130), us(80)));
        assert_eq!(found.latency.count(), 4);
        arrivals.restart();
        arrivals.count(zero + us(170), zero + us(171));
        assert_eq!(arrivals.so_far().gaps, us(10), "since the last one before");
    }
}
