//! CPU affinity of the calling thread.

use crate::PoolError;
use plimsoll_model::{CpuId, CpuSet};
use rustix::thread::{CpuSet as CpuMask, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread may run on.
pub fn allowed_cpus() -> Result<CpuSet, PoolError> {
    let mask = sched_getaffinity(None).map_err(|e| PoolError::Affinity(e.into()))?;
    Ok((0..CpuMask::MAX_CPU)
        .filter(|cpu| mask.is_set(*cpu))
        .filter_map(|cpu| CpuId::try_from(cpu).ok())
        .collect())
}

/// Pins the calling thread to `cpu`. Threads and processes that it starts later
/// inherit this.
pub fn pin_this_thread(cpu: CpuId) -> Result<(), PoolError> {
    keep_this_thread_on(&[cpu].into_iter().collect())
}

/// Lets the calling thread, and threads and processes that it starts later, run on these CPUs alone.
///
/// # Errors
/// There is none, or one is not available: the first of them is named.
pub fn keep_this_thread_on(cpus: &CpuSet) -> Result<(), PoolError> {
    let first = cpus.iter().next().ok_or(PoolError::NoCpu)?;
    let fail = |cpu, source| PoolError::Pin { cpu, source };
    let mut mask = CpuMask::new();
    for cpu in cpus.iter() {
        // `CpuMask::set` panics beyond its end.
        if cpu as usize >= CpuMask::MAX_CPU {
            return Err(fail(cpu, std::io::ErrorKind::InvalidInput.into()));
        }
        mask.set(cpu as usize);
    }
    sched_setaffinity(None, &mask).map_err(|e| fail(first, e.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_thread_has_one_allowed_cpu() {
        // In its own thread, because affinity is per thread.
        let (before, after) = std::thread::spawn(|| {
            let before = allowed_cpus().unwrap();
            pin_this_thread(before.iter().last().unwrap()).unwrap();
            (before, allowed_cpus().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(after, before.iter().last().into_iter().collect());
    }

    #[test]
    fn unavailable_cpu_is_named() {
        for cpu in [1023, 8191, CpuId::MAX] {
            let error = pin_this_thread(cpu).unwrap_err().to_string();
            assert!(error.contains(&format!("CPU {cpu}:")), "{error}");
        }
    }
}
