//! Those who look on while a run goes on.

use plimsoll_model::{CpuTime, Second, Trial, TrialSpec};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Planned visits that are done.
    pub done: usize,
    /// Planned visits in all.
    pub visits: usize,
    /// About how long the rest takes.
    pub left: Duration,
}

/// Somebody who is told what happens. Must return quickly, but for
/// [`Watch::hold`]: it is called on the thread that measures.
pub trait Watch {
    /// Between two trials. Who looks on may hold the run here for as long as
    /// they like, or until `stop` is raised; budgets are sums of what trials
    /// took, so that this time is in none.
    fn hold(&mut self, _stop: &AtomicBool) {}
    /// A trial begins.
    fn begins(&mut self, _spec: &TrialSpec, _progress: &Progress) {}
    /// A second of it has passed, or its warm-up.
    fn second(&mut self, _second: &Second) {}
    /// It has ended and is recorded.
    fn ended(&mut self, _trial: &Trial) {}
    /// What looking on has cost so far; `None` where that is nothing that can
    /// be told apart.
    fn cpu_used(&self) -> Option<CpuTime> {
        None
    }
}

/// Nobody looks on.
#[derive(Debug)]
pub struct Quiet;

impl Watch for Quiet {}
