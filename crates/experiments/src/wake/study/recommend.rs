//! Which policy to choose. Pure.

use crate::wake::findings::{Because, Change, PolicyFinding, RecommendedPolicy};
use crate::wake::plan::{BurnBudget, WakePlan};
use plimsoll_model::{Estimate, human_duration};

/// A p99 of at most so many times the lowest is as good, if only by its interval.
const AS_GOOD: f64 = 1.1;

pub(super) fn recommended(plan: &WakePlan, policies: &[PolicyFinding]) -> RecommendedPolicy {
    let none = |because, why: &str| RecommendedPolicy {
        policy: None,
        because,
        why: why.to_owned(),
    };
    if let Some(program) = &plan.program {
        let why = format!(
            "{} is measured, and the table compares its figures; a policy is recommended for wake-ups alone.",
            program.program
        );
        return none(Because::ProgramMeasured, &why);
    }
    let differing = || {
        policies
            .iter()
            .filter(|row| row.p99_change == Some(Change::Lower))
    };
    let is_known = |row: &PolicyFinding| row.p99_change.is_some() || row.policy.is_as_is();
    let others = policies.iter().filter(|row| !row.policy.is_as_is()).count();
    if others == 0
        || policies
            .iter()
            .any(|row| !is_known(row) || row.p99_us.is_none())
    {
        let why = "Too few valid trials to compare the policies.";
        return none(Because::Inconclusive, why);
    }
    if plan.budget.is_some() || plan.latency.is_some() {
        return within_limits(plan, policies);
    }
    let lowest = differing().filter_map(relative_p99);
    let Some(lowest) = lowest.min_by(f64::total_cmp) else {
        let why =
            "No policy lowers the p99 of wake-ups beyond noise: leave the idle states as they are.";
        return none(Because::NoneDiffers, why);
    };
    let as_good = differing().filter(|row| is_as_good(row, lowest));
    match least_burn(as_good) {
        Some(row) => RecommendedPolicy {
            policy: Some(row.policy),
            because: Because::Knee,
            why: format!(
                "{} burns least of the policies whose p99 {} at most {AS_GOOD} times the lowest.",
                row.policy,
                match relative_p99(row).is_some_and(|ratio| ratio <= AS_GOOD * lowest) {
                    true => "is",
                    false => "may be, by its interval,",
                }
            ),
        },
        None => none(Because::Inconclusive, "No policy has a burn."),
    }
}

fn least_burn<'a>(rows: impl Iterator<Item = &'a PolicyFinding>) -> Option<&'a PolicyFinding> {
    let burn = |row: &PolicyFinding| row.burn_pct.map_or(f64::INFINITY, |burn| burn.value);
    rows.min_by(|a, b| burn(a).total_cmp(&burn(b)))
}

fn within_limits(plan: &WakePlan, policies: &[PolicyFinding]) -> RecommendedPolicy {
    // With the unfavourable end of each interval.
    let worst = |estimate: Estimate| estimate.high.unwrap_or(f64::INFINITY);
    let keeps_latency = |row: &&PolicyFinding| match plan.latency {
        None => true,
        Some(limit) => row
            .highest_p99_us
            .is_some_and(|p99| worst(p99) <= limit.as_secs_f64() * 1e6),
    };
    let keeps_budget = |row: &&PolicyFinding| match plan.budget {
        None => true,
        _ if row.policy.is_as_is() => true,
        Some(BurnBudget::CpuPct(most)) => row.extra_burn_pct.is_some_and(|e| worst(e) <= most),
        Some(BurnBudget::Watts(most)) => row.extra_power_w.is_some_and(|e| worst(e) <= most),
    };
    let kept = || policies.iter().filter(keeps_latency).filter(keeps_budget);
    let limits: Vec<String> = [
        plan.latency
            .map(|limit| format!("a p99 of {}", human_duration(limit))),
        plan.budget.map(|budget| format!("a budget of {budget}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let limits = limits.join(" and ");
    // A latency is to be kept at least cost; a budget is to be spent as well as it can.
    let chosen = match plan.latency {
        Some(_) => least_burn(kept()),
        None => lowest_p99(kept()),
    };
    match chosen {
        Some(row) => RecommendedPolicy {
            policy: Some(row.policy),
            because: Because::WithinLimits,
            why: match plan.latency {
                Some(_) => format!("{} burns least of those that keep {limits}.", row.policy),
                None if row.policy.is_as_is() => format!(
                    "No other policy lowers the p99 beyond noise within {limits}: leave the idle states as they are."
                ),
                None => format!(
                    "{} has the lowest p99 of those that keep {limits}.",
                    row.policy
                ),
            },
        },
        None => RecommendedPolicy {
            policy: None,
            because: Because::NoneWithinLimits,
            why: format!("No policy keeps {limits}, with the unfavourable ends of its intervals."),
        },
    }
}

/// Among those that differ from as it is beyond noise, and that itself.
fn lowest_p99<'a>(rows: impl Iterator<Item = &'a PolicyFinding>) -> Option<&'a PolicyFinding> {
    let rows: Vec<&PolicyFinding> = rows
        .filter(|row| row.policy.is_as_is() || row.p99_change == Some(Change::Lower))
        .collect();
    let each = rows.iter().filter_map(|row| relative_p99(row));
    let lowest = each.min_by(f64::total_cmp)?;
    least_burn(rows.into_iter().filter(|row| is_as_good(row, lowest)))
}

/// By that as it is.
fn relative_p99(row: &PolicyFinding) -> Option<f64> {
    match row.policy.is_as_is() {
        true => Some(1.0),
        false => Some(row.p99_ratio?.value),
    }
}

/// By the favourable end of its interval: a policy that burns more has to be seen to be
/// better, and not to have had fewer slow trials by chance.
fn is_as_good(row: &PolicyFinding, lowest: f64) -> bool {
    let ratio = match row.policy.is_as_is() {
        true => Some(1.0),
        false => row.p99_ratio.map(|ratio| ratio.low.unwrap_or(ratio.value)),
    };
    ratio.is_some_and(|ratio| ratio <= AS_GOOD * lowest)
}
