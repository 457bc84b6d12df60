//! `plimsoll sweep`: how much load does this machine carry?
//!
//! An idle baseline; calibration of the rated rate by open-loop trials that
//! double; then the graduated levels, shuffled and mirrored, each pass
//! followed by another try of what was invalid in it; on cores of two threads
//! some trials at full load on one of each and on both; then short trials that
//! narrow down the capacity under each goal, and a longer one that confirms
//! it. A copies run has numbers of copies for levels, and neither calibration
//! nor search.
//!
//! [`Place`] looks where the workload is, [`Request::plan`] makes the plan,
//! [`next`] says which trial is next, and [`Place::runner`] carries it out.

pub(crate) mod calibration;
mod copies;
mod eyes;
mod offered;
mod place;
pub(crate) mod plan;
pub(crate) mod request;
mod restart;
mod search;
mod service;
mod threads;

#[cfg(test)]
mod tests;

pub use place::Place;
pub(crate) use place::in_this_process;
pub use plan::{next, progress};
pub use request::{Effort, Request, Tolerance, default_levels};
pub use service::FoundService;

/// What a trial takes beside warm-up and window: starting threads, waiting
/// for the last answers, writing the record.
const AROUND: std::time::Duration = std::time::Duration::from_millis(150);
