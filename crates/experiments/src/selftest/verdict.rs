//! Compares the measurement with the truth. Pure.

use super::SelftestPlanner;
use super::services::TOLERANCE_PCT;
use super::truth::Truth;
use crate::sweep::Effort;
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Estimate, Goal, Histogram, Invalid, KnownAnswer, Plan,
    SelftestAnswer, SelftestNote, SelftestVerdict, Trial,
};
use plimsoll_study::capacity::Asked;
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::rated::{rated, usable};
use std::time::Duration;

/// A stall is visible in a percentile that is at least this fraction of it.
const SEEN: f64 = 0.5;

/// Histograms have 3 digits: a maximum is the upper edge of a bin of at most this
/// relative width.
const ROUNDING: f64 = 1e-3;

/// Tolerance of the ends of an interval, in percent of the answer.
///
/// In the full test it equals the tolerance of the answer: another run would most
/// likely be within the tolerance, too. The eight to ten trials of a quick test
/// cannot narrow an interval that far; on virtual time, without disturbance, nine
/// in ten of its intervals are within 40 %. An interval beyond 50 % is
/// inconclusive.
pub(super) fn widest_pct(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 50.0,
        Effort::Full => TOLERANCE_PCT,
    }
}

/// Compares the trials with the truth.
pub(super) fn judge(
    planner: &SelftestPlanner<'_>,
    truth: Truth,
    trials: &[Trial],
) -> SelftestAnswer {
    let plan = planner.plan;
    let (known, note) = match truth {
        Truth::Capacity(goal, truth) => {
            let findings = Asked::of(plan, trials).findings(plan, trials, None);
            capacity(goal, truth.get(), findings.first())
        }
        Truth::Saturation(truth) => saturation(truth.get(), plan, trials),
        Truth::Stall(lasting) => stall(lasting, plan, trials),
    };
    let valid = trials.iter().filter(|t| t.verdict.is_valid()).count();
    let widest_pct = widest_pct(planner.effort);
    let verdict = verdict(&known, widest_pct);
    let invalid_trials = (trials.len() - valid) as u32;
    let disturbed = disturbance(trials).filter(|_| verdict != SelftestVerdict::Recovered);
    let disturbed = disturbed.map(|last| SelftestNote::InvalidTrials {
        invalid: invalid_trials,
        of: trials.len() as u32,
        last,
    });
    SelftestAnswer {
        service: planner.service.name.to_owned(),
        error_pct: known.error_pct(),
        known,
        tolerance_pct: TOLERANCE_PCT,
        widest_pct,
        verdict,
        trials: valid as u32,
        invalid_trials,
        notes: note.into_iter().chain(disturbed).collect(),
    }
}

pub(super) fn verdict(known: &KnownAnswer, widest_pct: f64) -> SelftestVerdict {
    let unseen = match known {
        KnownAnswer::Stall {
            truth_us, p999_us, ..
        } => p999_us.is_none_or(|p999| p999 < SEEN * truth_us),
        KnownAnswer::Capacity { .. } | KnownAnswer::Saturation { .. } => false,
    };
    let Some(error) = known.error_pct() else {
        return SelftestVerdict::NotMeasured;
    };
    let is_near = error.abs() <= TOLERANCE_PCT;
    let is_wide = known.reach_pct().is_none_or(|reach| reach > widest_pct);
    match (unseen, is_wide, is_near) {
        (true, ..) => SelftestVerdict::Missed,
        // Its interval already covers such an error.
        (_, true, _) if is_near || known.is_held() => SelftestVerdict::TooWide,
        (_, false, true) => SelftestVerdict::Recovered,
        _ => SelftestVerdict::Missed,
    }
}

/// The highest throughput of the calibration. The ends are the lowest and the
/// highest of its overloaded trials; each measures saturation, except for one
/// request at a window's edge. A calibration includes invalid trials; an answer
/// needs a valid one.
fn saturation(
    truth_rps: f64,
    plan: &Plan,
    trials: &[Trial],
) -> (KnownAnswer, Option<SelftestNote>) {
    let usable = usable(plan, trials);
    let counts = |t: &&&Trial| !trial_is_carried(t) && t.verdict.is_valid();
    let overloaded = usable.iter().filter(counts);
    let rates: Vec<f64> = overloaded.map(|t| t.achieved().get()).collect();
    let answer = rated(plan, trials).filter(|_| !rates.is_empty());
    let edge = 1.0 / plan.calibration.window.as_secs_f64();
    let answer_rps = answer.map(|rated| {
        let low = rates.iter().copied().fold(rated.rate_rps, f64::min);
        Estimate::within(rated.rate_rps, low - edge, rated.rate_rps + edge)
    });
    let note = answer_rps.is_none().then_some(SelftestNote::NotSaturated);
    let known = KnownAnswer::Saturation {
        truth_rps,
        answer_rps,
    };
    (known, note)
}

/// A boundary needs trials on both sides.
fn capacity(
    goal: Goal,
    truth_rps: f64,
    finding: Option<&CapacityFinding>,
) -> (KnownAnswer, Option<SelftestNote>) {
    let answered =
        |f: &&CapacityFinding| matches!(f.status, CapacityStatus::Found | CapacityStatus::Cliff);
    let known = KnownAnswer::Capacity {
        goal,
        truth_rps,
        answer_rps: finding.filter(answered).and_then(|f| f.rate_rps),
        confirmed: finding.and_then(|f| f.confirmed),
    };
    let note = finding.and_then(|f| match f.note {
        _ if f.status == CapacityStatus::NotReached => Some(SelftestNote::NotReached),
        Some(note) => Some(SelftestNote::Capacity { note }),
        None => (f.confirmed == Some(false)).then_some(SelftestNote::NotConfirmed),
    });
    (known, note)
}

/// The maximum latency belongs to the first request of a stall. Arrivals are even,
/// so the stall is longer than it by at most one gap. The stall is shorter by the
/// other parts of that latency: the answer time without a stall, the slip, and the
/// rounding of the histogram.
///
/// Stalls are rare, so the 90th percentile does not include them.
fn stall(lasting: Duration, plan: &Plan, trials: &[Trial]) -> (KnownAnswer, Option<SelftestNote>) {
    let (mut latency, mut slip) = (Histogram::new(), Histogram::new());
    for trial in trials.iter().filter(|t| t.verdict.is_valid()) {
        latency.merge(&trial.work.latency);
        slip.merge(&trial.work.slip);
    }
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    let gap = plan.calibration.rated.map_or(0.0, |rate| 1e6 / rate.get());
    let late = slip.quantile(0.99).map_or(0.0, us);
    let ends = latency.max().zip(latency.quantile(0.9));
    let answer_us = ends.map(|(longest, usual)| {
        let (longest, usual) = (us(longest), us(usual));
        let rounded = longest * ROUNDING;
        Estimate::within(longest, longest - usual - late - rounded, longest + gap)
    });
    let p999_us = latency.quantile(0.999).map(us);
    let known = KnownAnswer::Stall {
        truth_us: us(lasting),
        answer_us,
        p999_us,
    };
    let note = p999_us.map(|p999_us| SelftestNote::Stall {
        shown: p999_us >= SEEN * us(lasting),
        p999_us,
    });
    (known, note)
}

/// The last reason for an invalid trial.
fn disturbance(trials: &[Trial]) -> Option<Invalid> {
    let reasons = trials.iter().rev().map(|t| t.verdict.reasons());
    reasons.flatten().next().copied()
}
