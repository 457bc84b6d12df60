//! A row per arm, and per headroom of a curve, for spreadsheets and plots.

use super::YieldReport;
use crate::document::csv::{Field, Interval, Number, Text, table};
use plimsoll_model::{ArmFinding, StepFinding};

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

struct Row {
    headroom_pct: Option<f64>,
    allowed_share: Option<f64>,
    found: ArmFinding,
}

/// A name that JSON has for it, which is what programs know.
fn named(value: Option<impl serde::Serialize>) -> String {
    let json = value.and_then(|value| serde_json::to_value(value).ok());
    let name = json.as_ref().and_then(|json| json.as_str());
    name.unwrap_or_default().to_owned()
}

const ARMS: [Field<Row>; 21] = [
    Text("arm", |r| r.found.arm.to_string()),
    Number("headroom_pct", |r| r.headroom_pct),
    Number("allowed_share", |r| r.allowed_share),
    Interval("work_gained_share", |r| r.found.work_gained_share),
    Interval("total_work_share", |r| r.found.total_work_share),
    Number("latency_p50_us", |r| r.found.latency_us?.p50),
    Number("latency_p95_us", |r| r.found.latency_us?.p95),
    Number("latency_p99_us", |r| r.found.latency_us?.p99),
    Number("latency_p999_us", |r| r.found.latency_us?.p999),
    Interval("change_p50_pct", |r| r.found.latency_change_pct?.p50),
    Interval("change_p95_pct", |r| r.found.latency_change_pct?.p95),
    Interval("change_p99_pct", |r| r.found.latency_change_pct?.p99),
    Interval("change_p999_pct", |r| r.found.latency_change_pct?.p999),
    Interval("price_us_per_pct", |r| r.found.price_us_per_pct),
    Number("run_delay_us_per_request", |r| {
        r.found.run_delay_us_per_request
    }),
    Number("cpu_us_per_request", |r| r.found.cpu_us_per_request),
    Text("cause", |r| named(r.found.cause)),
    Text("trials", |r| r.found.trials.to_string()),
    Text("invalid_trials", |r| r.found.invalid_trials.to_string()),
    Text("verdict", |r| named(r.found.verdict)),
    Interval("work_by_cpu_share", |r| r.found.work_by_cpu_share),
];

const STEPS: [Field<StepFinding>; 7] = [
    Text("arm", |s| s.arm.to_string()),
    Text("status", |s| named(s.status)),
    Interval("yield_time_ms", |s| s.yield_time_ms),
    Interval("cost_request_seconds", |s| s.cost_request_seconds),
    Interval("settled_change_pct", |s| s.settled_change_pct),
    Interval("worst_slot_p99_us", |s| s.worst_slot_p99_us),
    Text("steps", |s| s.steps.to_string()),
];
