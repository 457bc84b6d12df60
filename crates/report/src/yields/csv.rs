//! A row per arm, for spreadsheets and plots.

use super::YieldReport;
use crate::csv::{Column, number, table};
use plimsoll_model::{ArmFinding, Estimate, LatencyChange, LatencyUs};

/// One row per arm, under a head that carries the units; RFC 4180. Shares are
/// of 1, and an interval's ends have `_low` and `_high` after the name. What is
/// not known is an empty field.
pub fn yield_csv(report: &YieldReport<'_>) -> String {
    table(&ARMS, &report.findings.arms)
}

fn value(estimate: Option<Estimate>) -> String {
    number(estimate.map(|e| e.value))
}

fn low(estimate: Option<Estimate>) -> String {
    number(estimate.and_then(|e| e.low))
}

fn high(estimate: Option<Estimate>) -> String {
    number(estimate.and_then(|e| e.high))
}

fn latency(arm: &ArmFinding, of: fn(&LatencyUs) -> f64) -> String {
    number(arm.latency_us.as_ref().map(of))
}

fn change(arm: &ArmFinding, of: fn(&LatencyChange) -> Estimate) -> Option<Estimate> {
    arm.latency_change_pct.as_ref().map(of)
}

/// A name that JSON has for it, which is what programs know.
fn named(value: Option<impl serde::Serialize>) -> String {
    let json = value.and_then(|value| serde_json::to_value(value).ok());
    let name = json.as_ref().and_then(|json| json.as_str());
    name.unwrap_or_default().to_owned()
}

const ARMS: [Column<ArmFinding>; 32] = [
    ("arm", |a| a.arm.to_string()),
    ("work_gained_share", |a| value(a.work_gained_share)),
    ("work_gained_share_low", |a| low(a.work_gained_share)),
    ("work_gained_share_high", |a| high(a.work_gained_share)),
    ("total_work_share", |a| value(a.total_work_share)),
    ("total_work_share_low", |a| low(a.total_work_share)),
    ("total_work_share_high", |a| high(a.total_work_share)),
    ("latency_p50_us", |a| latency(a, |l| l.p50)),
    ("latency_p95_us", |a| latency(a, |l| l.p95)),
    ("latency_p99_us", |a| latency(a, |l| l.p99)),
    ("latency_p999_us", |a| latency(a, |l| l.p999)),
    ("change_p50_pct", |a| value(change(a, |c| c.p50))),
    ("change_p50_pct_low", |a| low(change(a, |c| c.p50))),
    ("change_p50_pct_high", |a| high(change(a, |c| c.p50))),
    ("change_p95_pct", |a| value(change(a, |c| c.p95))),
    ("change_p95_pct_low", |a| low(change(a, |c| c.p95))),
    ("change_p95_pct_high", |a| high(change(a, |c| c.p95))),
    ("change_p99_pct", |a| value(change(a, |c| c.p99))),
    ("change_p99_pct_low", |a| low(change(a, |c| c.p99))),
    ("change_p99_pct_high", |a| high(change(a, |c| c.p99))),
    ("change_p999_pct", |a| value(change(a, |c| c.p999))),
    ("change_p999_pct_low", |a| low(change(a, |c| c.p999))),
    ("change_p999_pct_high", |a| high(change(a, |c| c.p999))),
    ("price_us_per_pct", |a| value(a.price_us_per_pct)),
    ("price_us_per_pct_low", |a| low(a.price_us_per_pct)),
    ("price_us_per_pct_high", |a| high(a.price_us_per_pct)),
    ("run_delay_us_per_request", |a| {
        number(a.run_delay_us_per_request)
    }),
    ("cpu_us_per_request", |a| number(a.cpu_us_per_request)),
    ("cause", |a| named(a.cause)),
    ("trials", |a| a.trials.to_string()),
    ("invalid_trials", |a| a.invalid_trials.to_string()),
    ("verdict", |a| named(a.verdict)),
];
