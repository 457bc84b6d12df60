//! A row per arm, and per headroom of a curve, for spreadsheets and plots.

use super::YieldReport;
use crate::document::csv::{Column, number, table};
use plimsoll_model::{ArmFinding, Estimate, LatencyChange, LatencyUs, StepFinding};

/// One row per arm, and per headroom of those that were tried with many, under a
/// head that carries the units; RFC 4180. Where the load steps, what became of
/// latency after a step. Shares are of 1, and an interval's ends have `_low` and
/// `_high` after the name. What is not known is an empty field.
pub(super) fn csv(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    if report.plan.step.is_some() {
        return table(&STEPS, &findings.step);
    }
    let arm = |found: &ArmFinding| Row {
        headroom_pct: None,
        allowed_share: None,
        found: found.clone(),
    };
    let points = findings.curve.iter().flat_map(|curve| &curve.points);
    let points = points.map(|point| Row {
        headroom_pct: Some(point.headroom_pct),
        allowed_share: point.allowed_share,
        found: point.found.clone(),
    });
    let rows: Vec<Row> = findings.arms.iter().map(arm).chain(points).collect();
    table(&ARMS, &rows)
}

/// An arm, with its headroom where it was tried with many.
struct Row {
    headroom_pct: Option<f64>,
    allowed_share: Option<f64>,
    found: ArmFinding,
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

const ARMS: [Column<Row>; 34] = [
    ("arm", |r| r.found.arm.to_string()),
    ("headroom_pct", |r| number(r.headroom_pct)),
    ("allowed_share", |r| number(r.allowed_share)),
    ("work_gained_share", |r| value(r.found.work_gained_share)),
    ("work_gained_share_low", |r| low(r.found.work_gained_share)),
    ("work_gained_share_high", |r| {
        high(r.found.work_gained_share)
    }),
    ("total_work_share", |r| value(r.found.total_work_share)),
    ("total_work_share_low", |r| low(r.found.total_work_share)),
    ("total_work_share_high", |r| high(r.found.total_work_share)),
    ("latency_p50_us", |r| latency(&r.found, |l| l.p50)),
    ("latency_p95_us", |r| latency(&r.found, |l| l.p95)),
    ("latency_p99_us", |r| latency(&r.found, |l| l.p99)),
    ("latency_p999_us", |r| latency(&r.found, |l| l.p999)),
    ("change_p50_pct", |r| value(change(&r.found, |c| c.p50))),
    ("change_p50_pct_low", |r| low(change(&r.found, |c| c.p50))),
    ("change_p50_pct_high", |r| high(change(&r.found, |c| c.p50))),
    ("change_p95_pct", |r| value(change(&r.found, |c| c.p95))),
    ("change_p95_pct_low", |r| low(change(&r.found, |c| c.p95))),
    ("change_p95_pct_high", |r| high(change(&r.found, |c| c.p95))),
    ("change_p99_pct", |r| value(change(&r.found, |c| c.p99))),
    ("change_p99_pct_low", |r| low(change(&r.found, |c| c.p99))),
    ("change_p99_pct_high", |r| high(change(&r.found, |c| c.p99))),
    ("change_p999_pct", |r| value(change(&r.found, |c| c.p999))),
    ("change_p999_pct_low", |r| low(change(&r.found, |c| c.p999))),
    ("change_p999_pct_high", |r| {
        high(change(&r.found, |c| c.p999))
    }),
    ("price_us_per_pct", |r| value(r.found.price_us_per_pct)),
    ("price_us_per_pct_low", |r| low(r.found.price_us_per_pct)),
    ("price_us_per_pct_high", |r| high(r.found.price_us_per_pct)),
    ("run_delay_us_per_request", |r| {
        number(r.found.run_delay_us_per_request)
    }),
    ("cpu_us_per_request", |r| number(r.found.cpu_us_per_request)),
    ("cause", |r| named(r.found.cause)),
    ("trials", |r| r.found.trials.to_string()),
    ("invalid_trials", |r| r.found.invalid_trials.to_string()),
    ("verdict", |r| named(r.found.verdict)),
];

const STEPS: [Column<StepFinding>; 15] = [
    ("arm", |s| s.arm.to_string()),
    ("status", |s| named(s.status)),
    ("yield_time_ms", |s| value(s.yield_time_ms)),
    ("yield_time_ms_low", |s| low(s.yield_time_ms)),
    ("yield_time_ms_high", |s| high(s.yield_time_ms)),
    ("cost_request_seconds", |s| value(s.cost_request_seconds)),
    ("cost_request_seconds_low", |s| low(s.cost_request_seconds)),
    ("cost_request_seconds_high", |s| {
        high(s.cost_request_seconds)
    }),
    ("settled_change_pct", |s| value(s.settled_change_pct)),
    ("settled_change_pct_low", |s| low(s.settled_change_pct)),
    ("settled_change_pct_high", |s| high(s.settled_change_pct)),
    ("worst_slot_p99_us", |s| value(s.worst_slot_p99_us)),
    ("worst_slot_p99_us_low", |s| low(s.worst_slot_p99_us)),
    ("worst_slot_p99_us_high", |s| high(s.worst_slot_p99_us)),
    ("steps", |s| s.steps.to_string()),
];
