//! Which patterns of bursts and breaks can be measured.

use plimsoll_model::{RatePhase, human_duration};
use std::time::Duration;

/// A cycle has so many phases at most.
const MOST: usize = 100;

/// Why a pattern cannot be measured with CPU time read every `step`.
pub(super) fn fault(pattern: &[RatePhase], step: Duration) -> Option<String> {
    let bursts = pattern.iter().filter(|phase| !phase.is_break());
    let shown = human_duration;
    if pattern.iter().any(|phase| phase.length.is_zero()) || pattern.is_empty() {
        return Some("the pattern has a phase of zero length; give each some time".to_owned());
    }
    if pattern.len() > MOST {
        return Some(format!(
            "the pattern has {} phases; give {MOST} at most",
            pattern.len()
        ));
    }
    if bursts.clone().next().is_none() {
        return Some("the pattern has no burst; give a phase a rate above 0".to_owned());
    }
    if !pattern.iter().any(RatePhase::is_break) {
        return Some("the pattern has no break; give a phase the rate 0, such as 10s@0".to_owned());
    }
    let short = pattern.iter().find(|phase| phase.length < 4 * step);
    if let Some(phase) = short {
        let what = if phase.is_break() { "break" } else { "burst" };
        return Some(format!(
            "a {what} of {} is shorter than 4 sampling steps of {}, so its CPU use cannot be seen; \
             lengthen it, or give a finer --step",
            shown(phase.length),
            shown(step)
        ));
    }
    let empty = bursts
        .clone()
        .find(|p| p.length.as_secs_f64() * p.rate.get() < 2.0);
    empty.map(|phase| {
        format!(
            "a burst of {} at {} has fewer than 2 requests; lengthen it, or raise the rate",
            shown(phase.length),
            phase.rate
        )
    })
}
