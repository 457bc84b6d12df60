//! The highest rate that keeps a goal.
//!
//! Every valid trial says how much of its work broke the goal
//! ([`crate::evidence`]), and [`crate::boundary`] finds where that crosses what
//! the goal allows. What is added here is the goal itself: a limit that is a
//! multiple of the latency at light load is as uncertain as that latency, and
//! a percentile needs a number of requests before it says anything.

use crate::boundary::{Boundary, Interval, Side, locate};
use crate::compare::runs::at_other_times;
use crate::curve::Curve;
use crate::evidence::{Bound, Evidence};
use crate::light::{self, Light};
use crate::pooled::TrialsUpTo;
use crate::rated::rated;
use crate::shown::{Shown, shown};
use crate::{cpu_time, cpu_use, levels};
use plimsoll_model::{
    Arrivals, CapacityFinding, CapacityNote, CapacityStatus, Estimate, Goal, LatencyLimit,
    LightLoad, MissedBy, Phase, Plan, Rate, Trial, TriedAt, Workload,
};
use std::time::Duration;

/// The goals of a plan, with the limits that its trials so far give them.
pub struct Asked {
    light: Result<Light, CapacityNote>,
    goals: Vec<(Goal, Result<Bound, CapacityNote>)>,
}

impl Asked {
    /// The goals of `plan` after `trials`.
    pub fn of(plan: &Plan, trials: &[Trial]) -> Asked {
        // Light load takes longer to find than all the rest.
        let light = match plan.goals.iter().any(Goal::is_relative) {
            true => light::before_levels(plan, trials),
            false => Err(light::nothing_light(plan, None)),
        };
        Asked::at(plan, light)
    }

    /// The same with light load known already.
    pub(crate) fn at(plan: &Plan, light: Result<Light, CapacityNote>) -> Asked {
        let goals = plan.goals.iter();
        let goals = goals
            .map(|goal| (*goal, bound(goal, &light, is_sampled(plan))))
            .collect();
        Asked { light, goals }
    }

    /// What light load is here.
    pub fn light_load(&self) -> Option<&LightLoad> {
        self.light.as_ref().ok().map(Light::finding)
    }

    /// A bound per goal; `None` where its limit is not known.
    pub fn bounds(&self) -> impl Iterator<Item = Option<Bound>> {
        self.goals
            .iter()
            .map(|(_, bound)| bound.as_ref().ok().copied())
    }

    /// A finding per goal. `curve` tells the CPU use at a rate.
    pub fn findings(
        &self,
        plan: &Plan,
        trials: &[Trial],
        curve: Option<&Curve>,
    ) -> Vec<CapacityFinding> {
        let finding = |(goal, bound): &(Goal, Result<Bound, CapacityNote>)| {
            let mut finding = nothing_known(goal);
            match bound {
                Ok(bound) => self.fill(&mut finding, bound, plan, trials, curve),
                Err(why) => finding.note = Some(*why),
            }
            finding
        };
        let found: Vec<CapacityFinding> = self.goals.iter().map(finding).collect();
        let with_cpu = |one: &CapacityFinding| {
            let rate_rps = raised(one, &found);
            CapacityFinding {
                rate_rps,
                other_times_rps: rate_rps.filter(|_| is_sampled(plan)).map(at_other_times),
                cpu_pct: rate_rps.and_then(|rate| cpu_use::at(rate, curve, plan, trials)),
                ..*one
            }
        };
        found.iter().map(with_cpu).collect()
    }

