//! How far CPU use tells the truth, in a sentence.

use crate::number::per_second;
use plimsoll_model::{Headroom, NoHeadroom};

/// An index this near to 1 is called the truth: trials differ by as much.
const NEAR: f64 = 0.05;

/// The sentence about the headroom index.
pub(crate) fn sentence(headroom: &Headroom) -> String {
    match *headroom {
        Headroom::Known {
            index,
            promised_rps,
            most_rps,
        } => format!(
            "At 50 % CPU use it does about {}; if CPU use told the truth, it would carry {} at \
             100 %. The most it carried at any level is {} (headroom index {index:.2}), {}.",
            per_second(promised_rps / 2.0),
            per_second(promised_rps),
            per_second(most_rps),
            advice(index),
        ),
        Headroom::Unknown { why } => format!(
            "How far CPU use tells the truth here is not known: {}.",
            reason(why)
        ),
    }
}

fn advice(index: f64) -> &'static str {
    if index < 1.0 - NEAR {
        "so plan with less than the idle time suggests"
    } else if index > 1.0 + NEAR {
        "so there is more room than the idle time suggests"
    } else {
        "so here CPU use tells the truth"
    }
}

fn reason(why: NoHeadroom) -> &'static str {
    match why {
        NoHeadroom::NoLevel => "no load level was measured",
        NoHeadroom::NoValidTrial => "no level has a trial that counts",
        NoHeadroom::CpuUnreadable => "CPU use could not be read",
        NoHeadroom::NotSaturated => "the service was not driven to its end",
        NoHeadroom::CpuNeverBeyondHalf => {
            "CPU use never got beyond 50 %: something else is at its end first, such as the \
             number of the service's threads"
        }
        NoHeadroom::NoLevelNearHalf => {
            "no level came near 50 % CPU use; ask for one that does with --levels"
        }
    }
}
