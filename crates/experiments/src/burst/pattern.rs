//! Patterns of bursts and breaks, as they are written: `10s@100,20s@0,5s@400`.

use plimsoll_model::{Rate, RatePhase, human_duration, parse_duration};
use std::time::Duration;

/// A cycle has so many phases at most.
const MOST: usize = 100;

/// A phase may last so long.
const LONGEST: Duration = Duration::from_secs(3600);

pub(super) fn phase(text: &str) -> Result<RatePhase, String> {
    let read = || {
        let (length, rate) = text.trim().split_once('@')?;
        let length = parse_duration(length)?;
        let rate = Rate::per_second(rate.parse().ok()?)?;
        let is_rate = rate == Rate::ZERO || (0.01..=1e6).contains(&rate.get());
        (is_rate && length <= LONGEST).then_some(RatePhase { length, rate })
    };
    read().ok_or_else(|| {
        "give each phase as TIME@RATE, up to 1h and 1000000 requests per second, such as \
         10s@100,20s@0 (rate 0 is a break)"
            .to_owned()
    })
}

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

/// How the phases read: `10s@100,20s@0`.
pub(super) fn written(pattern: &[RatePhase]) -> String {
    let phase = |p: &RatePhase| format!("{}@{}", human_duration(p.length), p.rate.get());
    pattern.iter().map(phase).collect::<Vec<_>>().join(",")
}
