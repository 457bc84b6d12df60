//! `plimsoll sweep`: how much load does this machine carry?
//!
//! An idle baseline; calibration of the rated rate by open-loop trials that
//! double; then the graduated levels, shuffled and mirrored, each pass followed
//! by repeats of its invalid trials; on cores of two threads some trials at full
//! load on one thread of each core and on both; then short trials that narrow
//! down the capacity under each goal, and a longer one that confirms it.
//!
//! [`Request::plan`] makes the plan, [`SweepPlanner`] says which trial is next.

mod args;
mod experiment;
mod plan;
pub(crate) mod request;
mod search;
mod stages;
#[cfg(test)]
mod testing;
mod threads;

#[cfg(test)]
mod tests;

pub use args::SweepArgs;
pub use experiment::Sweep;
pub use plan::{SweepPlanner, describe, next, progress};
pub use request::{Effort, Request, default_levels};
