//! From trials to findings: pure.

use super::findings::{
    BurstFindings, Difference, MeanLine, PhaseFinding, PhaseKind, PhaseLatency, TargetFinding,
};
use super::outcome::{BurstSetting, BurstTrial, CpuLine, Target};
use super::plan::BurstPlan;
use super::{late, others};
use plimsoll_model::{Estimate, PhaseWork, RatePhase, Slot};
use plimsoll_study::burst::{self, Quiet, Step};

pub(super) fn findings(plan: &BurstPlan, trials: &[BurstTrial]) -> BurstFindings {
    let mut all: Vec<(TargetFinding, Vec<Cycle>)> = plan
        .loads()
        .map(|(target, load)| target_finding(plan, trials, target, load.workload.to_string()))
        .collect();
    let against = (all.len() > 1).then(|| all.remove(1));
    let (of, cycles) = all.remove(0);
    let difference = against
        .as_ref()
        .map(|(_, others)| differences(&cycles, others));
    let mut counters = trials.iter().filter_map(|t| t.outcome.counter.clone());
    BurstFindings {
        of,
        against: against.map(|(finding, _)| finding),
        difference,
        step_ms: plan.step.as_secs_f64() * 1e3,
        counter: counters.next_back(),
    }
}

/// What one valid trial shows.
struct Cycle {
    pass: u32,
    idle_pct: Option<f64>,
    burn_us: Option<f64>,
    breaks: Vec<Break>,
}

/// A break and the requests after it.
struct Break {
    quiet: Option<Quiet>,
    idle_pct: Option<f64>,
    /// The first request after it; infinite if that failed.
    first_us: Option<f64>,
    fast_after: Option<Option<usize>>,
}

pub(super) fn line(trial: &BurstTrial, target: Target) -> Option<&CpuLine> {
    trial.outcome.lines.get(target.index())?.as_ref()
}

/// The phases of a trial with their ends in seconds from the beginning of the load, and whether
/// they are part of the cycle.
pub(super) fn phases(plan: &BurstPlan) -> Vec<(RatePhase, f64, f64)> {
    let mut at = 0.0;
    let place = |phase: &RatePhase| {
        let from = at;
        at += phase.length.as_secs_f64();
        (*phase, from, at)
    };
    plan.phases().0.iter().map(place).collect()
}

pub(super) fn cycles_of(trials: &[BurstTrial], target: Target) -> Vec<&BurstTrial> {
    let is_own = |t: &&BurstTrial| {
        let own = matches!(t.spec.setting, BurstSetting::Cycle { target: of, .. } if of == target);
        own && t.verdict.is_valid()
    };
    trials.iter().filter(is_own).collect()
}

fn target_finding(
    plan: &BurstPlan,
    trials: &[BurstTrial],
    target: Target,
    name: String,
) -> (TargetFinding, Vec<Cycle>) {
    let own = cycles_of(trials, target);
    let before = before_load(trials, target);
    let cycles: Vec<Cycle> = own
        .iter()
        .map(|trial| cycle(plan, trial, target, before))
        .collect();
    let breaks: Vec<&Break> = cycles.iter().flat_map(|cycle| &cycle.breaks).collect();
    let known = |of: fn(&Cycle) -> Option<f64>| {
        burst::positive_mean(&cycles.iter().filter_map(of).collect::<Vec<_>>())
    };
    let never = |b: &&&Break| b.quiet == Some(Quiet::Never);
    let never_quiet = breaks.iter().filter(never).count();
    let fast = breaks
        .iter()
        .filter_map(|b| b.fast_after)
        .collect::<Vec<_>>();
    let slow: Vec<f64> = fast.iter().filter_map(|n| Some((*n)? as f64)).collect();
    let first: Vec<f64> = breaks.iter().filter_map(|b| b.first_us).collect();
    let rows = phases(plan);
    let rows = rows.iter().enumerate().skip(1).take(plan.pattern.len());
    let failed = own
        .iter()
        .flat_map(|t| &t.outcome.phases)
        .map(|p| p.answers.failed);
    let (late_bursts, late_ms) = late::bursts(plan, trials, target);
    let others = others::others(plan, trials, target);
    let finding = TargetFinding {
        target: name,
        phases: rows
            .map(|(at, phase)| phase_finding(plan, &own, target, at, phase))
            .collect(),
        before_load_pct: before,
        idle_burn_pct: known(|c| c.idle_pct),
        burn_us_per_request: known(|c| c.burn_us),
        first_after_break_us: burst::median(&first),
        failed_first: first.iter().filter(|us| us.is_infinite()).count(),
        late_bursts,
        late_ms,
        others_more_in_bursts_pct: others.more_pct,
        part_outside: others.is_much,
        steady_us: burst::median(
            &own.iter()
                .filter_map(|t| steady_us(plan, t, 0.5))
                .collect::<Vec<_>>(),
        ),
        quiet_after_ms: quiet_after(plan, &cycles, never_quiet, breaks.len()),
        never_quiet,
        fast_after_requests: burst::median(&slow).filter(|_| slow.len() * 2 > fast.len()),
        not_fast: fast.len() - slow.len(),
        breaks: breaks.len(),
        failed: failed.sum(),
        cycles: cycles.len(),
    };
    (finding, cycles)
}

