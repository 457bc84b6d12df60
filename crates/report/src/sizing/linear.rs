//! Where an autoscaler ends that takes CPU use for work, in a sentence.

use crate::number::{self, for_count, per_second};
use crate::table::Ink;
use plimsoll_model::{LinearRule, PlannedFrom, Sizing};

/// A rule that misses the goal is worse than one that only costs.
pub(super) fn linear_ink(sizing: &Sizing, linear: &LinearRule) -> Ink {
    if linear.load_ratio > 1.0 && !is_open(sizing) {
        Ink::Red
    } else {
        Ink::Yellow
    }
}

/// Whether more than what is planned with may be carried.
fn is_open(sizing: &Sizing) -> bool {
    sizing.planned_from == PlannedFrom::HighestTried
}

pub(super) fn linear_rule(sizing: &Sizing, linear: &LinearRule) -> String {
    let target = number::pct(linear.target_cpu_pct);
    if linear.runs_away {
        return format!(
            "The linear rule (CPU use equals work) would set {target} %; CPU use stays above that \
             however many instances there are, so it would add them without end."
        );
    }
    let n = linear.instances;
    let end = if linear.settled {
        format!("ends at {n} {}", for_count(n, "instance", "instances"))
    } else {
        format!("oscillates and falls to {n}")
    };
    let load = number::trimmed_pct(100.0 * linear.load_ratio);
    let carried = format!(
        "with the planned failures and growth, each instance would run at {load} % of its planned \
         capacity"
    );
    let verdict = match linear.missing_instances {
        0 => format!("as many as needed: {carried}"),
        missing if missing > 0 && is_open(sizing) => format!(
            "{missing} fewer than planned: {carried}, and whether that misses the SLO is unknown"
        ),
        missing if missing > 0 => format!("{missing} too few for the SLO: {carried}"),
        more => format!("{} more than needed: {carried}", -more),
    };
    format!(
        "The linear rule (CPU use equals work) would set {target} %; at {} that {end}, {verdict}.",
        per_second(sizing.peak_rps)
    )
}
