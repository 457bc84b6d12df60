//! Fixtures for the tests of this crate.

use plimsoll_model::{Bounds, InterruptTime, Share};
use std::time::Duration;

/// The bounds that a sweep has by default.
pub(crate) fn bounds() -> Bounds {
    let share = |x| Share::new(x).unwrap();
    Bounds {
        slip: Duration::from_micros(100),
        slip_share: share(0.10),
        steal_share: share(0.02),
        other_share: share(0.05),
        interrupts: InterruptTime::Unknown,
        retries: 3,
    }
}
