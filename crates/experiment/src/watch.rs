//! Those who look on while a run goes on.

use plimsoll_model::{Second, Trial, TrialSpec};
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

/// Somebody who is told what happens. Must return quickly: it is called on
/// the thread that measures.
pub trait Watch {
    /// A trial begins.
    fn begins(&mut self, _spec: &TrialSpec, _progress: &Progress) {}
    /// A second of it has passed.
    fn second(&mut self, _second: &Second) {}
    /// It has ended and is recorded.
    fn ended(&mut self, _trial: &Trial) {}
}

/// Nobody looks on.
#[derive(Debug)]
pub struct Quiet;

impl Watch for Quiet {}
