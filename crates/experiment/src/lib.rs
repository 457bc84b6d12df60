//! The experiments: their plans and their trials.
//!
//! One loop drives every experiment: ask the planner for a trial, run it,
//! record it, until the planner is done ([`conduct()`]). A planner is a pure
//! function of what was asked and the trials so far, so a run can be resumed
//! by asking again with the trials of its record, and a planner can be tested
//! on trials that no machine ever ran. Only runners touch the machine.
//!
//! This room must not know flags, colours or exit codes, and concludes
//! nothing: that is `study`.
//!
//! ```
//! use plimsoll_experiment::order;
//!
//! // Odd passes mirror the pass before, so that drift does not look like load.
//! let there = order::visits(&[10, 20, 30], 7, 0);
//! let back: Vec<i32> = order::visits(&[10, 20, 30], 7, 1);
//! assert!(back.iter().eq(there.iter().rev()));
//! ```

mod beside;
mod conduct;
pub mod import;
pub mod order;
pub mod selftest;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod validity;
mod watch;
pub mod yields;

pub use conduct::{Ended, Next, RunError, Runner, conduct};
pub use watch::{Progress, Quiet, Watch};
