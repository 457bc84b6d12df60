//! The head of the page: what is carried in one line, and the figures to act on.

use super::thresholds;
use crate::Report;
use crate::capacity::{Rank, Subject, before_gap, is_decided, leading, met, missed_from};
use crate::document::Fact;
use crate::number::{self, Written, per_second};
use crate::sentence::words_if;
use plimsoll_model::{CapacityFinding, CapacityNote, CapacityStatus, Estimate};

pub(super) fn headline(report: &Report<'_>) -> String {
    let findings = report.findings;
    let who = Subject::of(&report.plan.workload).who;
    let Some(leading) = leading(&findings.capacity) else {
        return format!("How much {} carries: no goal was given", who.to_lowercase());
    };
    let first = leading.finding;
    if let Some(lowest) = missed_from(first) {
        return format!(
            "{who} misses {} already at {}",
            first.goal,
            per_second(lowest)
        );
    }
    let unsure = |rate: Estimate| rate.low.is_none() && rate.high.is_none();
    if is_decided(first) && !report.is_imported() && first.rate_rps.is_some_and(unsure) {
        return format!(
            "How much {} carries: inconclusive, too few valid trials",
            who.to_lowercase()
        );
    }
    let within = match leading.rank {
        Rank::Only => String::new(),
        Rank::MissedFirst => format!(" within all goals; {} is missed first", first.goal),
        Rank::NoneMissed => " within all goals".to_owned(),
        Rank::OthersOpen => format!(" within {}", first.goal),
    };
    let at = match (first.cpu_pct, first.status) {
        (_, CapacityStatus::Undecided) | (None, _) => String::new(),
        (Some(cpu), _) => format!(" at {} % CPU use", Written::pct(cpu).value),
    };
    let doubted = words_if(is_doubted(first, report), ", in doubt");
    let at = at + &within + doubted;
    match (first.status, first.rate_rps) {
        (CapacityStatus::Found, Some(rate)) => {
            let least = before_gap(first).map_or("", |_| "at least ");
            format!("{who} carries {least}{}/s{at}", Written::rate(rate).value)
        }
        (CapacityStatus::Cliff, Some(rate)) => format!(
            "{who} carries {}{at}, {}",
            per_second(rate.low.unwrap_or(rate.value)),
            match leading.rank {
                Rank::MissedFirst => "at a cliff",
                Rank::Only | Rank::NoneMissed | Rank::OthersOpen => "then falls off a cliff",
            }
        ),
        (CapacityStatus::NotReached, Some(rate)) => {
            format!("{who} carries at least {}/s{at}", Written::rate(rate).value)
        }
        _ => format!("How much {} carries: inconclusive", who.to_lowercase()),
    }
}

/// Whether a stated capacity is in doubt.
fn is_doubted(first: &CapacityFinding, report: &Report<'_>) -> bool {
    let is_missed = matches!(first.note, Some(CapacityNote::MissedOverall { .. }));
    is_missed || first.confirmed == Some(false) || !report.findings.doubts.is_empty()
}

pub(super) fn tiles(report: &Report<'_>) -> Vec<Fact> {
    let first = leading(&report.findings.capacity).map(|leading| leading.finding);
    let Some((first, rate)) = first.and_then(|first| Some((first, first.rate_rps?))) else {
        return Vec::new();
    };
    let kind = (report.is_imported(), is_doubted(first, report));
    let tiles = [
        Some(load_tile(first, rate, kind)),
        first.cpu_pct.map(cpu_tile),
        act_tile(report),
    ];
    tiles.into_iter().flatten().collect()
}

fn load_tile(
    first: &CapacityFinding,
    rate: Estimate,
    (is_table, is_doubted): (bool, bool),
) -> Fact {
    let written = Written::rate(rate);
    let bound = match (first.status, before_gap(first)) {
        (CapacityStatus::NotReached, _)
            if matches!(first.note, Some(CapacityNote::TooFewRequestsAbove { .. })) =>
        {
            Some("lower bound: too few requests above".to_owned())
        }
        (CapacityStatus::NotReached, _) => Some("lower bound: not saturated".to_owned()),
        (CapacityStatus::Found, Some(high)) => Some(format!("below {}", per_second(high))),
        _ => None,
    };
    let goal = met(first, is_table);
    let doubted = words_if(is_doubted, "; in doubt");
    let tile = |more: String| Fact::tile("Load line", written.value.clone(), "/s", more);
    match bound {
        Some(bound) => tile(format!("{goal}; {bound}{doubted}")),
        None => tile(format!("{goal}{doubted}")).ending(written.ends(), "no interval"),
    }
}

fn cpu_tile(cpu: Estimate) -> Fact {
    let written = Written::pct(cpu);
    let ends = written.ends();
    Fact::tile("CPU use there", written.value, "%", String::new()).ending(ends, "no interval")
}

fn act_tile(report: &Report<'_>) -> Option<Fact> {
    let row = thresholds::usual(&report.findings.thresholds)?;
    let cpu = row.cpu_pct?;
    let more = format!(
        "CPU use, to keep {} % free; the linear rule says {} %",
        number::trimmed_pct(row.headroom_pct),
        number::trimmed_pct(row.linear_cpu_pct)
    );
    Some(Fact::tile(
        "Add an instance at",
        Written::pct(cpu).least().to_owned(),
        "%",
        more,
    ))
}
