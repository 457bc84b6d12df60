//! How fast a kernel is: alone, and with all CPUs at work.
//!
//! Two figures, because a job is not always interrupted. The *median* of short samples is
//! the time of the work itself: a schedule made of it is one that a run without
//! interruptions keeps. The *mean* is the time that plain threads need for much of this
//! work on this machine, without any scheduler: more cannot be asked of one. The example
//! `inflation` shows that jobs in plain threads and in schedulers have the same median and
//! the same mean, so what the mean has more is the machine's.

use crate::error::SchedulerError;
use crate::kernels::{Calibration, Work};
use crate::threads_of_cpus::{check, pin_worker};
use plimsoll_model::{CpuId, CpuSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Of each CPU: the median of so many leaves out those that were interrupted.
const SAMPLES_ALONE: usize = 51;

/// The mean of so many has some of the interruptions, which are rare and long.
const SAMPLES_ALL_BUSY: usize = 201;

/// The least that a sample lasts: far above the cost of reading the clock.
const SAMPLE: Duration = Duration::from_micros(200);

/// What the other CPUs do during a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    Idle,
    /// The same work.
    Busy,
}

/// Measures how fast `work` is, in 10 to 80 ms: on the first of these CPUs, or on all
/// at once.
///
/// # Errors
/// No CPU, one that cannot be used, or a thread cannot be started.
pub fn calibrate(
    work: &Work,
    cpus: &CpuSet,
    neighbours: Neighbours,
) -> Result<Calibration, SchedulerError> {
    check(cpus)?;
    let (measured, count) = match neighbours {
        Neighbours::Idle => (1, SAMPLES_ALONE),
        Neighbours::Busy => (cpus.len(), SAMPLES_ALL_BUSY),
    };
    let cpus: Vec<CpuId> = cpus.iter().take(measured).collect();
    let rounds = on_all(&cpus[..1], work, |worker| rounds_of_a_sample(work, worker))?;
    let rounds = rounds.into_iter().max().unwrap_or(1);
    let samples = on_all(&cpus, work, |worker| samples(work, worker, rounds, count))?;
    Calibration::of_samples(rounds, samples.concat()).ok_or(SchedulerError::NoCpu)
}

/// Doubles the rounds until they take long enough.
fn rounds_of_a_sample(work: &Work, worker: usize) -> u64 {
    let mut rounds = 64;
    while time(work, worker, rounds) < SAMPLE {
        rounds *= 2;
    }
    rounds
}

fn samples(work: &Work, worker: usize, rounds: u64, count: usize) -> Vec<u64> {
    let sample = |_| time(work, worker, rounds).as_nanos() as u64;
    (0..count).map(sample).collect()
}

fn time(work: &Work, worker: usize, rounds: u64) -> Duration {
    let began = Instant::now();
    work.run(rounds, worker);
    began.elapsed()
}

/// Calls `measure` on a thread for each CPU, all at the same time: none starts before
/// all are there, and those that end first go on working until all have ended.
fn on_all<T: Send>(
    cpus: &[CpuId],
    work: &Work,
    measure: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, SchedulerError> {
    let (arrived, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let given_up = AtomicBool::new(false);
    let all_have = |count: &AtomicUsize| {
        count.load(Ordering::Acquire) == cpus.len() || given_up.load(Ordering::Relaxed)
    };
    let measure_on = |worker: usize, cpu: CpuId| {
        pin_worker(cpu);
        arrived.fetch_add(1, Ordering::AcqRel);
        while !all_have(&arrived) {
            std::thread::yield_now();
        }
        let measured = measure(worker);
        ended.fetch_add(1, Ordering::AcqRel);
        while !all_have(&ended) {
            work.run(64, worker);
        }
        measured
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (worker, &cpu) in cpus.iter().enumerate() {
            let measure_on = &measure_on;
            let thread = Builder::new().spawn_scoped(scope, move || measure_on(worker, cpu));
            threads.push(thread.inspect_err(|_| given_up.store(true, Ordering::Relaxed)));
        }
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, T>>| {
            let joined = thread.map_err(SchedulerError::Spawn)?.join();
            Ok(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        };
        threads.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Kernel;

    #[test]
    fn every_kernel_has_a_speed_in_each_company() {
        let cpus = plimsoll_pool::allowed_cpus().unwrap();
        for kernel in Kernel::ALL {
            let work = Work::new(kernel, cpus.len());
            for neighbours in [Neighbours::Idle, Neighbours::Busy] {
                let found = calibrate(&work, &cpus, neighbours).unwrap();
                assert!(found.rounds_per_us > 0.0, "{kernel}: {found:?}");
                assert!(found.spread_share >= 0.0, "{kernel}: {found:?}");
            }
        }
    }

    #[test]
    fn without_a_cpu_it_is_refused() {
        let none = CpuSet::default();
        let work = Work::new(Kernel::Compute, 1);
        let refused = calibrate(&work, &none, Neighbours::Idle).unwrap_err();
        assert!(matches!(refused, SchedulerError::NoCpu));
    }
}
