//! Which arm to take, and its worst case.
//!
//! Of the arms within the budget it is the one that gains the most work. Without such an arm it is
//! the one with the lowest worst case, which is the upper end of its interval: of those that are
//! inconclusive, if they use the machine, else of all. To pick the lowest of several ends is to pick
//! the one that noise made low: of four equal arms, the lowest end is below the truth in 8 to 9 of
//! 100 runs, where that of one arm is in 2.5. So the worst case is that of all that are alike at
//! once: a one-sided bound at 95 %, shared between them (Bonferroni), and never less than the upper
//! end of the interval. With one or two of them it is that end.

use super::{Tried, arm};
use crate::student;
use plimsoll_model::{Arm, Budget, BudgetVerdict, CONFIDENCE, Estimate, Recommended, TriedArm};
use std::cmp::Ordering;

/// An arm that gains less than this part of what another gains does not use the machine: it takes
/// two such machines for the work of one.
const USES: f64 = 0.5;

/// The recommendation of a run; no arm where none gained work and was compared with the service
/// alone.
pub(super) fn recommended(budget: &Budget, tried: &[Tried<'_>]) -> Recommended {
    let verdicts = [
        BudgetVerdict::Within,
        BudgetVerdict::Inconclusive,
        BudgetVerdict::Beyond,
    ];
    let picked = verdicts.into_iter().find_map(|verdict| {
        let (best, alike) = pick(budget, verdict, tried)?;
        Some((verdict, best, alike))
    });
    let best = picked.as_ref().map(|(_, best, _)| *best);
    let least = match &picked {
        Some((BudgetVerdict::Within, best, _)) => best.gained(),
        _ => 0.0,
    };
    let gains_more = |t: &&Tried<'_>| t.found.work_gained_share.is_none_or(|g| g.value > least);
    let is_other = |t: &&Tried<'_>| best.is_none_or(|best| !std::ptr::eq(*t, best));
    let open = of(BudgetVerdict::Inconclusive, tried)
        .filter(gains_more)
        .filter(is_other);
    let mut undecided: Vec<Arm> = open.map(|t| t.found.arm).collect();
    undecided.dedup();
    let at = best.map(Tried::is_at);
    Recommended {
        arm: at.map(|at| at.arm),
        headroom_pct: at.and_then(|at| at.headroom_pct),
        verdict: picked
            .as_ref()
            .map_or(BudgetVerdict::Inconclusive, |picked| picked.0),
        worst_case_pct: picked.as_ref().and_then(|(verdict, best, alike)| {
            let of = match verdict {
                // Its latency is not what it was picked by.
                BudgetVerdict::Within => 1,
                BudgetVerdict::Inconclusive | BudgetVerdict::Beyond => 1 + alike.len(),
            };
            best.worst_case_pct(budget, of)
        }),
        alike: picked.map_or_else(Vec::new, |(_, _, alike)| alike),
        undecided,
    }
}

/// The arm within the budget that gains the most work.
pub(super) fn within<'a, 't: 'a>(
    tried: impl Iterator<Item = &'a Tried<'t>>,
) -> Option<&'a Tried<'t>> {
    let within = tried.filter(|t| t.found.verdict == Some(BudgetVerdict::Within) && t.works());
    within.max_by(|a, b| a.gained().total_cmp(&b.gained()))
}

/// The arms with a verdict whose job did anything.
fn of<'a, 't>(
    verdict: BudgetVerdict,
    tried: &'a [Tried<'t>],
) -> impl Iterator<Item = &'a Tried<'t>> {
    tried
        .iter()
        .filter(move |t| t.found.verdict == Some(verdict) && t.works())
}

/// The best arm of a verdict, and those that are alike.
fn pick<'a, 't>(
    budget: &Budget,
    verdict: BudgetVerdict,
    tried: &'a [Tried<'t>],
) -> Option<(&'a Tried<'t>, Vec<TriedArm>)> {
    if verdict == BudgetVerdict::Within {
        let best = within(tried.iter())?;
        let alike = of(verdict, tried)
            .filter(|t| overlap(t.found.work_gained_share, best.found.work_gained_share));
        return Some((best, others(best, alike)));
    }
    let compared = || of(verdict, tried).filter(|t| t.change(budget).is_some());
    let most = match verdict {
        BudgetVerdict::Beyond => 0.0,
        BudgetVerdict::Within | BudgetVerdict::Inconclusive => {
            compared().map(Tried::gained).fold(0.0, f64::max)
        }
    };
    let candidates = || compared().filter(|t| t.gained() >= USES * most);
    let best = candidates().min_by(|a, b| a.cheaper(b, budget))?;
    let alike = candidates().filter(|t| overlap(t.change(budget), best.change(budget)));
    Some((best, others(best, alike)))
}

/// All but the best.
fn others<'a, 't: 'a>(
    best: &Tried<'t>,
    alike: impl Iterator<Item = &'a Tried<'t>>,
) -> Vec<TriedArm> {
    let others = alike.filter(|t| !std::ptr::eq(*t, best));
    others.map(Tried::is_at).collect()
}

/// Whether two intervals do.
fn overlap(a: Option<Estimate>, b: Option<Estimate>) -> bool {
    let ends = |e: Option<Estimate>| e.and_then(|e| e.interval());
    let both = ends(a).zip(ends(b));
    both.is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}

impl Tried<'_> {
    /// A job that does nothing is not worth restricting. What it does is not always known.
    fn works(&self) -> bool {
        self.found
            .work_gained_share
            .is_none_or(|share| share.value > 0.0)
    }

    fn gained(&self) -> f64 {
        self.found
            .work_gained_share
            .map_or(0.0, |share| share.value)
    }

    fn change(&self, budget: &Budget) -> Option<Estimate> {
        self.found.latency_change_pct?.under(budget)
    }

    /// By the worst case; what has none comes last, by its value.
    fn cheaper(&self, other: &Self, budget: &Budget) -> Ordering {
        let key = |t: &Self| {
            let change = t.change(budget);
            let worst = change.and_then(|c| c.high).unwrap_or(f64::INFINITY);
            (worst, change.map_or(f64::INFINITY, |c| c.value))
        };
        let (a, b) = (key(self), key(other));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    }

    /// The upper end of its interval, as the lowest `of` so many.
    fn worst_case_pct(&self, budget: &Budget, of: usize) -> Option<f64> {
        let change = self.change(budget)?;
        let high = change.high?;
        let passes = arm::ratios(&self.seen, self.found.arm, budget.quantile.fraction());
        let free = passes.len() as f64 - 1.0;
        let shared = student::quantile((1.0 - CONFIDENCE) / of as f64, free)?;
        let wider = shared / student::quantile(student::TAIL, free)?;
        // The interval is symmetric in logarithms.
        let log = |pct: f64| (pct / 100.0).ln_1p();
        let reach = log(high) - log(change.value);
        Some((log(change.value) + reach * wider.max(1.0)).exp_m1() * 100.0)
    }
}
