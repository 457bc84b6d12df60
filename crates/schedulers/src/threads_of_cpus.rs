//! Threads on the CPUs that a scheduler is given.

use crate::error::SchedulerError;
use plimsoll_model::{CpuId, CpuSet};
use rustix::thread::{CpuSet as CpuMask, sched_getcpu, sched_setaffinity};
use std::num::NonZeroU64;
use std::thread::{Builder, JoinHandle};

/// Starts a thread on one CPU.
pub(crate) fn pinned(
    cpu: CpuId,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, SchedulerError> {
    let body = move || {
        pin_worker(cpu);
        body();
    };
    Builder::new()
        .name(format!("{name}-{cpu}"))
        .spawn(body)
        .map_err(SchedulerError::Spawn)
}

/// Pins the calling thread. [`check`] has shown that this is possible.
pub(crate) fn pin_worker(cpu: CpuId) {
    let _ = plimsoll_pool::pin_this_thread(cpu);
}

/// Whether threads can be pinned to each of these CPUs.
///
/// # Errors
/// No CPU, or one that this process may not use.
pub(crate) fn check(cpus: &CpuSet) -> Result<(), SchedulerError> {
    if cpus.is_empty() {
        return Err(SchedulerError::NoCpu);
    }
    let cpus = cpus.clone();
    // Not on the calling thread, whose affinity stays as it is.
    let pin_all = move || {
        let mut each = cpus.iter();
        each.try_for_each(plimsoll_pool::pin_this_thread)
    };
    let checked = Builder::new()
        .spawn(pin_all)
        .map_err(SchedulerError::Spawn)?;
    match checked.join() {
        Ok(pinned) => Ok(pinned?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Restricts the calling thread, and those that it starts, to these CPUs.
pub(crate) fn restrict_this_thread(cpus: &CpuSet) -> Result<(), String> {
    let mut mask = CpuMask::new();
    let within = cpus.iter().map(|cpu| cpu as usize);
    within
        .filter(|cpu| *cpu < CpuMask::MAX_CPU)
        .for_each(|cpu| mask.set(cpu));
    sched_setaffinity(None, &mask)
        .map_err(|e| format!("cannot restrict a thread to CPUs {cpus}: {e}"))
}

/// The place in `cpus` of the CPU that the calling thread runs on now.
pub(crate) fn place_of_this_cpu(cpus: &[CpuId]) -> usize {
    let here = sched_getcpu();
    cpus.iter()
        .position(|cpu| *cpu as usize == here)
        .unwrap_or(0)
}

/// Has timers of the calling thread end within 1 ns instead of 50 us.
pub(crate) fn set_min_timer_slack() {
    // Refused by some sandboxes; then starts are up to 50 us later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
