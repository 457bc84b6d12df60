//! `plimsoll yield`: what does batch work next to a service gain, and what does the
//! service pay?
//!
//! The rated rate is calibrated as in a sweep, unless it is given. One trial of the
//! service alone measures the idle CPU time. Then each pass visits every arm once,
//! shuffled and mirrored, and the service alone twice.
//!
//! An arm is data ([`plimsoll_model::Arm`]); one function (`arms::hold`) applies it
//! to a job. Arms that decide repeatedly use the loop of `plimsoll side` with a law
//! from `laws`.

mod args;
mod arms;
mod best;
mod command;
mod defaults;
mod experiment;
mod job;
mod laws;
mod plan;
mod visits;

#[cfg(test)]
mod tests;

pub use args::YieldArgs;
pub use best::{advice, usual_file};
pub use defaults::StepLoads;
pub use experiment::Yield;

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The minimum share of the CPUs for a job: the kernel's minimum quota is 1 ms, and
/// a job without CPU time yields no measurement.
const FLOOR: f64 = 0.05;

/// A job's group. The threads of its law and of its command use it, too.
type SharedGroup = Arc<Mutex<Group>>;

fn lock(group: &SharedGroup) -> MutexGuard<'_, Group> {
    // A thread that panicked with the lock leaves a valid group.
    group.lock().unwrap_or_else(PoisonError::into_inner)
}
