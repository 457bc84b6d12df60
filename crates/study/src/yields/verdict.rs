//! Compares an arm with the latency budget.

use crate::student;
use plimsoll_model::{ArmFinding, Budget, BudgetVerdict, Estimate};

/// The maximum number of passes to advise.
const MOST_PASSES: usize = 1000;

/// Within or beyond the budget only if the whole interval is. If the A/A difference
/// exceeds the budget, no arm is within it, and only an arm that differs by more
/// than A/A is beyond it. `noise` is `None` if unknown.
pub(super) fn verdict(
    budget: &Budget,
    noise: Option<f64>,
    change: Option<&Estimate>,
) -> BudgetVerdict {
    let Some((noise, (low, high))) = noise.zip(change.and_then(Estimate::interval)) else {
        return BudgetVerdict::Inconclusive;
    };
    if high <= budget.more_pct && noise <= budget.more_pct {
        BudgetVerdict::Within
    } else if low > budget.more_pct.max(noise) {
        BudgetVerdict::Beyond
    } else {
        BudgetVerdict::Inconclusive
    }
}

/// The arm's interval must become as narrow as its distance from the budget, and the A/A noise as
/// small as the budget. Intervals narrow with the square root of the number of passes, and with
/// Student's t, which matters where there are few.
pub(super) fn passes_to_tell(
    budget: &Budget,
    noise: Option<f64>,
    change: &Estimate,
    pairs: usize,
) -> Option<u32> {
    if verdict(budget, noise, Some(change)) != BudgetVerdict::Inconclusive {
        return None;
    }
    let (low, high) = change.interval()?;
    let is_below = change.value <= budget.more_pct;
    let reach = if is_below {
        high - change.value
    } else {
        change.value - low
    };
    let distance = (budget.more_pct - change.value).abs();
    let noise_may_be = if is_below {
        budget.more_pct
    } else {
        change.value
    };
    let times = (reach / distance).max(noise? / noise_may_be).max(1.0);
    let width = |n: usize| {
        let t = student::quantile(student::TAIL, n as f64 - 1.0)?;
        Some(t / (n as f64).sqrt())
    };
    let wanted = width(pairs)? / times;
    let is_wider = |n: &usize| width(*n).is_none_or(|width| width > wanted);
    let longer: Vec<usize> = (pairs + 1..=MOST_PASSES).collect();
    let passes = longer.get(longer.partition_point(is_wider))?;
    u32::try_from(*passes).ok()
}

/// A budget does not apply to a mixture of two loads.
pub(super) fn leave_out(found: &mut ArmFinding) {
    found.verdict = None;
    found.passes_to_tell = None;
}
