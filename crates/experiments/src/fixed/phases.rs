//! What became of the requests of each phase.

use super::plan::FixedPlan;
use plimsoll_model::{Answers, PhasedRate, RatePhase, Slot, Waited};
use plimsoll_study::bootstrap::shows_quantile;
use plimsoll_study::course::MeanLatency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a trial has besides its work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedOutcome {
    /// Of one rate, those of equal parts of the time, in which requests are slow together; empty for
    /// less than 0.2 s.
    pub(super) phases: Vec<Answers>,
    pub(super) waited: Waited,
}

impl FixedOutcome {
    /// `None` where a part has no latency.
    pub(super) fn means(&self) -> Option<Vec<MeanLatency>> {
        let of = |part: &Answers| {
            let mean = part.latency.mean()?;
            Some(match part.timed_out.saturating_add(part.unfinished) {
                0 => MeanLatency::Of(mean),
                _ => MeanLatency::AtLeast(mean),
            })
        };
        self.phases.iter().map(of).collect()
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
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
    /// Its requests without an answer at the end.
    pub unfinished: u64,
    /// The median from the intended start to the last byte of a good answer, in microseconds; with
    /// requests without an answer, at least this.
    pub p50_us: Option<f64>,
    /// What 99 % of them do not exceed; null for fewer than 299.
    pub p99_us: Option<f64>,
    /// What 99 % of the times that the generator was late do not exceed, which are part of the latency; null for
    /// fewer than 299, and in older records.
    pub slip_p99_us: Option<f64>,
}

/// The requests of all phases.
pub(super) struct Sums {
    pub(super) length: Duration,
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) unfinished: u64,
}

impl Sums {
    pub(super) fn of(plan: &FixedPlan, outcome: &FixedOutcome) -> Sums {
        let all = || outcome.phases.iter();
        Sums {
            length: PhasedRate(plan.phases.clone()).length(),
            answered: sum(all().map(Answers::answered)),
            failed: sum(all().map(Answers::all_failed)),
            unfinished: sum(all().map(|phase| phase.unfinished)),
        }
    }
}

pub(super) fn found(plan: &FixedPlan, outcome: &FixedOutcome) -> Vec<PhaseFound> {
    // A trial that was cut has no phases.
    let pairs: Vec<_> = plan.phases.iter().zip(&outcome.phases).collect();
    let size = pairs.len().div_ceil(ROWS).max(1);
    let mut from = Duration::ZERO;
    let part = |part: &[(&RatePhase, &Answers)]| {
        let began = from;
        from += part.iter().map(|(phase, _)| phase.length).sum::<Duration>();
        one(part, began, from - began)
    };
    pairs.chunks(size).map(part).collect()
}

fn one(part: &[(&RatePhase, &Answers)], began: Duration, length: Duration) -> PhaseFound {
    let seconds = length.as_secs_f64();
    let due = |(phase, _): &(&RatePhase, &Answers)| phase.rate.get() * phase.length.as_secs_f64();
    let mut all = Answers::default();
    part.iter().for_each(|(_, answers)| all.merge(answers));
    let us = |times: &Slot, q: f64| {
        let shows = shows_quantile(times.requests(), q);
        let value = times.quantile(q).filter(|_| shows);
        value.map(|time| time.as_secs_f64() * 1e6)
    };
    PhaseFound {
        from_s: began.as_secs_f64(),
        length_s: seconds,
        asked_rps: part.iter().map(due).sum::<f64>() / seconds,
        answered_rps: all.answered() as f64 / seconds,
        failed: all.all_failed(),
        unfinished: all.unfinished,
        p50_us: us(&all.latency, 0.5),
        p99_us: us(&all.latency, 0.99),
        slip_p99_us: us(&all.slip, 0.99),
    }
}
