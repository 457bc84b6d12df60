//! Compares an arm with the latency budget, and recommends one.

use plimsoll_model::{Arm, ArmFinding, Budget, BudgetVerdict, Estimate, Recommended};

/// The maximum number of passes to advise.
const MOST_PASSES: f64 = 1000.0;

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

/// Intervals narrow with the square root of the number of passes. The arm's must
/// become as narrow as its distance from the budget, and the A/A noise as small as
/// the budget.
pub(super) fn passes_to_tell(
    budget: &Budget,
    noise: Option<f64>,
    change: &Estimate,
    pairs: u32,
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
    let passes = (f64::from(pairs) * times * times).ceil();
    (passes <= MOST_PASSES).then_some(passes as u32 + 1)
}

/// A budget does not apply to a mixture of two loads.
pub(super) fn leave_out(found: &mut ArmFinding) {
    found.verdict = None;
    found.passes_to_tell = None;
}

/// The arm within the budget that gains the most, with its headroom in percent if
/// it leaves one.
pub(super) fn recommended(tried: &[(Option<f64>, &ArmFinding)]) -> Recommended {
    let gained = |a: &ArmFinding| a.work_gained_share.map_or(0.0, |share| share.value);
    let with = |verdict: BudgetVerdict| {
        tried
            .iter()
            // A job without gain is not worth restricting.
            .filter(move |(_, a)| a.verdict == Some(verdict) && gained(a) > 0.0)
    };
    let best = with(BudgetVerdict::Within).max_by(|a, b| gained(a.1).total_cmp(&gained(b.1)));
    let most = best.map_or(0.0, |(_, a)| gained(a));
    let mut undecided: Vec<Arm> = with(BudgetVerdict::Inconclusive)
        .filter(|(_, a)| gained(a) > most)
        .map(|(_, a)| a.arm)
        .collect();
    undecided.dedup();
    // An arm without valid trials is inconclusive.
    let inconclusive = tried
        .iter()
        .any(|(_, a)| a.verdict == Some(BudgetVerdict::Inconclusive));
    let beside = tried.iter().any(|(_, a)| a.verdict.is_some());
    Recommended {
        arm: best.map(|(_, a)| a.arm),
        headroom_pct: best.and_then(|(headroom, _)| *headroom),
        within_budget: match (best, inconclusive || !beside) {
            (Some(_), _) => Some(true),
            (None, true) => None,
            (None, false) => Some(false),
        },
        undecided,
    }
}
