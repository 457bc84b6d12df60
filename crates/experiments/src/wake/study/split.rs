//! Wake-ups in their parts. Pure.

use super::Cell;
use crate::wake::findings::{SplitFinding, SplitRow};
use crate::wake::outcome::WakeTrial;
use plimsoll_model::{Estimate, WakeParts};
use plimsoll_study::wake::{Draws, Figure, typical};
use std::time::Duration;

pub(super) fn finding(cells: &[Cell<'_>], draws: &Draws) -> SplitFinding {
    let rows: Vec<SplitRow> = cells.iter().filter_map(|cell| row(cell, draws)).collect();
    let absent = absent(cells, &rows);
    SplitFinding { absent, rows }
}

/// The policies without any, and why: the first reason.
fn absent(cells: &[Cell<'_>], rows: &[SplitRow]) -> Option<String> {
    let missing = |cell: &&Cell<'_>| rows.iter().all(|row| row.policy != cell.policy);
    let missing: Vec<&Cell<'_>> = cells.iter().filter(missing).collect();
    let mut policies: Vec<String> = Vec::new();
    for cell in &missing {
        let name = cell.policy.to_string();
        if !policies.contains(&name) {
            policies.push(name);
        }
    }
    let mut trials = missing.iter().flat_map(|cell| cell.valid());
    let why = trials.find_map(|trial| trial.outcome.recorded.absent.clone());
    let why = why.unwrap_or_else(|| "no valid trial".to_owned());
    (!policies.is_empty()).then(|| format!("none for {}: {why}", policies.join(", ")))
}

fn row(cell: &Cell<'_>, draws: &Draws) -> Option<SplitRow> {
    let all = || cell.valid().flat_map(|t| &t.outcome.recorded.wakeups);
    let wakeups = all().count();
    let asleep = all().filter(|parts| parts.idle_exit.is_some()).count();
    let part = |of: fn(&WakeParts) -> Duration| -> Option<Estimate> {
        let figure: Figure = cell.mean(draws, |trial| mean_us(trial, of))?;
        Some(figure.estimate())
    };
    (wakeups > 0).then(|| SplitRow {
        policy: cell.policy,
        wait: cell.wakes.wait,
        placement: cell.wakes.placement,
        gap_us: cell.wakes.gap_us(),
        arrivals: cell.wakes.arrivals(),
        idle_exit_us: part(|parts| parts.idle_exit.unwrap_or_default()),
        activation_us: part(|parts| parts.activation),
        run_queue_us: part(|parts| parts.run_queue),
        total_us: part(WakeParts::total),
        idle_pct: 100.0 * asleep as f64 / wakeups as f64,
        wakeups,
    })
}

/// The mean of a part over the middle half of a trial's wake-ups.
fn mean_us(trial: &WakeTrial, of: fn(&WakeParts) -> Duration) -> Option<f64> {
    let typical = typical(trial.outcome.recorded.wakeups.clone());
    let sum: Duration = typical.iter().map(of).sum();
    (!typical.is_empty()).then(|| sum.as_secs_f64() * 1e6 / typical.len() as f64)
}
