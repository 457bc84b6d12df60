//! Finding the rated rate: open-loop trials that double until the rate is not
//! carried any more, then one just above what was carried.

use crate::conduct::Next;
use plimsoll_model::{Phase, Plan, Rate, Trial, TrialSetting, TrialSpec};
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::rated::{is_doubtful, limited_by_generator, rated, usable};

/// About how many trials a calibration makes.
pub const CALIBRATION_TRIALS: usize = 6;

/// How much more the next rate is while rates are carried.
const UP: f64 = 2.0;
/// How much less the next rate is while nothing is answered.
const DOWN: f64 = 1.0 / 8.0;
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
    /// A trial at this rate.
    Offer(Rate),
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
    if let Some(rate) = doubtful_just_now(plan, trials) {
        return Step::Offer(rate);
    }
    let usable = usable(plan, trials);
    let Some(last) = usable.last() else {
        return Step::Offer(plan.calibration.first);
    };
    let achieved = usable.iter().map(|t| t.achieved().get());
    let best = achieved.reduce(f64::max).unwrap_or(0.0);
    if best <= 0.0 {
        return lower(plan, last.asked());
    }
    // The generator is saturated: more can be asked but not offered.
    if usable.iter().any(|t| limited_by_generator(t)) || usable.len() >= MOST_TRIALS {
        return Step::Done;
    }
    let asked = |is_carried| {
        let trials = usable.iter();
        let trials = trials.filter(move |t| trial_is_carried(t) == is_carried);
        trials.map(|t| t.asked().get())
    };
    let carried = asked(true).reduce(f64::max);
    let missed = asked(false).reduce(f64::min);
    let is_mild = |t: &&Trial<S, O>| MILD.contains(&(t.asked().get() / best));
    match (carried, missed) {
        (Some(carried), None) => offer(carried * UP),
        // Rounding apart, a step of doubling closes the bracket.
        (Some(carried), Some(missed)) if missed > carried * UP * 1.01 => offer(carried * UP),
        _ if usable.iter().any(is_mild) => Step::Done,
        _ => offer(best * OVERLOAD),
    }
}

fn offer(rate: f64) -> Step {
    Rate::per_second(rate).map_or(Step::Done, Step::Offer)
}

fn lower(plan: &Plan, unanswered: Rate) -> Step {
    let next = unanswered.times(DOWN);
    let requests = next.get() * plan.calibration.window.as_secs_f64();
    if requests < FEWEST_REQUESTS {
        Step::NothingCarried(unanswered)
    } else {
        Step::Offer(next)
    }
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
/// at the `setting` of a rate, or nothing more.
pub fn rated_or_next<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
    setting: fn(Rate) -> S,
    seed: u64,
) -> Result<Rate, Next<S>> {
    match step(plan, trials) {
        Step::Offer(rate) => {
            let attempt = attempt(plan, trials, rate);
            Err(Next::Trial(trial(plan, setting(rate), attempt, seed)))
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