    fn fill(
        &self,
        finding: &mut CapacityFinding,
        bound: &Bound,
        plan: &Plan,
        trials: &[Trial],
        curve: Option<&Curve>,
    ) {
        finding.limit_us = bound.limit().map(|limit| limit.as_secs_f64() * 1e6);
        let relative = finding.goal.is_relative();
        finding.note = self
            .light
            .as_ref()
            .ok()
            .filter(|_| relative)
            .and_then(Light::note);
        let evidence = evidence(bound, plan, trials);
        let seed = plan.run.seed;
        let Some(boundary) = locate(&evidence, bound.share(), Interval::Seeded(seed)) else {
            finding.note = Some(missing(bound, plan));
            return;
        };
        let (boundary, saturated) = below_saturation(boundary, bound, &evidence, plan, trials);
        finding.note = saturated.or(finding.note);
        let known = match is_sampled(plan) {
            true => shown(&evidence, bound.share(), boundary),
            false => Shown::Whole,
        };
        match known {
            Shown::Whole => {
                self.conclude(finding, (bound, boundary), plan, trials, curve);
                weigh_all_requests(finding, boundary, bound, &evidence, plan);
            }
            Shown::UpTo(rate, why) => {
                finding.status = CapacityStatus::NotReached;
                finding.rate_rps = Some(at_least(rate));
                finding.note = Some(why);
                weigh_all_requests(finding, Boundary::Above(rate), bound, &evidence, plan);
            }
            Shown::Nothing(why) => finding.note = Some(why),
        }
    }

    /// Fills in what follows from a boundary.
    fn conclude(
        &self,
        finding: &mut CapacityFinding,
        (bound, boundary): (&Bound, Boundary),
        plan: &Plan,
        trials: &[Trial],
        curve: Option<&Curve>,
    ) {
        let (status, rate) = status(boundary, plan);
        finding.status = status;
        finding.rate_rps = rate;
        finding.missed_by = missed_by(bound, plan, trials, boundary);
        match boundary {
            Boundary::Below(lowest) => {
                finding.note = Some(CapacityNote::MissedAtLowest { lowest_rps: lowest });
            }
            Boundary::Gap { low, high } if status == CapacityStatus::Found => {
                let (low, high) = (tried(low), tried(high));
                finding.note = Some(CapacityNote::NothingBetween { low, high });
            }
            Boundary::Gap { low, high } if status == CapacityStatus::Undecided => {
                let (low, high) = (tried(low), tried(high));
                finding.note = Some(CapacityNote::Disagree { low, high });
            }
            Boundary::Line { rate, .. } if finding.goal.is_relative() => {
                let light = self.light.as_ref().ok();
                let limits = light.and_then(|l| l.limits(&finding.goal, plan.run.seed));
                finding.rate_rps = Some(with_limits(rate, bound, limits, plan, trials));
            }
            _ => {}
        }
        if let (Bound::Cpu(limit), CapacityStatus::Found, Some(curve)) = (bound, status, curve) {
            // The curve is what else is said about CPU use: one answer, not two.
            let by_curve = curve.rate_rps_at(100.0 * limit);
            // But it says nothing of what the service does not carry.
            let by_curve = by_curve.filter(|_| finding.missed_by.is_none());
            finding.rate_rps = by_curve.or(finding.rate_rps);
        }
        let end = rated(plan, trials).filter(|rated| rated.limited_by_service);
        finding.rate_rps = finding
            .rate_rps
            .map(|rate| end.map_or(rate, |end| not_beyond(rate, end.rate_rps)));
        // The search confirms the end of the interval that the scatter of trials gives.
        let low = finding.rate_rps.and_then(|r| r.low);
        finding.confirmed = low.and_then(|low| confirmed(bound, plan, trials, low));
        // A variation of the service's speed moves its saturation, too, so this is not cut
        // there. The ends of a cliff are loads that were tried.
        if matches!(boundary, Boundary::Line { .. }) && is_sampled(plan) {
            let rate = finding.rate_rps;
            finding.rate_rps = rate.map(|rate| cpu_time::widened(plan, trials, rate));
        }
    }
}

/// States what all requests up to the rate of a finding show, and takes the rate back where
/// more of them miss the goal than it allows.
fn weigh_all_requests(
    finding: &mut CapacityFinding,
    boundary: Boundary,
    bound: &Bound,
    evidence: &[Evidence],
    plan: &Plan,
) {
    if !is_sampled(plan) || finding.rate_rps.is_none() {
        return;
    }
    let Some(up_to) = TrialsUpTo::of(boundary, evidence) else {
        return;
    };
    let allowed = bound.share();
    finding.all_requests = up_to.all_requests(allowed);
    finding.note = up_to.against(allowed, plan.run.seed).or(finding.note);
    let missed_pct = finding.all_requests.map(|seen| seen.missed_pct);
    if missed_pct.is_some_and(|pct| pct > 100.0 * allowed) {
        finding.status = CapacityStatus::Undecided;
        finding.rate_rps = None;
        finding.confirmed = None;
    }
}

