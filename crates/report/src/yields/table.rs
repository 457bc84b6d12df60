//! A row per arm.

use crate::number::{MISSING, TimeUnit, Written, grouped};
use crate::table::{Cell, Column, ColumnsOf, Ink, all_trials, ends, or_dash};
use plimsoll_model::{ArmFinding, Budget, BudgetVerdict, Cause, Estimate, LatencyUs};

type Of<T> = fn(&ArmFinding) -> Option<T>;

pub(crate) fn columns(arms: &[ArmFinding], budget: &Budget) -> Vec<Column> {
    let rows = ColumnsOf(arms);
    let latency = |name, rank, of: fn(&LatencyUs) -> Option<f64>| {
        let values = arms.iter().map(|a| a.latency_us.as_ref().and_then(of));
        let unit = TimeUnit::of(values.clone().flatten());
        let cells = values.map(|us| or_dash(us, |us| unit.show(us)));
        Column::new(name, unit.name, rank, cells)
    };
    let estimate = |name, unit, rank, of: Of<Estimate>| {
        let show = |e| Written::of(e, decimals(e)).value + mark(e);
        rows.ranked(name, unit, rank, |a| or_dash(of(a), show))
    };
    let micros = |name, rank, of: Of<f64>| {
        rows.ranked(name, "us/req", rank, |a| {
            or_dash(of(a), |us| grouped(us, 0))
        })
    };
    let changed = |a: &ArmFinding| a.latency_change_pct.and_then(|c| c.under(budget));
    let gained: Of<Estimate> = |a| a.work_gained_share.map(pct);
    vec![
        rows.column("arm", "", |a| a.arm.to_string()),
        estimate("gained", "% work", 0, gained),
        rows.ranked("interval", "95 %", 4, |a| ends(gained(a).map(Written::pct))),
        estimate("total", "% work", 2, |a| a.total_work_share.map(pct)),
        latency("p50", 6, |l| l.p50),
        latency("p95", 7, |l| l.p95),
        latency("p99", 1, |l| l.p99),
        latency("p99.9", 5, |l| l.p999),
        rows.column("change", "%", |a| {
            or_dash(changed(a), |e| signed(e) + mark(e))
        }),
        rows.ranked("interval", "95 %", 1, |a| {
            ends(changed(a).map(Written::pct))
        }),
        estimate("price", "us p99/%", 5, |a| a.price_us_per_pct),
        micros("waits", 3, |a| a.run_delay_us_per_request),
        micros("CPU time", 3, |a| a.cpu_us_per_request),
        rows.ranked("cause", "", 4, |a| {
            or_dash(a.cause, |cause| cause_name(cause).to_owned())
        }),
        rows.ranked("trials", "", 8, |a| all_trials(a.trials, a.invalid_trials)),
        rows.column("verdict", "", verdict),
    ]
}

/// What stands after an estimate without an interval.
pub(super) fn mark(estimate: Estimate) -> &'static str {
    match estimate.interval() {
        Some(_) => "",
        None => NO_INTERVAL,
    }
}

pub(super) const NO_INTERVAL: &str = "*";

pub(crate) fn pct(share: Estimate) -> Estimate {
    share.map_rising(|share| share * 100.0)
}

/// What is in the thousands needs no decimals, with an interval or without.
fn decimals(estimate: Estimate) -> i32 {
    if estimate.value.abs() >= 1000.0 { 0 } else { 1 }
}

/// `+3.1`
pub(crate) fn signed(estimate: Estimate) -> String {
    with_sign(&Written::of(estimate, decimals(estimate)).value)
}

pub(super) fn with_sign(value: &str) -> String {
    match value.starts_with('-') {
        true => value.to_owned(),
        false => format!("+{value}"),
    }
}

pub(crate) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Waiting => "waiting",
        Cause::Slower => "slower",
        Cause::Both => "both",
    }
}

fn verdict(arm: &ArmFinding) -> Cell {
    let (text, ink) = match arm.verdict {
        Some(BudgetVerdict::Within) => ("within", Ink::Green),
        Some(BudgetVerdict::Beyond) => ("beyond", Ink::Red),
        Some(BudgetVerdict::Inconclusive) => ("inconclusive", Ink::Yellow),
        None => (MISSING, Ink::Plain),
    };
    Cell::new(ink, text)
}
