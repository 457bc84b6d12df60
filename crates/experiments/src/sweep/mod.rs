//! `plimsoll sweep`: how much load does this machine carry?
//!
//! The machine without load; calibration of the rated rate by open-loop trials that
//! double; then the graduated levels, shuffled and mirrored, each pass followed
//! by repeats of its invalid trials; on cores of two threads some trials at full
//! load on one thread of each core and on both; then short trials that narrow
//! down the capacity under each goal, and a longer one that confirms it.
//!
//! [`plan()`] makes the plan, [`SweepPlanner`] returns the next trial.

mod args;
mod defaults;
mod experiment;
mod plan;
mod search;
mod stages;
mod threads;

#[cfg(test)]
mod tests;

pub use crate::args::Effort;
pub use args::SweepArgs;
pub use defaults::plan;
pub use experiment::Sweep;
pub use plan::{SweepPlanner, describe};
