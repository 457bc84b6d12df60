//! How fast an autoscaler may grow and shrink a fleet.

use plimsoll_model::HpaBehavior;
use std::time::Duration;

/// Doubling in a minute is slower than what Kubernetes allows by default (100 % in
/// 15 s) and as fast as any fleet needs that traffic does not outgrow.
const LEAST_UP_PCT: f64 = 100.0;
/// What Kubernetes waits by default.
const LEAST_DOWN: u64 = 300;
/// The longest stabilization window that Kubernetes takes.
const MOST_DOWN: u64 = 3600;

const MINUTE: Duration = Duration::from_secs(60);

/// Within a minute the fleet may grow by what traffic grows in it, and by what it
/// has grown since the metrics were read: no longer ago than an instance takes.
///
/// It shrinks to the largest fleet called for within the window. A shorter window
/// than a start would remove instances in a dip that the rise after it needs.
pub(super) fn behavior(growth_per_minute: f64, ready_in: Duration) -> HpaBehavior {
    let minutes = (ready_in + MINUTE).as_secs_f64() / 60.0;
    let grown = (100.0 * growth_per_minute * minutes).ceil();
    let ready_s = ready_in.as_secs_f64().ceil() as u64;
    HpaBehavior {
        scale_up_pct_per_min: grown.max(LEAST_UP_PCT) as u32,
        scale_down_window_s: ready_s.clamp(LEAST_DOWN, MOST_DOWN) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_may_grow_as_fast_as_planned_traffic_and_shrinks_no_sooner_than_it_starts() {
        for (growth, ready_s, up, down) in [
            (0.1, 180, 100, 300),
            (1.0, 180, 400, 300),
            (0.0, 0, 100, 300),
            (0.5, 900, 800, 900),
            (0.1, 7200, 1210, 3600),
        ] {
            let found = behavior(growth, Duration::from_secs(ready_s));
            let found = (found.scale_up_pct_per_min, found.scale_down_window_s);
            assert_eq!(found, (up, down), "{growth} per minute, {ready_s} s");
        }
    }
}
