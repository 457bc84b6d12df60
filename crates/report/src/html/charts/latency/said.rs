//! What the chart of latency says: its title, and a level in a line.

use super::super::{View, is_told, limit_us, load_name};
use super::Line;
use crate::capacity::{Subject, leading};
use crate::number::{self, Written, per_second, time_us};
use plimsoll_model::{CapacityFinding, CapacityStatus, Goal, LevelFinding, Quantile};

/// What the chart shows: up to which load the goal that leads is kept; if that
/// is none of latency, which this chart is about, the first that is.
pub(super) fn title(view: View<'_>) -> String {
    let findings = view.findings();
    let first = leading(&findings.capacity).map(|l| l.finding);
    let about_latency = |c: &&CapacityFinding| is_told(c) && limit_us(c).is_some();
    let of_latency = || findings.capacity.iter().find(about_latency);
    let Some(first) = first
        .filter(|c| about_latency(c))
        .or_else(of_latency)
        .or(first)
    else {
        return growth(&findings.levels, view);
    };
    let Some(rate) = first.rate_rps else {
        return growth(&findings.levels, view);
    };
    let what = kept(first, view.report.is_imported());
    let low = rate.low.unwrap_or(rate.value);
    match first.status {
        CapacityStatus::Cliff => format!(
            "{what} up to {}, and not at all beyond: a cliff",
            per_second(low)
        ),
        CapacityStatus::NotReached => format!(
            "{what} up to {}/s, {}",
            Written::rate(rate).value,
            Subject::of(&view.report.plan.workload).tried
        ),
        _ => format!("{what} up to {}/s", Written::rate(rate).value),
    }
}

/// What is kept, in fewer words than a goal has elsewhere.
/// Of a table it is not known which percentile its latency is.
pub(in crate::html) fn kept(finding: &CapacityFinding, is_table: bool) -> String {
    match (finding.goal, limit_us(finding)) {
        (Goal::Latency { .. }, Some(us)) if is_table => {
            format!("Latency stays below {}", time_us(us))
        }
        (Goal::Latency { quantile, .. }, Some(us)) => {
            let part = if quantile == Quantile::P50 {
                "Half".to_owned()
            } else {
                // A quantile writes itself as p99.9.
                format!("{} %", quantile.to_string().trim_start_matches('p'))
            };
            format!("{part} of the requests are answered within {}", time_us(us))
        }
        (Goal::Latency { .. }, None) => format!("The goal {} is kept", finding.goal),
        (Goal::Errors { limit }, _) => format!(
            "Less than {} % of the requests fail",
            number::trimmed(limit.pct())
        ),
        (Goal::Cpu { limit }, _) => {
            format!("CPU use stays below {} %", number::trimmed(limit.pct()))
        }
    }
}

/// Without a goal that was found: how latency grows.
fn growth(levels: &[LevelFinding], view: View<'_>) -> String {
    let name = match view.report.is_imported() {
        true => "Latency",
        false => "p99",
    };
    let known = |l: &&LevelFinding| l.latency_us.is_some();
    let first = levels.iter().find(known);
    let last = levels.iter().rfind(known);
    let at = |l: &LevelFinding| l.latency_us.as_ref().map_or(0.0, |s| s.p99);
    match (first, last) {
        (Some(first), Some(last)) if first.load_pct < last.load_pct => format!(
            "{} goes from {} at {} to {} at {}",
            name,
            time_us(at(first)),
            load_name(first),
            time_us(at(last)),
            load_name(last)
        ),
        (Some(only), _) => format!("{name} is {} at {}", time_us(at(only)), load_name(only)),
        _ => "No level has a trial that counts".to_owned(),
    }
}

/// What is under the picture when a level is picked.
pub(super) fn told(level: &LevelFinding, lines: &[Line]) -> String {
    let Some(latency) = &level.latency_us else {
        return format!("{}: no trial counts", load_name(level));
    };
    let parts = lines.iter().rev();
    let parts: Vec<String> = parts
        .map(|line| format!("{} {}", line.name, time_us((line.of)(latency))))
        .collect();
    format!(
        "{}, {}: {}",
        load_name(level),
        per_second(level.offered_rps),
        parts.join(", ")
    )
}
