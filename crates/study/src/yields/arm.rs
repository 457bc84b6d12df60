//! The gain and the cost of one arm.

use super::{Seen, by_cpu, resampled, verdict};
use crate::bootstrap::shows_quantile;
use crate::carried::trial_is_carried;
use crate::decide::needed;
use crate::student;
use plimsoll_model::{
    Arm, ArmFinding, Budget, BudgetVerdict, Cause, CpuTime, Estimate, Histogram, JobHeld,
    LatencyChange, LatencyUs, Quantile, Share, ShortTrials, SideloadPlan, YieldTrial,
};
use std::time::Duration;

/// The findings for `arm`.
pub(super) fn finding(
    seen: &Seen<'_>,
    arm: Arm,
    side: &SideloadPlan,
    rated_rps: Option<f64>,
    noise: Option<f64>,
    seed: u64,
) -> ArmFinding {
    let change = match arm {
        Arm::ServiceAlone => None,
        arm => change(seen, arm),
    };
    let budgeted = change.and_then(|c| c.under(&side.budget));
    let gained = gained(seen, arm);
    let by_cpu = by_cpu::gained(seen, arm, &side.job);
    let widened = |by_runs| by_cpu::widened(by_runs, by_cpu);
    let under_budget = budgeted.filter(|_| arm.is_beside());
    let all = seen.all(arm);
    let behind = arm.is_beside() && falls_behind(seen, arm);
    let (valid, run_delay, cpu) = per_request(seen, arm);
    ArmFinding {
        arm,
        work_gained_share: gained.map(widened),
        work_by_cpu_share: by_cpu,
        total_work_share: total(seen, arm, rated_rps).filter(|_| by_cpu.is_none()),
        latency_us: latency_us(&valid),
        latency_change_pct: change,
        price_us_per_pct: price(seen, arm, seed).filter(|_| by_cpu.is_none()),
        run_delay_us_per_request: run_delay,
        cpu_us_per_request: cpu,
        held: held(&valid),
        cause: change.and_then(|change| cause(seen, arm, &change)),
        verdict: arm.is_beside().then(|| match behind {
            true => BudgetVerdict::Beyond,
            false => verdict::verdict(&side.budget, noise, under_budget.as_ref()),
        }),
        passes_to_tell: under_budget.filter(|_| !behind).and_then(|t| {
            let pairs = ratios(seen, arm, side.budget.quantile.fraction());
            verdict::passes_to_tell(&side.budget, noise, &t, pairs.len())
        }),
        trials: valid.len() as u32,
        invalid_trials: all.iter().filter(|t| !t.verdict.is_valid()).count() as u32,
    }
}

/// Whether the service never kept up next to the job, and always did alone. Its
/// queue then grows as long as the trial lasts, so its latency exceeds any budget
/// and needs no interval.
fn falls_behind(seen: &Seen<'_>, arm: Arm) -> bool {
    let keeps_up = |arm| {
        let mut trials = seen.valid(arm).map(trial_is_carried).peekable();
        let first = trials.peek().copied()?;
        trials.all(|carried| carried == first).then_some(first)
    };
    keeps_up(arm) == Some(false) && keeps_up(Arm::ServiceAlone) == Some(true)
}

/// How the quantiles of an arm differ from those of the service alone; `None` where no pass has
/// both.
pub(super) fn change(seen: &Seen<'_>, arm: Arm) -> Option<LatencyChange> {
    let [p50, p95, p99, p999] = Budget::QUANTILES.map(|q| {
        let ratios: Vec<f64> = ratios(seen, arm, q).into_iter().map(|(_, r)| r).collect();
        let logarithm = student::mean(&ratios)?;
        Some(logarithm.map_rising(|log| log.exp_m1() * 100.0))
    });
    let change = LatencyChange {
        p50,
        p95,
        p99,
        p999,
    };
    p50.map(|_| change)
}

/// Of each pass, the logarithm of the ratio of a quantile to that of the service alone. Passes in
/// which either has too few requests to show it are left out: there it would be the slowest one.
pub(super) fn ratios(seen: &Seen<'_>, arm: Arm, quantile: f64) -> Vec<(u32, f64)> {
    let ratio = |(with, alone): &(&YieldTrial, &YieldTrial)| {
        let ratio = (us(with, quantile)? / us(alone, quantile)?).ln();
        Some((with.spec.pass, ratio)).filter(|(_, ratio)| ratio.is_finite())
    };
    let pairs = seen.pairs(arm, Arm::ServiceAlone);
    pairs.iter().filter_map(ratio).collect()
}

fn us(trial: &YieldTrial, quantile: f64) -> Option<f64> {
    shown_us(&trial.work.latency, quantile)
}

/// In microseconds, if there are enough values to show it.
fn shown_us(latency: &Histogram, quantile: f64) -> Option<f64> {
    let enough = shows_quantile(latency.count(), quantile);
    let time = enough.then(|| latency.quantile(quantile))??;
    Some(time.as_secs_f64() * 1e6)
}

/// The quantiles that are not compared, because the shortest trial of the service alone does not
/// show them.
pub(super) fn short_trials(seen: &Seen<'_>) -> Vec<ShortTrials> {
    let requests = seen
        .valid(Arm::ServiceAlone)
        .map(|t| t.work.latency.count());
    let Some(requests) = requests.min() else {
        return Vec::new();
    };
    let short = Budget::QUANTILES.into_iter().filter_map(|q| {
        let needed = needed(1.0 - q) as u64;
        let quantile = Quantile::of(q)?;
        (requests < needed).then_some(ShortTrials {
            quantile,
            requests,
            needed,
        })
    });
    short.collect()
}

