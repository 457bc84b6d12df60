//! Which policy to choose. Pure.
//!
//! A policy is judged over all gaps that were measured: by its highest quantile, and by the mean of
//! its burns. A policy that burns more has to be seen to be better, by intervals.

use super::study::Row;
use super::{GapPattern, WaitPlan, WaitingBecause, WaitingFinding, WaitingRecommendation};
use plimsoll_model::{Estimate, Goal, LatencyLimit, human_duration, sort_by_number};
use plimsoll_schedulers::WaitPolicy;
use plimsoll_study::wake::Figure;
use std::fmt;
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
        // Idleness has no latency, and no part in the mean of burns.
        let is_own =
            |row: &&Row| row.finding.policy == policy && row.finding.gaps != GapPattern::Idle;
        let own: Vec<&Row> = rows.iter().filter(is_own).collect();
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
    sort_by_number(&mut known, |one| one.burn_pct.value);
    match (latency_limit(plan), plan.most_burn_pct) {
        (None, None) => knee(&known),
        (latency, most_burn_pct) => within(
            &known,
            &Limits {
                latency,
                most_burn_pct,
            },
        ),
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

/// What the recommended policy keeps at all gaps.
struct Limits {
    latency: Option<(f64, Duration)>,
    most_burn_pct: Option<f64>,
}

impl Limits {
    /// Whether a policy keeps both; `None` if intervals do not tell.
    fn kept_by(&self, row: &Overall<'_>) -> Option<bool> {
        let fast = self
            .latency
            .map_or(Some(true), |(q, limit)| row.keeps(q, limit));
        let (low, high) = row.burn_pct.interval()?;
        let cheap = match self.most_burn_pct {
            Some(most) if low > most => Some(false),
            Some(most) if high > most => None,
            _ => Some(true),
        };
        match (fast, cheap) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = self.latency.map(|(q, limit)| {
            let percent = (q * 1e3).round() / 10.0;
            format!("p{percent} below {}", human_duration(limit))
        });
        let burn = self.most_burn_pct;
        let burn = burn.map(|most| format!("a burn of at most {most} %"));
        let both: Vec<String> = latency.into_iter().chain(burn).collect();
        f.write_str(&both.join(" and "))
    }
}

fn within(known: &[Overall<'_>], limits: &Limits) -> WaitingRecommendation {
    let of = |kept| {
        let rows = known.iter();
        rows.filter(move |row| limits.kept_by(row) == kept)
    };
    let open: Vec<&str> = of(None).map(|row| row.policy).collect();
    let open = open.join(", ");
    let kept: Vec<&Overall<'_>> = of(Some(true)).collect();
    let best = match limits.latency {
        Some(_) => kept.first().copied(),
        None => seen_to_be_fastest(&kept),
    };
    let Some(best) = best else {
        return match open.is_empty() {
            true => none(
                WaitingBecause::NoneWithinLimits,
                format!("No policy keeps {limits} at all gaps."),
            ),
            false => none(
                WaitingBecause::Inconclusive,
                format!("Intervals do not tell whether {limits} is kept by {open}."),
            ),
        };
    };
    let what = match limits.latency {
        Some(_) => "burns least",
        None => "has the lowest p99 beyond noise",
    };
    let open = match open.is_empty() {
        true => String::new(),
        false => format!(" Intervals do not tell whether {open} does."),
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

/// Of policies with the cheapest first: a dearer one has to be seen to be faster.
fn seen_to_be_fastest<'a, 'r>(kept: &[&'a Overall<'r>]) -> Option<&'a Overall<'r>> {
    kept.iter().copied().reduce(|best, row| {
        let ratio = row.p99_ratio(best).and_then(|ratio| ratio.high);
        match ratio.is_some_and(|high| high < 1.0) {
            true => row,
            false => best,
        }
    })
}
