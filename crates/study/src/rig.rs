//! What the runs of a scheduler say of it: pure functions of plain numbers.
//!
//! - [`peak`]: run time against the number of jobs of a load peak.
//! - [`grain`]: how small jobs may be until half of the time is overhead.
//! - [`breaking`]: how tight a schedule may be until its deadlines are missed.

pub mod breaking;
mod dip;
pub mod grain;
pub mod peak;
