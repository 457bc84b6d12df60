//! Which policy to choose. Pure.
//!
//! A policy is judged over all gaps that were measured: by its highest quantile, and by the mean of
//! its burns. A policy that burns more has to be seen to be better, by intervals.

use super::study::Row;
use super::{WaitPlan, WaitingBecause, WaitingFinding, WaitingRecommendation};
use plimsoll_model::{Estimate, Goal, LatencyLimit, human_duration};
use plimsoll_schedulers::WaitPolicy;
use plimsoll_study::wake::Figure;
use std::time::Duration;

/// A p99 of at most so many times the lowest is as good, if only by its interval.
const AS_GOOD: f64 = 1.1;

/// A policy over all its gaps.
struct Overall<'r> {
    policy: &'r str,
    burn_pct: Estimate,
    log_p99: Figure,
    rows: Vec<&'r WaitingFinding>,
}

impl<'r> Overall<'r> {
    fn of(policy: &'r str, rows: &'r [Row]) -> Option<Overall<'r>> {
        let own: Vec<&Row> = rows.iter().filter(|r| r.finding.policy == policy).collect();
        let all = |of: fn(&Row) -> Option<&Figure>| -> Option<Figure> {
            let each: Option<Vec<&Figure>> = own.iter().map(|row| of(row)).collect();
            Figure::from(&each?, |values| {
                values.iter().sum::<f64>() / values.len() as f64
            })
        };
        Some(Overall {
            policy,
            burn_pct: all(|row| row.burn.as_ref())?.positive_estimate(),
            log_p99: all(|row| row.log_p99.as_ref())?,
            rows: own.iter().map(|row| &row.finding).collect(),
        })
    }

    /// Its p99 by that of another, over all gaps.
    fn p99_ratio(&self, other: &Overall<'_>) -> Option<Estimate> {
        let both = [&self.log_p99, &other.log_p99];
        let ratio = Figure::from(&both, |values| (values[0] - values[1]).exp());
        Some(ratio?.positive_estimate())
    }

    /// Whether it keeps a quantile below a limit at all gaps; `None` if intervals do not tell.
    fn keeps(&self, quantile: f64, limit: Duration) -> Option<bool> {
        let limit_us = limit.as_secs_f64() * 1e6;
        let mut all = Some(true);
        for row in &self.rows {
            let latency = &row.latency_us;
            let found = match quantile {
                q if q > 0.99 => latency.p999,
                q if q > 0.5 => latency.p99,
                _ => latency.p50,
            };
            match found.and_then(|e| e.interval()) {
                Some((low, _)) if low > limit_us => return Some(false),
                Some((_, high)) if high <= limit_us => {}
                _ => all = None,
            }
        }
        all
    }
}

fn none(because: WaitingBecause, why: impl Into<String>) -> WaitingRecommendation {
    WaitingRecommendation {
        policy: None,
        because,
        why: why.into(),
    }
}

pub(super) fn recommended(plan: &WaitPlan, rows: &[Row]) -> WaitingRecommendation {
    let is_own = |name: &&String| {
        let parsed = name.parse::<WaitPolicy>();
        parsed.is_ok_and(|policy| !policy.is_peer())
    };
    let own = plan.policies.iter().filter(is_own);
    let known: Vec<Option<Overall<'_>>> = own.map(|name| Overall::of(name, rows)).collect();
    let has_intervals = |row: &Overall<'_>| row.burn_pct.interval().is_some();
    let count = known.len();
    let mut known: Vec<Overall<'_>> = known.into_iter().flatten().filter(has_intervals).collect();
    if known.len() < count || known.is_empty() {
        let why = "Too few valid trials to compare the policies of Plimsoll's own scheduler.";
        return none(WaitingBecause::Inconclusive, why);
    }
    known.sort_by(|a, b| a.burn_pct.value.total_cmp(&b.burn_pct.value));
    match (latency_limit(plan), plan.most_burn_pct) {
        (None, None) => knee(&known),
        (latency, burn) => within(&known, latency, burn),
    }
}

fn latency_limit(plan: &WaitPlan) -> Option<(f64, Duration)> {
    match plan.budget? {
        Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(limit),
        } => Some((quantile.fraction(), limit)),
        _ => None,
    }
}

/// The cheapest first.
fn knee(known: &[Overall<'_>]) -> WaitingRecommendation {
    let fastest = known
        .iter()
        .min_by(|a, b| a.log_p99.value().total_cmp(&b.log_p99.value()));
    let is_as_good = |row: &&Overall<'_>| {
        let ratio = fastest.and_then(|fastest| row.p99_ratio(fastest));
        ratio.is_some_and(|ratio| ratio.low.unwrap_or(ratio.value) <= AS_GOOD)
    };
    match known.iter().find(is_as_good) {
        Some(row) => WaitingRecommendation {
            policy: Some(row.policy.to_owned()),
            because: WaitingBecause::Knee,
            why: format!(
                "{} burns least of the policies whose p99 is, by its interval, at most {AS_GOOD} times the lowest.",
                row.policy
            ),
        },
        None => none(WaitingBecause::Inconclusive, "No p99 has an interval."),
    }
}

fn within(
    known: &[Overall<'_>],
    latency: Option<(f64, Duration)>,
    most_burn_pct: Option<f64>,
) -> WaitingRecommendation {
    let keeps = |row: &Overall<'_>| -> Option<bool> {
        let fast = latency.map_or(Some(true), |(q, limit)| row.keeps(q, limit));
        let (low, high) = row.burn_pct.interval()?;
        let cheap = match most_burn_pct {
            Some(most) if low > most => Some(false),
            Some(most) if high > most => None,
            _ => Some(true),
        };
        match (fast, cheap) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    };
    let limits = [
        latency.map(|(q, limit)| {
            format!(
                "p{} below {}",
                (q * 1e3).round() / 10.0,
                human_duration(limit)
            )
        }),
        most_burn_pct.map(|most| format!("a burn of at most {most} %")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limits = limits.join(" and ");
    let kept: Vec<&Overall<'_>> = known.iter().filter(|r| keeps(r) == Some(true)).collect();
    let open: Vec<&str> = known
        .iter()
        .filter(|row| keeps(row).is_none())
        .map(|row| row.policy)
        .collect();
    let Some(mut best) = kept.first().copied() else {
        return match open.is_empty() {
            true => none(
                WaitingBecause::NoneWithinLimits,
                format!("No policy keeps {limits} at all gaps."),
            ),
            false => none(
                WaitingBecause::Inconclusive,
                format!(
                    "Intervals do not tell whether {limits} is kept by {}.",
                    open.join(", ")
                ),
            ),
        };
    };
    if latency.is_none() {
        // A dearer one has to be seen to be faster.
        for row in &kept {
            let ratio = row.p99_ratio(best).and_then(|ratio| ratio.high);
            if ratio.is_some_and(|high| high < 1.0) {
                best = row;
            }
        }
    }
    let what = match latency {
        Some(_) => "burns least",
        None => "has the lowest p99 beyond noise",
    };
    let open = match open.is_empty() {
        true => String::new(),
        false => format!(" Intervals do not tell whether {} does.", open.join(", ")),
    };
    WaitingRecommendation {
        policy: Some(best.policy.to_owned()),
        because: WaitingBecause::WithinLimits,
        why: format!(
            "{} {what} of those that keep {limits} at all gaps.{open}",
            best.policy
        ),
    }
}
