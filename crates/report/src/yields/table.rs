//! A row per arm.

use crate::number::{MISSING, TimeUnit, Written, grouped};
use crate::table::{Cell, Column, Ink};
use plimsoll_model::{ArmFinding, Budget, BudgetVerdict, Cause, Estimate, LatencyUs};

type Of<T> = fn(&ArmFinding) -> Option<T>;

pub(crate) fn columns(arms: &[ArmFinding], budget: &Budget) -> Vec<Column> {
    let text = |name, unit, rank, cell: &dyn Fn(&ArmFinding) -> Cell| {
        Column::new(name, unit, rank, arms.iter().map(cell))
    };
    let latency = |name, rank, of: fn(&LatencyUs) -> f64| {
        let values = || {
            arms.iter()
                .filter_map(move |a| a.latency_us.as_ref().map(of))
        };
        let unit = TimeUnit::of(values().collect::<Vec<_>>().into_iter());
        text(name, unit.name, rank, &|a| {
            known(a.latency_us.as_ref().map(of), |us| unit.show(us))
        })
    };
    let estimate = |name, unit, rank, of: Of<Estimate>, most| {
        text(name, unit, rank, &move |a| {
            known(of(a), |e| Written::of(e, decimals(e, most)).value)
        })
    };
    let micros = |name, rank, of: Of<f64>| {
        text(name, "us/req", rank, &move |a| {
            known(of(a), |us| grouped(us, 0))
        })
    };
    let changed = |a: &ArmFinding| a.latency_change_pct.map(|c| c.under(budget));
    vec![
        text("arm", "", 0, &|a| a.arm.to_string().into()),
        estimate("gained", "% work", 0, |a| a.work_gained_share.map(pct), 1),
        text("interval", "95 %", 4, &|a| {
            ends(a.work_gained_share.map(pct))
        }),
        estimate("total", "% work", 2, |a| a.total_work_share.map(pct), 1),
        latency("p50", 6, |l| l.p50),
        latency("p95", 7, |l| l.p95),
        latency("p99", 1, |l| l.p99),
        latency("p99.9", 5, |l| l.p999),
        text("change", "%", 0, &|a| known(changed(a), signed)),
        text("interval", "95 %", 1, &|a| ends(changed(a))),
        estimate("price", "us p99/%", 5, |a| a.price_us_per_pct, 1),
        micros("waits", 3, |a| a.run_delay_us_per_request),
        micros("CPU time", 3, |a| a.cpu_us_per_request),
        text("cause", "", 4, &|a| {
            known(a.cause, |cause| cause_name(cause).to_owned())
        }),
        text("trials", "", 8, &trials),
        text("verdict", "", 0, &verdict),
    ]
}

pub(super) fn known<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> Cell {
    value.map_or_else(|| MISSING.to_owned(), shown).into()
}

pub(crate) fn pct(share: Estimate) -> Estimate {
    share.map_rising(|share| share * 100.0)
}

fn ends(estimate: Option<Estimate>) -> Cell {
    known(estimate.and_then(|e| Written::pct(e).ends()), |ends| ends)
}

/// What is in the thousands needs no decimals, with an interval or without.
fn decimals(estimate: Estimate, most: i32) -> i32 {
    match estimate.value.abs() >= 1000.0 {
        true => 0,
        false => most,
    }
}

/// `+3.1`
pub(crate) fn signed(estimate: Estimate) -> String {
    let value = Written::of(estimate, decimals(estimate, 1)).value;
    match value.starts_with('-') {
        true => value,
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

fn trials(arm: &ArmFinding) -> Cell {
    let text = match arm.invalid_trials {
        0 => arm.trials.to_string(),
        bad => format!("{} ({bad} invalid)", arm.trials + bad),
    };
    text.into()
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