/// The job's work relative to the job alone in the same pass; empty without a job.
fn gained_in_passes(seen: &Seen<'_>, arm: Arm) -> Vec<(f64, f64)> {
    let pairs = seen.pairs(arm, Arm::JobAlone);
    let share = |(with, alone): &(&YieldTrial, &YieldTrial)| {
        let alone = job_rate(alone).filter(|rate| *rate > 0.0)?;
        Some((job_rate(with)? / alone, with.achieved().get()))
    };
    pairs.iter().filter_map(share).collect()
}

pub(super) fn job_rate(trial: &YieldTrial) -> Option<f64> {
    trial.outcome.job?.rate()
}

fn gained(seen: &Seen<'_>, arm: Arm) -> Option<Estimate> {
    if !arm.has_job() {
        return seen
            .valid(arm)
            .next()
            .map(|_| Estimate::within(0.0, 0.0, 0.0));
    }
    let shares: Vec<f64> = gained_in_passes(seen, arm)
        .iter()
        .map(|(g, _)| *g)
        .collect();
    student::mean(&shares)
}

/// Work of the job and of the service together, each relative to what it does
/// alone.
fn total(seen: &Seen<'_>, arm: Arm, rated_rps: Option<f64>) -> Option<Estimate> {
    let rated = rated_rps.filter(|rate| *rate > 0.0)?;
    let shares: Vec<f64> = match arm.has_job() {
        true => gained_in_passes(seen, arm)
            .iter()
            .map(|(gained, rps)| gained + rps / rated)
            .collect(),
        false => seen
            .valid(arm)
            .map(|t| t.achieved().get() / rated)
            .collect(),
    };
    student::mean(&shares)
}

/// Microseconds of p99 for each percent of work gained.
fn price(seen: &Seen<'_>, arm: Arm, seed: u64) -> Option<Estimate> {
    if !arm.is_beside() {
        return None;
    }
    let paid_and_gained: Vec<(f64, f64)> = seen
        .pairs(arm, Arm::ServiceAlone)
        .iter()
        .filter_map(|(with, alone)| {
            let paid = us(with, 0.99)? - us(alone, 0.99)?;
            let pass = with.spec.pass;
            let alone = seen.valid.get(&(Arm::JobAlone, pass))?;
            let gained = job_rate(with)? / job_rate(alone)? * 100.0;
            Some((paid, gained))
        })
        .collect();
    resampled(paid_and_gained.len(), seed, |draw| {
        let drawn = draw.iter().filter_map(|at| paid_and_gained.get(*at));
        let (paid, gained) = drawn.fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1));
        (gained > 0.0).then(|| paid / gained)
    })
}

/// Means over the trials that have the value.
fn held(valid: &[&YieldTrial]) -> JobHeld {
    let mean = |of: &dyn Fn(&JobHeld) -> Option<Share>| {
        let known = valid.iter().filter_map(|t| of(&t.outcome.job?.held));
        let shares: Vec<f64> = known.map(Share::get).collect();
        let sum: f64 = shares.iter().sum();
        (!shares.is_empty()).then(|| sum / shares.len() as f64)
    };
    let share = |of| mean(of).and_then(Share::new);
    JobHeld {
        allowed: share(&|held| held.allowed),
        frozen: share(&|held| held.frozen),
        throttled: share(&|held| held.throttled),
    }
}

/// Merged over all valid trials.
fn latency_us(valid: &[&YieldTrial]) -> Option<LatencyUs> {
    let mut merged = Histogram::new();
    for trial in valid {
        merged.merge(&trial.work.latency);
    }
    let [p50, p95, p99, p999] = Budget::QUANTILES.map(|q| shown_us(&merged, q));
    p50.map(|_| LatencyUs {
        p50,
        p95,
        p99,
        p999,
    })
}

/// The valid trials; and per request the service's run delay and CPU time in
/// microseconds.
fn per_request<'t>(seen: &Seen<'t>, arm: Arm) -> (Vec<&'t YieldTrial>, Option<f64>, Option<f64>) {
    let trials: Vec<&YieldTrial> = seen.valid(arm).collect();
    if !arm.has_service() {
        return (trials, None, None);
    }
    let answers: f64 = trials.iter().map(|t| t.sensed_answers()).sum();
    let sum = |of: &dyn Fn(&YieldTrial) -> Option<Duration>| {
        // A trial without the value would make the sum too small.
        let whole = trials.iter().map(|t| of(t)).sum::<Option<Duration>>()?;
        CpuTime(whole).us_per(answers)
    };
    let run_delay = sum(&|t| t.service.as_ref()?.run_delay);
    let cpu = sum(&|t| Some(t.service.as_ref()?.cpu.0));
    (trials, run_delay, cpu)
}

/// A cause with this share of the extra time explains nearly all of it.
const NEARLY_ALL: f64 = 0.75;

/// Where the extra time of a request went, if the change of p99 or of the median is
/// significantly above zero.
fn cause(seen: &Seen<'_>, arm: Arm, change: &LatencyChange) -> Option<Cause> {
    let is_slower = |e: Option<Estimate>| e.and_then(|e| e.low).is_some_and(|low| low > 0.0);
    if !arm.is_beside() || !(is_slower(change.p99) || is_slower(change.p50)) {
        return None;
    }
    let (_, waited, used) = per_request(seen, arm);
    let (_, waited_alone, used_alone) = per_request(seen, Arm::ServiceAlone);
    let waiting = (waited? - waited_alone?).max(0.0);
    let slower = (used? - used_alone?).max(0.0);
    let part = waiting / (waiting + slower);
    match part {
        part if part >= NEARLY_ALL => Some(Cause::Waiting),
        part if part <= 1.0 - NEARLY_ALL => Some(Cause::Slower),
        part if part.is_finite() => Some(Cause::Both),
        _ => None,
    }
}