/// The rate of a finding; a lower bound is no lower than what keeps a stricter goal.
fn raised(one: &CapacityFinding, all: &[CapacityFinding]) -> Option<Estimate> {
    let stricter = all.iter().filter(|other| implies(other, one));
    let low = stricter.filter_map(|other| other.rate_rps?.low);
    let rate = one.rate_rps;
    match (one.status, rate.and_then(|rate| rate.low)) {
        (CapacityStatus::NotReached, Some(own)) => Some(at_least(low.fold(own, f64::max))),
        _ => rate,
    }
}

/// Whether a load that keeps the first goal keeps the second.
fn implies(strict: &CapacityFinding, loose: &CapacityFinding) -> bool {
    let quantile = |one: &CapacityFinding| match one.goal {
        Goal::Latency { quantile, .. } => Some(quantile),
        Goal::Errors { .. } | Goal::Cpu { .. } => None,
    };
    let parts = |one| Some((quantile(one)?, one.limit_us?));
    let (Some((q, limit)), Some((of, loose_limit))) = (parts(strict), parts(loose)) else {
        return false;
    };
    q >= of && limit <= loose_limit
}

/// The rate up to which a goal was kept that no load has missed, where `highest` is the
/// highest of them: what is stated of it, and what a confirmation is to try.
pub fn stated_of_all_kept(
    highest: f64,
    bound: &Bound,
    evidence: &[Evidence],
    plan: &Plan,
    trials: &[Trial],
) -> f64 {
    match below_saturation(Boundary::Above(highest), bound, evidence, plan, trials) {
        (Boundary::Above(rate), _) => rate,
        _ => highest,
    }
}

/// A goal that was kept at all loads is shown below saturation only: at it a queue grows
/// for as long as the load lasts, and a trial is too short for a loose limit.
fn below_saturation(
    boundary: Boundary,
    bound: &Bound,
    evidence: &[Evidence],
    plan: &Plan,
    trials: &[Trial],
) -> (Boundary, Option<CapacityNote>) {
    let end = rated(plan, trials).filter(|end| end.limited_by_service && !end.given);
    let (Boundary::Above(highest), Some(end)) = (boundary, end) else {
        return (boundary, None);
    };
    let clearly_below = CLEARLY_BELOW * end.rate_rps;
    let rates = evidence.iter().map(|e| e.rate);
    let below = rates.filter(|rate| *rate <= clearly_below).reduce(f64::max);
    match below {
        Some(rate) if highest > clearly_below && !matches!(bound, Bound::Cpu(_)) => {
            let saturation_rps = end.rate_rps;
            (
                Boundary::Above(rate),
                Some(CapacityNote::Saturated { saturation_rps }),
            )
        }
        _ => (boundary, None),
    }
}

/// The part of the throughput at saturation that a service can carry for long: the
/// highest of several throughputs is too high by chance, by a few percent.
const CLEARLY_BELOW: f64 = 0.95;

/// No goal is kept at more than the service does at saturation, however far
/// the scatter of trials reaches.
fn not_beyond(rate: Estimate, saturation: f64) -> Estimate {
    // What was seen beyond it shows that it was none.
    let is_end = rate.value < saturation;
    let high = rate
        .high
        .filter(|_| is_end)
        .map(|high| high.min(saturation));
    Estimate {
        high: high.or(rate.high),
        ..rate
    }
}

fn nothing_known(goal: &Goal) -> CapacityFinding {
    CapacityFinding {
        goal: *goal,
        status: CapacityStatus::Undecided,
        rate_rps: None,
        other_times_rps: None,
        cpu_pct: None,
        confirmed: None,
        limit_us: None,
        missed_by: None,
        all_requests: None,
        note: None,
    }
}

