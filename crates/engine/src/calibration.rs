//! Finding the rated rate: open-loop trials that double until the rate is not
//! carried any more, then one just above what was carried. Where the client's
//! connections were the limit, the rate is tried again with more of them.

use crate::conduct::Next;
use plimsoll_model::{Phase, Plan, Rate, Trial, TrialSetting, TrialSpec};
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::connections::{adjustable, is_undecided, more};
use plimsoll_study::rated::{is_doubtful, limited_by_generator, rated, usable};

/// About how many trials a calibration makes.
pub const CALIBRATION_TRIALS: usize = 6;

/// How much more the next rate is while rates are carried.
const UP: f64 = 2.0;
/// How much less the next rate is while nothing is answered.
const DOWN: f64 = 1.0 / 8.0;
/// How much less the next rate is while no rate is carried that could tell whether
/// the connections were the limit.
const LIGHTER: f64 = 0.5;
/// The last trial overloads the service this much: enough to saturate it, too
/// little to measure how it behaves when it drowns.
const OVERLOAD: f64 = 1.1;
/// A trial this far above the best throughput is such a trial.
const MILD: std::ops::RangeInclusive<f64> = 1.02..=1.2;
/// A trial with fewer requests than this is inconclusive.
const FEWEST_REQUESTS: f64 = 3.0;
/// A service that needs more trials than this behaves in no way that
/// doubling can find.
const MOST_TRIALS: usize = 40;

/// What calibration needs next.
enum Step {
    /// A trial at this rate, over so many connections.
    Offer(Rate, Option<u32>),
    /// Nothing: the rated rate can be read off the trials.
    Done,
    /// No rate was carried, down to this.
    NothingCarried(Rate),
}

/// The next step after `trials`, of which only the calibration trials count.
fn step<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Step {
    if plan.calibration.rated.is_some() {
        return Step::Done;
    }
    let trials = before_load(trials);
    let now = adjustable(plan, trials);
    if let Some(rate) = doubtful_just_now(plan, trials) {
        return Step::Offer(rate, now);
    }
    let usable = usable(plan, trials);
    let Some(last) = usable.last() else {
        return Step::Offer(plan.calibration.first, now);
    };
    let achieved = usable.iter().map(|t| t.achieved().get());
    let best = achieved.reduce(f64::max).unwrap_or(0.0);
    let offer = |rate| Rate::per_second(rate).map_or(Step::Done, |rate| Step::Offer(rate, now));
    if best <= 0.0 {
        let next = last.asked().times(DOWN);
        return match has_enough_requests(plan, next) {
            true => Step::Offer(next, now),
            false => Step::NothingCarried(last.asked()),
        };
    }
    // The generator is saturated: more can be asked but not offered.
    if usable.iter().any(|t| limited_by_generator(t)) || usable.len() >= MOST_TRIALS {
        return Step::Done;
    }
    if let Some(more) = more(plan, trials) {
        return Step::Offer(last.asked(), Some(more));
    }
    let asked = |is_carried| {
        let trials = usable.iter().copied();
        let trials = trials.filter(move |t: &&Trial<S, O>| trial_is_carried(*t) == is_carried);
        trials.map(|t| (t.asked().get(), t.spec.setting.connections()))
    };
    let carried = asked(true).map(|(rate, _)| rate).reduce(f64::max);
    // Fewer connections may have been the limit, or a service that was slower then.
    let over_these = asked(false).filter(|(rate, connections)| {
        *connections == now && carried.is_none_or(|carried| *rate > carried)
    });
    let missed = over_these.map(|(rate, _)| rate).reduce(f64::min);
    let is_mild = |t: &&Trial<S, O>| {
        t.spec.setting.connections() == now && MILD.contains(&(t.asked().get() / best))
    };
    match (carried, missed) {
        (None, Some(missed)) if is_undecided(plan, trials) => {
            match offer(missed.min(best) * LIGHTER) {
                Step::Offer(rate, _) if !has_enough_requests(plan, rate) => Step::Done,
                lighter => lighter,
            }
        }
        (Some(carried), None) => offer(carried * UP),
        // Rounding apart, a step of doubling closes the bracket.
        (Some(carried), Some(missed)) if missed > carried * UP * 1.01 => offer(carried * UP),
        _ if usable.iter().any(is_mild) => Step::Done,
        _ => offer(best * OVERLOAD),
    }
}

/// The trials up to the end of the calibration.
fn before_load<S, O>(trials: &[Trial<S, O>]) -> &[Trial<S, O>] {
    let is_before = |t: &Trial<S, O>| matches!(t.spec.phase, Phase::Idle | Phase::Calibration);
    let end = trials.iter().position(|t| !is_before(t));
    &trials[..end.unwrap_or(trials.len())]
}

/// Whether a trial at this rate would be conclusive.
fn has_enough_requests(plan: &Plan, rate: Rate) -> bool {
    rate.get() * plan.calibration.window.as_secs_f64() >= FEWEST_REQUESTS
}

/// The rate of the last trial, if that is worth another try.
fn doubtful_just_now<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<Rate> {
    let last = trials.iter().rfind(|t| is_calibration(*t))?;
    is_doubtful(plan, last).then(|| last.asked())
}

fn is_calibration<S, O>(trial: &Trial<S, O>) -> bool {
    trial.spec.phase == Phase::Calibration
}

/// How often the rate of the next trial was tried without a result just before.
fn attempt<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>], rate: Rate) -> u32 {
    let in_vain = |t: &&Trial<S, O>| is_calibration(t) && t.asked() == rate && is_doubtful(plan, t);
    trials.iter().rev().take_while(in_vain).count() as u32
}

/// The rated rate, or as the error what the run does next to find it: a trial
/// at the `setting` of a rate and a number of connections, or nothing more.
pub fn rated_or_next<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
    setting: fn(Rate, Option<u32>) -> S,
    seed: u64,
) -> Result<Rate, Next<S>> {
    match step(plan, trials) {
        Step::Offer(rate, connections) => {
            let attempt = attempt(plan, trials, rate);
            let setting = setting(rate, connections);
            Err(Next::Trial(trial(plan, setting, attempt, seed)))
        }
        Step::NothingCarried(rate) => Err(nothing_carried(rate)),
        Step::Done => rated(plan, trials)
            .and_then(|found| Rate::per_second(found.rate_rps))
            .ok_or_else(|| nothing_carried(plan.calibration.first)),
    }
}

/// A trial of the calibration at this setting.
pub fn trial<S>(plan: &Plan, setting: S, attempt: u32, seed: u64) -> TrialSpec<S> {
    TrialSpec {
        attempt,
        warm_up: plan.run.warm_up,
        seed,
        ..TrialSpec::blank(Phase::Calibration, setting, plan.calibration.window)
    }
}

fn nothing_carried<S>(rate: Rate) -> Next<S> {
    Next::Stuck(format!(
        "no request was answered within a trial, down to {rate}: see that the service answers, or give trials more time with --duration"
    ))
}
