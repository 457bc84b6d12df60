//! `plimsoll sweep`: how much load does this machine carry?
//!
//! An idle baseline; calibration of the rated rate by open-loop trials that
//! double; then the graduated levels, shuffled and mirrored, each pass
//! followed by another try of what was invalid in it. A copies run has
//! numbers of copies for levels and no calibration.
//!
//! [`Place`] looks where the workload is, [`Request::plan`] makes the plan,
//! [`next`] says which trial is next, and [`Place::runner`] carries it out.

mod calibration;
mod copies;
mod eyes;
mod offered;
mod place;
mod plan;
mod request;
mod service;

#[cfg(test)]
mod tests;

pub use place::Place;
pub use plan::{next, progress};
pub use request::{Effort, Request, Tolerance, default_levels};
pub use service::FoundService;