fn bound(
    goal: &Goal,
    light: &Result<Light, CapacityNote>,
    sampled: bool,
) -> Result<Bound, CapacityNote> {
    let limit = match *goal {
        Goal::Errors { .. } | Goal::Cpu { .. } => Duration::ZERO,
        Goal::Latency {
            limit: LatencyLimit::Absolute(limit),
            ..
        } => limit,
        Goal::Latency {
            quantile,
            limit: LatencyLimit::TimesLight(times),
        } => {
            let light = light.as_ref().map_err(|why| *why)?;
            if sampled {
                light.shows(quantile)?;
            }
            let base = light.quantile(quantile);
            base.ok_or(CapacityNote::NoAnswerAtLightLoad)?
                .mul_f64(times)
        }
    };
    Ok(Bound::of(goal, limit.as_secs_f64()))
}

/// Whether there are requests to count: a table's rows are what somebody
/// concluded from requests of his own.
fn is_sampled(plan: &Plan) -> bool {
    !matches!(plan.workload, Workload::Imported(_))
}

fn missing(bound: &Bound, plan: &Plan) -> CapacityNote {
    match bound {
        Bound::Cpu(_) => CapacityNote::CpuUnknown,
        Bound::Errors(_) if !is_sampled(plan) => CapacityNote::ErrorsUnknown,
        Bound::Latency { .. } | Bound::Errors(_) => CapacityNote::NoTrialCounts,
    }
}

/// What the trials after calibration say about a bound.
pub(crate) fn evidence(bound: &Bound, plan: &Plan, trials: &[Trial]) -> Vec<Evidence> {
    trials
        .iter()
        .filter(|t| t.spec.phase.shows_load())
        .filter_map(|t| bound.evidence(plan, t))
        .collect()
}

/// Why the goal was missed at the lowest load beyond the boundary, if for another reason
/// than the quantity that it is about.
fn missed_by(bound: &Bound, plan: &Plan, trials: &[Trial], boundary: Boundary) -> Option<MissedBy> {
    let rate = match boundary {
        Boundary::Below(rate) => rate,
        Boundary::Gap { high, .. } => high.rate,
        Boundary::Above(_) | Boundary::Line { .. } => return None,
    };
    let is_missed = |t: &&Trial| {
        let evidence = bound.evidence(plan, t).filter(|e| e.rate == rate);
        t.spec.phase.shows_load() && evidence.is_some_and(|e| e.share() > bound.share())
    };
    let missed: Vec<&Trial> = trials.iter().filter(is_missed).collect();
    let is_behind = |t: &&Trial| bound.is_missed_by_throughput(plan, t);
    if !missed.iter().all(is_behind) {
        return None;
    }
    let mean = |of: fn(&Trial) -> Rate| levels::mean(missed.iter().map(|t| Some(of(t).get())));
    Some(MissedBy::FellBehind {
        offered_rps: mean(Trial::offered)?,
        achieved_rps: mean(Trial::achieved)?,
    })
}

fn tried(side: Side) -> TriedAt {
    TriedAt {
        rate_rps: side.rate,
        kept: side.kept,
        of: side.of,
    }
}

fn at_least(rate: f64) -> Estimate {
    Estimate {
        value: rate,
        low: Some(rate),
        high: None,
    }
}

