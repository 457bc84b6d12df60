//! Errors of a plan, one sentence each.

use plimsoll_model::{Rate, counted, human_duration};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SizingError {
    /// The trials give no capacity per instance.
    #[error(
        "what an instance carries is not known, so nothing can be planned with it; take a record whose capacity was found"
    )]
    NoCapacity,
    /// The interval of the capacity reaches zero.
    #[error(
        "the interval of what an instance carries reaches down to nothing, with which nothing can be planned; measure its capacity more closely, with more or longer trials, or take a record whose capacity was found"
    )]
    Capacity(f64),
    #[error("the peak is 0 requests per second; give the highest rate that has to be carried")]
    NoPeak,
    #[error(
        "{0} instances lost at once make no sense; give how many may fail together, 0 to 1000, such as 1"
    )]
    Failures(u32),
    /// Invalid growth, in percent per minute.
    #[error(
        "growth of {0} % per minute makes no sense; give 0 % to 1000 % per minute, such as 10%/min"
    )]
    Growth(f64),
    #[error(
        "an instance that is ready in {} makes no sense; give at most 24h, such as 3min",
        human_duration(*.0)
    )]
    ReadyIn(Duration),
    #[error(
        "a price of {0} per hour makes no sense; give what an instance costs per hour, above 0 and up to 1000000, such as 0.34"
    )]
    Price(f64),
    /// The smallest fleet is lost as a whole.
    #[error(
        "of a smallest fleet of {floor} nothing is left when {failures} are lost; give a floor of at least {}",
        failures.saturating_add(1)
    )]
    Floor { floor: u32, failures: u32 },
    #[error(
        "that needs more than 1000000 instances of {planned} each; check that the peak and the capacity are both in requests per second"
    )]
    TooMany { planned: Rate },
    #[error(
        "the traffic has {}; give at least two, with the time in seconds and the rate",
        counted(*.0, "moment", "moments")
    )]
    FewMoments(usize),
    #[error(
        "moment {moment} of the traffic is at {seconds} s; give seconds from the start, from 0 up to ten years"
    )]
    Time {
        /// The position, from 1.
        moment: usize,
        seconds: f64,
    },
    /// Times that do not increase.
    #[error("moment {moment} of the traffic is not later than the one before; sort them by time")]
    Order {
        /// The position, from 1.
        moment: usize,
    },
    #[error(
        "moment {moment} of the traffic has a rate of {rate} requests per second; give 0 or more"
    )]
    TrafficRate {
        /// The position, from 1.
        moment: usize,
        rate: f64,
    },
}

impl SizingError {
    /// The position of the invalid moment, from 1.
    pub fn moment(&self) -> Option<usize> {
        match *self {
            SizingError::Time { moment, .. }
            | SizingError::Order { moment }
            | SizingError::TrafficRate { moment, .. } => Some(moment),
            _ => None,
        }
    }
}
