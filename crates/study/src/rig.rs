//! What the runs of a scheduler say of it: pure functions of plain numbers.
//!
//! - [`peak`]: run time against the number of jobs of a load peak.
//! - [`grain`]: how small jobs may be until half of the time is overhead.
//! - [`breaking`]: how tight a schedule may be until its deadlines are missed.
//!
//! Runs of one trial share its minute: the clock, the neighbours, where memory lies. So
//! they are not independent of each other, and many of them make no interval narrow. A
//! figure of peaks and grains is computed in each trial by itself, and its interval is
//! Student's of the trials ([`over_trials`]): right for normal deviations of any size from
//! 3 trials on. A bootstrap of 3 or 4 trials is not: it never leaves their range.

pub mod breaking;
mod dip;
pub mod grain;
pub mod peak;

use crate::student;
use plimsoll_model::Estimate;

/// The mean of a figure over trials; without an interval below 3 of them, `None` without any.
pub fn over_trials(of_each: &[f64]) -> Option<Estimate> {
    student::mean(of_each)
}

/// The product of two independent positive figures. A second factor without an interval
/// counts as exact.
pub fn product(of: Estimate, by: Estimate) -> Estimate {
    let value = of.value * by.value;
    let end = |end: fn(&Estimate) -> Option<f64>| {
        let own = (end(&of)? - of.value) * by.value;
        let other = end(&by).map_or(0.0, |end| (end - by.value) * of.value);
        Some(own.hypot(other))
    };
    Estimate {
        value,
        low: end(|e| e.low).map(|wide| value - wide),
        high: end(|e| e.high).map(|wide| value + wide),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_factors_add_up_as_squares() {
        let a = Estimate::within(2.0, 1.4, 2.6);
        let by = |low, high| Estimate::within(0.5, low, high);
        let found = product(a, by(0.3, 0.7));
        assert!(
            (found.value, found.interval()) == (1.0, Some((0.5, 1.5))),
            "{found:?}"
        );
        assert_eq!(product(a, Estimate::alone(1.0)), a);
        assert_eq!(
            product(Estimate::alone(2.0), by(0.3, 0.7)),
            Estimate::alone(1.0)
        );
    }
}