fn status(boundary: Boundary, plan: &Plan) -> (CapacityStatus, Option<Estimate>) {
    match boundary {
        Boundary::Above(highest) => (CapacityStatus::NotReached, Some(at_least(highest))),
        Boundary::Below(_) => (CapacityStatus::Undecided, None),
        Boundary::Line { rate, .. } => (CapacityStatus::Found, Some(rate)),
        // As many trials say that it was broken there.
        Boundary::Gap { low, .. } if 2 * low.kept <= low.of => (CapacityStatus::Undecided, None),
        // Trials that met it there contradict a cliff.
        Boundary::Gap { low, high } if 3 * high.kept >= high.of && is_narrow(low, high, plan) => {
            (CapacityStatus::Undecided, None)
        }
        Boundary::Gap { low, high } => {
            let looked = is_narrow(low, high, plan);
            if let Some(ends) = overlap(low, high, plan).filter(|_| looked) {
                let (least, most) = ends;
                let rate = Estimate::within(low.rate, least, most);
                return (CapacityStatus::Found, Some(rate));
            }
            let (low, high) = (low.rate, high.rate);
            match looked {
                // What was seen to keep it is what can be built on.
                true => (
                    CapacityStatus::Cliff,
                    Some(Estimate::within(low, low, high)),
                ),
                // Two loads far apart are no interval of any confidence.
                false => (CapacityStatus::Found, Some(Estimate::alone(low))),
            }
        }
    }
}

/// Standard deviations of the number of arrivals.
const DEVIATIONS: f64 = 2.0;

/// The least of the lower load and the most of the higher one that their arrivals may have come to,
/// where these overlap: so few random requests do not distinguish the two loads, and no cliff is
/// between them.
fn overlap(low: Side, high: Side, plan: &Plan) -> Option<(f64, f64)> {
    if plan.arrivals != Arrivals::Poisson || matches!(plan.workload, Workload::Imported(_)) {
        return None;
    }
    let by = |side: Side| DEVIATIONS * f64::sqrt(side.rate / side.seconds.max(1e-9));
    let is_apart = low.rate + by(low) < high.rate - by(high);
    (!is_apart).then(|| ((low.rate - by(low)).max(0.0), high.rate + by(high)))
}

/// Whether a search has looked within: only then may it be called a cliff.
fn is_narrow(low: Side, high: Side, plan: &Plan) -> bool {
    let width = (high.rate - low.rate) / (high.rate + low.rate);
    plan.search
        .is_some_and(|s| width <= s.precision.get() * 1.01)
}

/// The interval of a rate whose limit itself lies in an interval: the two
/// causes are independent, so their distances add up as squares (MOVER: Zou
/// and Donner, Statistics in Medicine 27, 2008).
fn with_limits(
    rate: Estimate,
    bound: &Bound,
    limits: Option<(f64, f64)>,
    plan: &Plan,
    trials: &[Trial],
) -> Estimate {
    let (Some((low, high)), Some((strict, lax)), Bound::Latency { share, .. }) =
        (rate.interval(), limits, *bound)
    else {
        return rate;
    };
    let at = |limit_s: f64| {
        let bound = Bound::Latency { limit_s, share };
        match locate(&evidence(&bound, plan, trials), share, Interval::None) {
            Some(Boundary::Line { rate, .. }) => rate.value,
            Some(Boundary::Gap { low, high }) => (low.rate * high.rate).sqrt(),
            Some(Boundary::Above(edge) | Boundary::Below(edge)) => edge,
            None => rate.value,
        }
    };
    // Of logarithms, so that no end falls below zero.
    let apart = |a: f64, b: f64| (a / b).ln().max(0.0);
    let below = apart(rate.value, low).hypot(apart(rate.value, at(strict)));
    let above = apart(high, rate.value).hypot(apart(at(lax), rate.value));
    Estimate::within(
        rate.value,
        rate.value * (-below).exp(),
        rate.value * above.exp(),
    )
}

/// Whether longer trials near `low`, the lower end of a capacity, kept the
/// goal; `None` when there was none. Of several the last one counts.
///
/// A trial is near when its rate is within the search's precision of it; what
/// it kept is the bound itself, over all of its requests.
pub fn confirmed(bound: &Bound, plan: &Plan, trials: &[Trial], low: f64) -> Option<bool> {
    let precision = plan.search?.precision.get();
    let near = |t: &&Trial| {
        let part = t.asked().get() / low;
        t.spec.phase == Phase::Confirmation && (1.0 - precision..=1.0 + precision).contains(&part)
    };
    let last = trials.iter().filter(near).rfind(|t| t.verdict.is_valid())?;
    bound.is_kept(plan, last)
}

#[cfg(test)]
mod tests;
