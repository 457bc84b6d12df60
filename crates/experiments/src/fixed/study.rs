//! From the trial to findings: pure.

use super::experiment::{FixedTrial, measured};
use super::phases::{self, FixedOutcome, PhaseFound, Sums};
use super::plan::{FixedPlan, Rates};
use plimsoll_model::{
    Answers, CpuTime, Errors, Histogram, Rate, RequestFinding, Second, Share, Work, Workload,
};
use plimsoll_study::bootstrap::shows_quantile;
use plimsoll_study::course::{Course, changed_after};
use plimsoll_study::pauses::{self, PAUSE};
use plimsoll_study::requests::each;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// What was seen; null where nothing shows it. Of one trial, so without intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct FixedFindings {
    /// Whether nothing disturbed the trial; the reasons are in the record.
    pub valid: bool,
    /// Seconds measured.
    pub measured_s: f64,
    /// Requests per second that were due, on average.
    pub asked_rps: f64,
    /// Requests that were due in the window.
    pub intended: u64,
    /// Good answers per second.
    pub served_rps: f64,
    /// Good answers in the window.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Those that failed, by kind.
    pub errors: Errors,
    /// Requests without an answer at the end.
    pub unfinished: u64,
    /// The client's connections.
    pub connections: Option<ConnectionsFound>,
    /// Lengths of the bodies of good answers.
    pub body_bytes: Option<BodyFound>,
    /// From the intended start to the last byte of a good answer, in microseconds; of a request
    /// without an answer the time that it had waited at the end.
    pub latency_us: Quantiles,
    /// How late the generator was, in microseconds: part of the latency.
    pub slip_us: Quantiles,
    /// Pauses of the generator.
    pub pauses: Option<PausesFound>,
    /// CPU time of the service per good answer, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// CPU time of the generator per good answer, in microseconds.
    pub generator_us_per_request: Option<f64>,
    /// CPU use of the service's CPUs, in percent.
    pub cpu_pct: Option<f64>,
    /// Seconds in which fewer than 90 % of the requests asked for were answered, and fewer than five
    /// standard deviations of a Poisson process below them.
    pub slow_seconds: usize,
    /// Where each of the first parts of the time, or of the last, had at least twice the mean latency of all
    /// but one of the others: null where none did so, where the rate changes (but for a fall while it rises),
    /// and for less than 0.2 s.
    pub latency_changed: Option<LatencyChange>,
    /// Of several requests, each by itself; empty for one.
    pub requests: Vec<RequestFinding>,
    /// Where the rate changes: its phases in order, neighbours joined into 20 at most.
    pub phases: Vec<PhaseFound>,
}

/// Latency that fell or rose in the course of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LatencyChange {
    /// When, in seconds from the beginning of the window.
    pub after_s: f64,
    /// Mean latency of the requests that were due until then, in microseconds.
    pub before_us: f64,
    /// Whether it is at least that, because some of them had no answer.
    pub before_is_least: bool,
    /// Mean latency of the others.
    pub then_us: f64,
    /// Whether it is at least that.
    pub then_is_least: bool,
    /// Whether it fell.
    pub is_fall: bool,
}

/// Pauses of the generator, and what latencies might be without them and the queues that they left at the service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PausesFound {
    /// Requests that were sent more than 100 us late, in percent of all.
    pub requests_pct: f64,
    /// The mean latency, in microseconds.
    pub mean_us: f64,
    /// Its p99; null where too few requests show it.
    pub p99_us: Option<f64>,
    /// Its p99.9.
    pub p999_us: Option<f64>,
}

/// Connections that the client keeps open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ConnectionsFound {
    /// How many there are.
    pub connections: u32,
    /// Requests at a time on each.
    pub streams: u32,
    /// Requests that were due while all of that was in use, in percent.
    pub waited_pct: f64,
}

/// Lengths in bytes, without framing. Where they differ, errors may be among the good answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BodyFound {
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
    /// The mean.
    pub mean: f64,
}

impl BodyFound {
    /// By more than a counter or a date in the text explains.
    pub(super) fn varies(self) -> bool {
        (self.most - self.least) as f64 > 0.1 * self.mean
    }
}

/// Quantiles; null where too few values show them (p99 takes 299).
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// What 75 % do not exceed.
    pub p75: Option<f64>,
    /// What 90 % do not exceed.
    pub p90: Option<f64>,
    /// What 95 % do not exceed.
    pub p95: Option<f64>,
    /// What 99 % do not exceed.
    pub p99: Option<f64>,
    /// What 99.9 % do not exceed.
    pub p999: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
}

impl Quantiles {
    fn of(values: &Histogram) -> Quantiles {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let shown = |q| {
            let shows = shows_quantile(values.count(), q);
            values.quantile(q).filter(|_| shows).map(us)
        };
        Quantiles {
            mean: values.mean().map(us),
            p50: shown(0.5),
            p75: shown(0.75),
            p90: shown(0.9),
            p95: shown(0.95),
            p99: shown(0.99),
            p999: shown(0.999),
            max: values.max().map(us),
        }
    }
}

/// Below this share of the requests asked for a second counts as slow.
const SLOW: f64 = 0.9;
/// So many standard deviations below them are no fluctuation of the arrivals: once in 3 million
/// seconds.
const DEVIATIONS: f64 = 5.0;