/// CPU use without load, before the first.
fn before_load(trials: &[BurstTrial], target: Target) -> Option<f64> {
    let mut idle = trials
        .iter()
        .filter(|t| t.spec.setting == BurstSetting::Idle && t.verdict.is_valid());
    let line = line(idle.next_back()?, target)?;
    let readings: Vec<(f64, f64)> = line.readings().collect();
    let ((from, before), (to, after)) = (readings.first()?, readings.last()?);
    (to > from).then(|| 100.0 * (after - before) / (to - from))
}

/// The mean of the times of cycles; `None` if it is not quiet in most breaks.
fn quiet_after(
    plan: &BurstPlan,
    cycles: &[Cycle],
    never: usize,
    breaks: usize,
) -> Option<Estimate> {
    let of = |cycle: &Cycle| {
        let times = cycle.breaks.iter().filter_map(|b| match b.quiet {
            Some(Quiet::From(at)) => Some(at * 1e3),
            _ => None,
        });
        let times: Vec<f64> = times.collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    let each: Vec<f64> = cycles.iter().filter_map(of).collect();
    let mean = burst::mean_time(&each, plan.step.as_secs_f64() * 1e3)?;
    (never * 2 < breaks).then_some(mean)
}

fn cycle(plan: &BurstPlan, trial: &BurstTrial, target: Target, before: Option<f64>) -> Cycle {
    let all = phases(plan);
    let line = line(trial, target);
    let fast_us = steady_us(plan, trial, burst::FAST_QUANTILE);
    let (mut used, mut answered, mut breaks) = (Some(0.0), 0u64, Vec::new());
    for (at, (phase, from, to)) in all.iter().enumerate().skip(1).take(plan.pattern.len()) {
        let work = trial.outcome.phases.get(at);
        if phase.is_break() {
            let burst = (at > 1).then(|| all[at - 1]);
            let last = work_before(trial, at).and_then(|work| work.last_answer);
            let begins = last.map_or(*from, |last| last.as_secs_f64().max(*from));
            let pct = burst.and_then(|(_, from, to)| use_pct(line?, from, to));
            let steps = line
                .map(|line| steps(line, begins, *to))
                .unwrap_or_default();
            let after = trial.outcome.phases.get(at + 1);
            breaks.push(one_break(&steps, (pct, before), after, fast_us));
        } else {
            let next = all.iter().skip(at + 1).find(|(next, ..)| !next.is_break());
            let seen = line.and_then(|line| {
                let next = next.map_or_else(|| line.end_s(), |(_, from, _)| Some(*from));
                line.used_s(*from, late::ends(*to, work, next?))
            });
            used = used.zip(seen).map(|(a, b)| a + b);
            answered += work.map_or(0, |work| work.answers.latency.requests());
        }
    }
    let idle: Vec<f64> = breaks.iter().filter_map(|b| b.idle_pct).collect();
    Cycle {
        pass: trial.spec.pass,
        idle_pct: (!idle.is_empty()).then(|| idle.iter().sum::<f64>() / idle.len() as f64),
        burn_us: used
            .filter(|_| answered > 0)
            .map(|s| s * 1e6 / answered as f64),
        breaks,
    }
}

fn work_before(trial: &BurstTrial, at: usize) -> Option<&PhaseWork> {
    trial.outcome.phases.get(at.checked_sub(1)?)
}

fn one_break(
    steps: &[Step],
    (burst_pct, before_pct): (Option<f64>, Option<f64>),
    after: Option<&PhaseWork>,
    fast_us: Option<f64>,
) -> Break {
    let quiet = burst::quiet(steps, burst_pct, before_pct);
    let from_s = match quiet {
        Some(Quiet::From(at)) => at,
        _ => steps.last().map_or(0.0, |last| last.to_s / 2.0),
    };
    let rest: Vec<Step> = steps
        .iter()
        .filter(|s| s.from_s >= from_s)
        .copied()
        .collect();
    let latencies: Vec<Option<f64>> = after
        .map(|work| work.first.iter())
        .into_iter()
        .flatten()
        .map(|first| first.latency.map(|l| l.as_secs_f64() * 1e6))
        .collect();
    Break {
        quiet,
        idle_pct: burst::mean_pct(&rest),
        first_us: latencies.first().map(|us| us.unwrap_or(f64::INFINITY)),
        fast_after: fast_us
            .filter(|_| !latencies.is_empty())
            .map(|us| burst::fast_after(&latencies, us)),
    }
}

fn use_pct(line: &CpuLine, from_s: f64, to_s: f64) -> Option<f64> {
    Some(100.0 * line.used_s(from_s, to_s)? / (to_s - from_s))
}

/// The steps of a time line that lie between two times, from the first of these.
fn steps(line: &CpuLine, from_s: f64, to_s: f64) -> Vec<Step> {
    let readings: Vec<(f64, f64)> = line.readings().collect();
    let within = readings
        .windows(2)
        .filter(|w| w[0].0 >= from_s && w[1].0 <= to_s && w[1].0 > w[0].0);
    let step = |w: &[(f64, f64)]| Step {
        from_s: w[0].0 - from_s,
        to_s: w[1].0 - from_s,
        cpu_pct: 100.0 * (w[1].1 - w[0].1) / (w[1].0 - w[0].0),
    };
    within.map(step).collect()
}

/// A quantile of the latency of a cycle's bursts, after the first quarter of each as far as its first
/// requests show it.
fn steady_us(plan: &BurstPlan, trial: &BurstTrial, q: f64) -> Option<f64> {
    let all = phases(plan);
    let mut us = Vec::new();
    for (at, (phase, _, _)) in all.iter().enumerate().skip(1).take(plan.pattern.len()) {
        if let Some(work) = trial.outcome.phases.get(at).filter(|_| !phase.is_break()) {
            let settled = phase.length / 4;
            let late = work.first.iter().filter(|first| first.at >= settled);
            us.extend(late.filter_map(|first| Some(first.latency?.as_secs_f64() * 1e6)));
            if us.is_empty() {
                // The first requests are all early ones.
                us.extend(
                    work.answers
                        .latency
                        .quantile(q)
                        .map(|l| l.as_secs_f64() * 1e6),
                );
            }
        }
    }
    us.sort_by(f64::total_cmp);
    let at = ((us.len() as f64 * q).ceil() as usize).max(1) - 1;
    us.get(at).copied()
}

fn phase_finding(
    plan: &BurstPlan,
    own: &[&BurstTrial],
    target: Target,
    at: usize,
    (phase, from, to): &(RatePhase, f64, f64),
) -> PhaseFinding {
    let used = own
        .iter()
        .filter_map(|t| use_pct(line(t, target)?, *from, *to));
    let slots: Vec<&Slot> = own
        .iter()
        .filter_map(|t| Some(&t.outcome.phases.get(at)?.answers.latency))
        .collect();
    let quantile = |q| burst::quantile_us(&slots, q, plan.load.run.seed);
    PhaseFinding {
        phase: match phase.is_break() {
            true => PhaseKind::Break,
            false => PhaseKind::Burst,
        },
        seconds: phase.length.as_secs_f64(),
        rate_rps: phase.rate.get(),
        cpu_pct: burst::positive_mean(&used.collect::<Vec<_>>()),
        latency_us: PhaseLatency {
            p50: quantile(0.5),
            p99: quantile(0.99),
        },
    }
}

fn differences(cycles: &[Cycle], others: &[Cycle]) -> Difference {
    let paired = |of: fn(&Cycle) -> Option<f64>| {
        let of_pass = |cycle: &Cycle| {
            let other = others.iter().find(|other| other.pass == cycle.pass)?;
            Some(of(cycle)? - of(other)?)
        };
        let each: Vec<f64> = cycles.iter().filter_map(of_pass).collect();
        // A first request that failed has no difference, and without it the rest are a choice.
        burst::mean(&each).filter(|_| each.iter().all(|v| v.is_finite()))
    };
    Difference {
        idle_burn_pct: paired(|c| c.idle_pct),
        burn_us_per_request: paired(|c| c.burn_us),
        first_after_break_us: paired(|c| c.breaks.first()?.first_us),
    }
}

/// The mean time line of each target's valid cycles, and of its other bursts' heads.
pub(super) fn lines(plan: &BurstPlan, trials: &[BurstTrial]) -> Vec<MeanLine> {
    let warm_up = plan.warm_up_phase.length.as_secs_f64();
    let end = plan.phases().length().as_secs_f64();
    let step = plan.step.as_secs_f64();
    let of = |(target, load): (Target, &plimsoll_model::Plan)| {
        let own = cycles_of(trials, target);
        let count = ((end - warm_up) / step).floor().max(0.0) as u32;
        // No chart has more points than pixels.
        let every = count.div_ceil(600).max(1);
        let width = step * f64::from(every);
        let point = |n: u32| {
            let from = warm_up + f64::from(n) * width;
            let seen = own
                .iter()
                .filter_map(|t| use_pct(line(t, target)?, from, from + width));
            let seen: Vec<f64> = seen.collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            (!seen.is_empty()).then_some((from + width / 2.0 - warm_up, mean))
        };
        MeanLine {
            target: load.workload.to_string(),
            points: (0..count / every).filter_map(point).collect(),
        }
    };
    plan.loads().map(of).collect()
}
