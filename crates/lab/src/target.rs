//! What load a service is under.

use plimsoll_law::LatencyGoal;
use plimsoll_model::{LoadLevel, Rate};
use std::fmt;

/// The load that a service is to be under.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Requests per second.
    Rate(Rate),
    /// A share of the rating.
    Load(LoadLevel),
    /// The highest rate that keeps a goal.
    Until(LatencyGoal),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Rate(rate) => write!(f, "{:.0} requests/s", rate.get()),
            Target::Load(level) => write!(f, "load {} %", level.pct()),
            Target::Until(goal) => write!(f, "load as high as {goal} permits"),
        }
    }
}
