//! How far CPU use is linear in the load, in a sentence.

use crate::capacity::{Subject, leading};
use crate::number::Written;
use crate::sentence::words_of;
use plimsoll_model::{Estimate, Findings, Headroom, HeadroomIndex, NoHeadroom};

/// An index this near to 1 is called the truth: it does not matter to plans.
const NEAR: f64 = 0.05;

pub(super) fn sentence(subject: Subject, findings: &Findings) -> String {
    match &findings.headroom {
        Headroom::Known(index) => known(subject, index, is_beyond_goal(findings, index)),
        Headroom::Unknown { why } => {
            format!(
                "The headroom index is not known: {}.",
                reason(subject, *why)
            )
        }
    }
}

fn known(subject: Subject, index: &HeadroomIndex, beyond_goal: bool) -> String {
    let most = Written::rate(index.max_rate_rps).with_ends("/s");
    let nearest_cpu = format!("{:.1} %", index.nearest_cpu_pct);
    let (Some(half), Some(ratio)) = (index.half_rate_rps, index.interpolated_ratio) else {
        let promised = Written::rate(index.linear_expectation_rps).with_ends("/s");
        return format!(
            "Linear extrapolation from the level nearest to 50 % CPU use, at {nearest_cpu}, predicts \
             {promised} at 100 %. The highest throughput at any level is {most}: headroom index \
             {}, {}.",
            ratio_of(subject, index.nearest_level_ratio),
            advice(index.nearest_level_ratio, beyond_goal),
        );
    };
    let more = words_of(index.extra_over_half_ratio, |extra| {
        let extra = Written::of(extra.map_rising(|ratio| 100.0 * ratio), 0);
        format!(", {} more than at 50 %", extra.with_ends(" %"))
    });
    // By itself in brackets, its interval in none.
    let nearest = Written::of(index.nearest_level_ratio, 2);
    let ends = words_of(nearest.ends(), |ends| format!(", {ends}"));
    format!(
        "At 50 % CPU use it does about {}; linear extrapolation predicts {}/s at 100 %. The \
         highest throughput at any level is {most}{more}: headroom index {} [by the level nearest \
         to 50 % CPU use, at {nearest_cpu}: {}{ends}], {}.",
        Written::rate(half).with_ends("/s"),
        Written::rate(half.map_rising(|rate| 2.0 * rate)).value,
        ratio_of(subject, ratio),
        nearest.value,
        advice(ratio, beyond_goal),
    )
}

fn ratio_of(subject: Subject, ratio: Estimate) -> String {
    subject.shows(&Written::of(ratio, 2), "")
}

/// Which way CPU use is wrong, as far as an index with its interval shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// There is less room than the idle time suggests: CPU use lags behind.
    Less,
    /// CPU use is the load.
    Truth,
    /// There is more room: CPU use runs ahead.
    More,
    /// It may be either.
    Either,
    /// Less, if there were an interval.
    SeemsLess,
    /// More, if there were one.
    SeemsMore,
}

pub(super) fn tells(ratio: Estimate) -> Tells {
    let Some((low, high)) = ratio.interval() else {
        return match ratio.value {
            value if value < 1.0 - NEAR => Tells::SeemsLess,
            value if value > 1.0 + NEAR => Tells::SeemsMore,
            _ => Tells::Either,
        };
    };
    let is_near = low >= 1.0 - NEAR && high <= 1.0 + NEAR;
    let is_narrow = high - low <= 2.0 * NEAR;
    if is_near || (low <= 1.0 && high >= 1.0 && is_narrow) {
        Tells::Truth
    } else if high < 1.0 {
        Tells::Less
    } else if low > 1.0 {
        Tells::More
    } else {
        Tells::Either
    }
}

/// Whether the most work that was carried is more than what is carried within the goal that
/// is missed first. With intervals it is if these do not overlap.
pub(super) fn is_beyond_goal(findings: &Findings, index: &HeadroomIndex) -> bool {
    let most = index.max_rate_rps;
    let within = leading(&findings.capacity).and_then(|first| first.finding.rate_rps);
    within
        .is_some_and(|within| within.high.unwrap_or(within.value) < most.low.unwrap_or(most.value))
}

/// What an index says to a planner, as far as its interval lets it. Room that
/// the goal does not let be used is none to plan with.
pub(super) fn advice(ratio: Estimate, beyond_goal: bool) -> &'static str {
    match tells(ratio) {
        Tells::More if beyond_goal => {
            "so there is more capacity than the idle time suggests, but not within the goal"
        }
        Tells::SeemsMore if beyond_goal => {
            "which points to more capacity than the idle time suggests, but not within the goal"
        }
        Tells::Truth => "so CPU use is linear in the load here",
        Tells::Less => "so plan with less than the idle time suggests",
        Tells::More => "so there is more room than the idle time suggests",
        Tells::SeemsLess => "which points to less room than the idle time suggests",
        Tells::SeemsMore => "which points to more room than the idle time suggests",
        Tells::Either => "not significantly different from 1",
    }
}

fn reason(subject: Subject, why: NoHeadroom) -> &'static str {
    match why {
        NoHeadroom::NoLevelNearHalf if subject.is_table => "no row is near 50 % CPU use",
        NoHeadroom::NoLevel => "no load level was measured",
        NoHeadroom::NoValidTrial => "no level has a valid trial",
        NoHeadroom::CpuUnreadable => "CPU use could not be read",
        NoHeadroom::NotSaturated => "the service was not saturated",
        NoHeadroom::CpuNeverBeyondHalf if subject.has_external_load => {
            "CPU use never exceeded 50 %: something else saturates first, such as the load command or \
             the service's threads"
        }
        NoHeadroom::CpuNeverBeyondHalf => {
            "CPU use never exceeded 50 %: something else saturates first, such as the service's \
             threads"
        }
        NoHeadroom::NoLevelNearHalf => {
            "no level came near 50 % CPU use; ask for one that does with --levels"
        }
    }
}