/// The requests that are due in a second of a trial, on average.
pub(super) fn due(plan: &FixedPlan, second: &Second) -> f64 {
    let offered = plan.offered();
    let until = |at: Duration| offered.expected_until(at);
    until(second.at) - until(second.at.saturating_sub(second.length))
}

/// Whether fewer requests were answered than the arrivals explain.
pub(super) fn is_slow(second: &Second, asked: f64) -> bool {
    let least = f64::min(SLOW * asked, asked - DEVIATIONS * asked.sqrt());
    second.measured && (second.completed as f64) < least
}

pub(super) fn findings(plan: &FixedPlan, trials: &[FixedTrial]) -> FixedFindings {
    let Some(trial) = measured(trials) else {
        return FixedFindings::default();
    };
    let work = &trial.work;
    let phases = phases::found(plan, &trial.outcome);
    let sums = match phases.is_empty() {
        true => Sums {
            length: trial.window,
            answered: work.completed,
            failed: work.errors.total(),
            unfinished: work.unfinished,
        },
        // The window is a little longer, and has some of the warm-up.
        false => Sums::of(plan, &trial.outcome),
    };
    let is_whole = phases.is_empty();
    let per_request = |time: Option<CpuTime>| time?.us_per(trial.sensed_answers());
    let cpu = trial.machine.service_share(trial.service.as_ref());
    FixedFindings {
        valid: trial.verdict.is_valid(),
        measured_s: sums.length.as_secs_f64(),
        asked_rps: plan.rate.get(),
        intended: match is_whole {
            true => work.intended,
            false => sums
                .answered
                .saturating_add(sums.failed)
                .saturating_add(sums.unfinished),
        },
        served_rps: Rate::of(sums.answered, sums.length).get(),
        completed: sums.answered,
        failed: sums.failed,
        errors: work.errors,
        unfinished: sums.unfinished,
        connections: connections(plan, work),
        body_bytes: work.bodies.map(|sizes| BodyFound {
            least: sizes.least,
            most: sizes.most,
            mean: sizes.mean(),
        }),
        latency_us: Quantiles::of(&work.latency),
        slip_us: Quantiles::of(&work.slip),
        pauses: pauses(work, cpu.map(Share::get)),
        cpu_us_per_request: per_request(trial.service.as_ref().map(|service| service.cpu)),
        generator_us_per_request: per_request(trial.generator_cpu),
        cpu_pct: cpu.map(|share| 100.0 * share.get()),
        slow_seconds: trial
            .seconds
            .iter()
            .filter(|second| is_slow(second, due(plan, second)))
            .count(),
        latency_changed: latency_changed(plan, &trial.outcome),
        requests: requests(plan, trial),
        phases,
    }
}

fn pauses(work: &Work, cpu: Option<f64>) -> Option<PausesFound> {
    let (slip, latency) = (&work.slip, &work.latency);
    let added = pauses::added_to_mean(slip, cpu)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let without = |q| {
        let without = pauses::quantile_without(latency, slip, q, cpu);
        without
            .filter(|_| shows_quantile(latency.count(), q))
            .map(us)
    };
    Some(PausesFound {
        requests_pct: 100.0 * slip.above(PAUSE) as f64 / slip.count() as f64,
        mean_us: us(latency.mean()?.saturating_sub(added)),
        p99_us: without(0.99),
        p999_us: without(0.999),
    })
}

fn connections(plan: &FixedPlan, work: &Work) -> Option<ConnectionsFound> {
    let Workload::Http(http) = &plan.load.workload else {
        return None;
    };
    let used = work.connections?;
    Some(ConnectionsFound {
        connections: used.connections,
        streams: http.streams(),
        waited_pct: 100.0 * used.waited as f64 / work.intended.max(1) as f64,
    })
}

/// Where the rate changes, latency does so too; only a rate that rises makes none fall.
fn latency_changed(plan: &FixedPlan, outcome: &FixedOutcome) -> Option<LatencyChange> {
    let (after, course) = changed_after(&outcome.means()?)?;
    let lengths = plan.parts().into_iter().take(after);
    let of = |parts: &[Answers]| {
        let mut all = Answers::default();
        parts.iter().for_each(|part| all.merge(part));
        let mean_us = all.latency.mean()?.as_secs_f64() * 1e6;
        Some((mean_us, all.timed_out.saturating_add(all.unfinished) > 0))
    };
    let (before, then) = outcome.phases.split_at_checked(after)?;
    let ((before_us, before_is_least), (then_us, then_is_least)) = (of(before)?, of(then)?);
    let change = LatencyChange {
        after_s: lengths.map(|part| part.length.as_secs_f64()).sum(),
        before_us,
        before_is_least,
        then_us,
        then_is_least,
        is_fall: course == Course::Faster,
    };
    // Of requests without an answer the least may be no longer than what the others took.
    let is_twice = before_us.max(then_us) >= 2.0 * before_us.min(then_us);
    match plan.rates() {
        _ if !is_twice => None,
        Rates::One => Some(change),
        Rates::Rising => Some(change).filter(|change| change.is_fall),
        Rates::Other => None,
    }
}

fn requests(plan: &FixedPlan, trial: &FixedTrial) -> Vec<RequestFinding> {
    let file = match &plan.load.workload {
        Workload::Http(http) => http.requests.as_ref(),
        _ => None,
    };
    let several = file.filter(|file| file.requests.len() > 1);
    let trials = std::iter::once(trial.work.kinds.as_slice());
    several.map_or_else(Vec::new, |file| each(file, trials))
}
