//! Wake-ups measured beside a gate, to show what it takes away.

use crate::error::SideError;
use plimsoll_load::wakeups::{Pair, PairSpec};
use plimsoll_model::{Arrivals, CpuId, CpuSet, Histogram, Wait};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How wake-ups are measured.
#[derive(Debug, Clone, Copy)]
pub struct ProbePlan {
    /// Between two wake-ups; constant.
    pub gap: Duration,
    pub window: Duration,
}

/// One window of wake-ups on one CPU, in threads of its own.
#[derive(Debug)]
pub struct Probe {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Option<Histogram>, SideError>>>,
}

impl Probe {
    /// Wakes a thread on `wakee` from another CPU of `online`: one that is not held, if
    /// there is one. `None` without another CPU.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn start(
        plan: ProbePlan,
        wakee: CpuId,
        held: &CpuSet,
        online: &CpuSet,
    ) -> Result<Option<Probe>, SideError> {
        let others = || online.iter().filter(|cpu| *cpu != wakee);
        let waker = others()
            .find(|cpu| !held.contains(*cpu))
            .or_else(|| others().next());
        let Some(waker) = waker else {
            return Ok(None);
        };
        let spec = PairSpec {
            wait: Wait::Futex,
            waker: Some(waker),
            wakee,
            gap: plan.gap,
            arrivals: Arrivals::Constant,
            seed: 1,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let run = move || -> Result<Option<Histogram>, SideError> {
            let pair = Pair::start(&spec).map_err(SideError::Wakeups)?;
            let woken = pair
                .run(plan.window, &stopped)
                .map_err(SideError::Wakeups)?;
            Ok(woken.map(|woken| woken.latency))
        };
        let thread = std::thread::Builder::new()
            .name("probe".to_owned())
            .spawn(run);
        Ok(Some(Probe {
            stop,
            thread: Some(thread.map_err(SideError::Wait)?),
        }))
    }

    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The latencies from the call that wakes; `None` if stopped early.
    ///
    /// # Errors
    /// If a thread failed.
    pub fn finish(mut self) -> Result<Option<Histogram>, SideError> {
        let gone = |_| SideError::Wait(io::Error::other("the thread that measures panicked"));
        match self.thread.take() {
            Some(thread) => thread.join().map_err(gone)?,
            None => Ok(None),
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
