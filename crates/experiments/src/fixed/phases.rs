//! What became of the requests of each phase.

use super::plan::FixedPlan;
use plimsoll_model::{PhaseWork, RatePhase, Slot};
use plimsoll_study::bootstrap::shows_quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a trial has besides its work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedOutcome {
    /// Empty for one rate.
    pub(super) phases: Vec<PhaseAnswers>,
}

/// Requests that were intended within a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PhaseAnswers {
    /// From the intended start to the last byte of a good answer.
    pub(super) latency: Slot,
    pub(super) failed: u64,
}

impl From<PhaseWork> for PhaseAnswers {
    fn from(work: PhaseWork) -> PhaseAnswers {
        PhaseAnswers {
            latency: work.latency,
            failed: work.failed,
        }
    }
}

/// Neighbours are joined so that there are no more rows.
const ROWS: usize = 20;

/// Requests that were due in one part of the time, whenever they were answered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseFound {
    /// When it began, in seconds from the beginning of the first.
    pub from_s: f64,
    /// How long it lasted, in seconds.
    pub length_s: f64,
    /// Requests per second that were asked for, on average.
    pub asked_rps: f64,
    /// Good answers to its requests, per second of it. Arrivals vary around what was asked for.
    pub answered_rps: f64,
    /// Its requests that failed.
    pub failed: u64,
    /// The median from the intended start to the last byte of a good answer, in microseconds.
    pub p50_us: Option<f64>,
    /// What 99 % of them do not exceed; null for fewer than 299.
    pub p99_us: Option<f64>,
}

/// The length of all phases, and the good answers to their requests.
pub(super) fn sums(plan: &FixedPlan, outcome: &FixedOutcome) -> (Duration, u64) {
    let length = plan.phases.iter().map(|phase| phase.length).sum();
    let answers = outcome.phases.iter().map(|phase| phase.latency.requests());
    (length, answers.sum())
}

pub(super) fn found(plan: &FixedPlan, outcome: &FixedOutcome) -> Vec<PhaseFound> {
    // A trial that was cut has no phases.
    let pairs: Vec<_> = plan.phases.iter().zip(&outcome.phases).collect();
    let size = pairs.len().div_ceil(ROWS).max(1);
    let mut from = Duration::ZERO;
    let part = |part: &[(&RatePhase, &PhaseAnswers)]| {
        let began = from;
        from += part.iter().map(|(phase, _)| phase.length).sum::<Duration>();
        one(part, began, from - began)
    };
    pairs.chunks(size).map(part).collect()
}

fn one(part: &[(&RatePhase, &PhaseAnswers)], began: Duration, length: Duration) -> PhaseFound {
    let seconds = length.as_secs_f64();
    let due =
        |(phase, _): &(&RatePhase, &PhaseAnswers)| phase.rate.get() * phase.length.as_secs_f64();
    let mut latency = Slot::default();
    part.iter()
        .for_each(|(_, answers)| latency.merge(&answers.latency));
    let us = |q: f64| {
        let shows = shows_quantile(latency.requests(), q);
        let value = latency.quantile(q).filter(|_| shows);
        value.map(|time| time.as_secs_f64() * 1e6)
    };
    PhaseFound {
        from_s: began.as_secs_f64(),
        length_s: seconds,
        asked_rps: part.iter().map(due).sum::<f64>() / seconds,
        answered_rps: latency.requests() as f64 / seconds,
        failed: part.iter().map(|(_, answers)| answers.failed).sum(),
        p50_us: us(0.5),
        p99_us: us(0.99),
    }
}
