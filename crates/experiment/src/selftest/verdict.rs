//! What was measured, held against the truth: pure.

use super::KnownService;
use super::truth::Truth;
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Estimate, Goal, Histogram, KnownAnswer, Plan, SelftestAnswer,
    SelftestVerdict, Trial, Verdict,
};
use plimsoll_study::capacity::Asked;
use std::time::Duration;

/// How far an answer may be from the truth, in percent of it.
const TOLERANCE_PCT: f64 = 5.0;
/// A stall is seen in a percentile that is at least this part of it.
const SEEN: f64 = 0.5;

/// All that a verdict needs.
pub(super) struct Measured<'a> {
    pub(super) service: &'a KnownService,
    pub(super) plan: &'a Plan,
    pub(super) truth: Truth,
    pub(super) trials: &'a [Trial],
}

/// Holds what the trials say against what is known.
pub(super) fn judge(measured: &Measured<'_>) -> SelftestAnswer {
    let (known, mut note) = match measured.truth {
        Truth::Capacity(goal, truth) => {
            let findings = Asked::of(measured.plan, measured.trials);
            let findings = findings.findings(measured.plan, measured.trials, None);
            capacity(goal, truth.get(), findings.first())
        }
        Truth::Stall(lasting) => stall(lasting, measured.plan, measured.trials),
    };
    let trials = measured.trials;
    let valid = trials.iter().filter(|t| t.verdict.is_valid()).count();
    let verdict = verdict(&known);
    if verdict != SelftestVerdict::Recovered && valid < trials.len() {
        let why = disturbance(trials).unwrap_or_default();
        let invalid = trials.len() - valid;
        let more = format!("{invalid} of {} trials do not count: {why}", trials.len());
        note = Some(note.map_or(more.clone(), |note| format!("{note}; {more}")));
    }
    SelftestAnswer {
        service: measured.service.name.to_owned(),
        error_pct: known.error_pct(),
        known,
        tolerance_pct: TOLERANCE_PCT,
        verdict,
        trials: valid as u32,
        invalid_trials: (trials.len() - valid) as u32,
        note,
    }
}

fn verdict(known: &KnownAnswer) -> SelftestVerdict {
    let unseen = match known {
        KnownAnswer::Stall {
            truth_us, p999_us, ..
        } => p999_us.is_none_or(|p999| p999 < SEEN * truth_us),
        KnownAnswer::Capacity { .. } => false,
    };
    match known.error_pct() {
        None => SelftestVerdict::NotMeasured,
        Some(error) if error.abs() <= TOLERANCE_PCT && !unseen => SelftestVerdict::Recovered,
        Some(_) => SelftestVerdict::Missed,
    }
}

/// A boundary that was not seen from both sides is no answer.
fn capacity(
    goal: Goal,
    truth_rps: f64,
    finding: Option<&CapacityFinding>,
) -> (KnownAnswer, Option<String>) {
    let answered =
        |f: &&CapacityFinding| matches!(f.status, CapacityStatus::Found | CapacityStatus::Cliff);
    let known = KnownAnswer::Capacity {
        goal,
        truth_rps,
        answer_rps: finding.filter(answered).and_then(|f| f.rate_rps),
    };
    let note = match finding {
        Some(f) if f.status == CapacityStatus::NotReached => {
            Some("the goal still held at the highest rate that was tried".to_owned())
        }
        Some(f) => f.note.clone(),
        None => Some("the trials say nothing".to_owned()),
    };
    (known, note)
}

/// The longest latency is that of whoever came first into a stall. Arrivals
/// are even, so the stall was longer by at most the time between two of them,
/// and shorter by at most what an answer takes without it.
fn stall(lasting: Duration, plan: &Plan, trials: &[Trial]) -> (KnownAnswer, Option<String>) {
    let mut latency = Histogram::new();
    let valid = trials.iter().filter(|t| t.verdict.is_valid());
    valid.for_each(|t| latency.merge(&t.work.latency));
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    let gap = plan.calibration.rated.map_or(0.0, |rate| 1e6 / rate.get());
    let ends = latency.max().zip(latency.quantile(0.5));
    let answer_us = ends.map(|(longest, usual)| {
        let (longest, usual) = (us(longest), us(usual));
        Estimate::within(longest, longest - usual, longest + gap)
    });
    let p999_us = latency.quantile(0.999).map(us);
    let known = KnownAnswer::Stall {
        truth_us: us(lasting),
        answer_us,
        p999_us,
    };
    let note = p999_us.map(|p999| {
        let seen = if p999 >= SEEN * us(lasting) {
            "shows"
        } else {
            "does not show"
        };
        format!("p99.9 {seen} it: {:.0} ms", p999 / 1e3)
    });
    (known, note)
}

/// The last reason why a trial does not count.
fn disturbance(trials: &[Trial]) -> Option<String> {
    trials.iter().rev().find_map(|t| match &t.verdict {
        Verdict::Invalid(reasons) => reasons.first().map(ToString::to_string),
        Verdict::Valid => None,
    })
}
