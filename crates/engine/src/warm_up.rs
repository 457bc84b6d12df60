//! Loading a service before anything is measured, until it has compiled and cached what it
//! does: a pure function of the plan and the trials so far.
//!
//! The rate follows what the service carries, so that it has all to do that it can: twice
//! the last one where that was carried, a little more than was answered where it was not.

use plimsoll_model::{Phase, Plan, Rate, ServiceWarmUp, Trial, TrialSetting, TrialSpec};
use plimsoll_study::carried::trial_is_carried;
use std::time::Duration;

const UP: f64 = 2.0;
const OVERLOAD: f64 = 1.1;
const DOWN: f64 = 1.0 / 8.0;
/// Consecutive trials without an answer after which it ends: the calibration reports why.
const MOST_UNANSWERED: usize = 3;
/// A shorter trial shows nothing of a rate.
const SHORTEST: Duration = Duration::from_millis(200);

fn made<S, O>(trials: &[Trial<S, O>]) -> impl DoubleEndedIterator<Item = &Trial<S, O>> {
    trials.iter().filter(|t| t.spec.phase == Phase::WarmUp)
}

/// What is left of it.
fn rest<S, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<ServiceWarmUp> {
    let spent = made(trials).map(|t| t.took).sum();
    let answered = made(trials).map(|t| t.work.completed).sum();
    let unanswered = made(trials).rev().take_while(|t| t.work.completed == 0);
    match unanswered.count() < MOST_UNANSWERED {
        true => plan.service_warm_up?.left(spent, answered),
        false => None,
    }
}

/// The time that is left of it; of one that is counted in requests, that of one trial.
pub fn left<S, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Duration {
    match rest(plan, trials) {
        Some(ServiceWarmUp::Time(left)) => left,
        Some(ServiceWarmUp::Requests(_)) => plan.calibration.window,
        None => Duration::ZERO,
    }
}

/// Its next trial, at the rate that is known or at one that the service may carry; `None`
/// when it is done, or not wanted.
pub fn next<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
    known: Option<Rate>,
    setting: fn(Rate, Option<u32>) -> S,
    seed: u64,
) -> Option<TrialSpec<S>> {
    let is_over = trials.iter().any(|t| {
        let before = [Phase::Idle, Phase::WarmUp];
        !before.contains(&t.spec.phase)
    });
    let rest = rest(plan, trials).filter(|_| !is_over)?;
    let rate = known.or(plan.calibration.rated).unwrap_or_else(|| {
        let last = made(trials).next_back();
        last.map_or(plan.calibration.first, following)
    });
    let window = match rest {
        ServiceWarmUp::Time(left) => plan.calibration.window.min(left.max(SHORTEST)),
        ServiceWarmUp::Requests(_) => plan.calibration.window,
    };
    Some(TrialSpec {
        seed,
        ..TrialSpec::blank(Phase::WarmUp, setting(rate, None), window)
    })
}

fn following<S: TrialSetting, O>(last: &Trial<S, O>) -> Rate {
    let (asked, achieved) = (last.asked(), last.achieved());
    if trial_is_carried(last) {
        asked.times(UP)
    } else if achieved > Rate::ZERO {
        achieved.times(OVERLOAD)
    } else {
        asked.times(DOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Arrivals, HttpService, Setting, Workload};

    const SECOND: Duration = Duration::from_secs(1);

    fn offer(rate: Rate, connections: Option<u32>) -> Setting {
        Setting::Offer { rate, connections }
    }

    fn plan(warm_up: Option<ServiceWarmUp>) -> Plan {
        let mut plan = Plan::blank(Workload::Http(HttpService::get("http://a/", 1, SECOND)));
        plan.arrivals = Arrivals::Poisson;
        plan.service_warm_up = warm_up;
        plan.calibration.first = Rate::per_second(400.0).unwrap();
        plan.calibration.window = SECOND;
        plan
    }

    /// A trial of one second that answers so many.
    fn answered(spec: TrialSpec, answers: u64) -> Trial {
        let mut trial = Trial::begun(spec, 0);
        trial.work.intended = trial.asked().get() as u64;
        trial.work.completed = answers;
        trial.took = SECOND;
        trial
    }

    /// The rates offered to a service that carries 1,000/s, and 5,000/s after so many answers.
    fn rates(warm_up: ServiceWarmUp, warm_after: u64) -> Vec<u64> {
        let plan = plan(Some(warm_up));
        let (mut trials, mut rates) = (Vec::<Trial>::new(), Vec::new());
        while let Some(spec) = next(&plan, &trials, None, offer, 1) {
            let asked = spec.setting.rate().unwrap().get().round() as u64;
            let before: u64 = trials.iter().map(|t| t.work.completed).sum();
            let most = if before < warm_after { 1000 } else { 5000 };
            trials.push(answered(spec, asked.min(most)));
            rates.push(asked);
        }
        rates
    }

    #[test]
    fn the_rate_follows_a_service_that_gets_faster() {
        let all = rates(ServiceWarmUp::Time(10 * SECOND), 4000);
        assert_eq!(
            all,
            [400, 800, 1600, 1100, 1100, 1100, 2200, 4400, 8800, 5500]
        );
    }

    #[test]
    fn it_ends_after_its_requests_or_when_nothing_is_answered() {
        assert_eq!(rates(ServiceWarmUp::Requests(2000), 0), [400, 800, 1600]);
        let plan = plan(Some(ServiceWarmUp::Requests(1)));
        let mut trials: Vec<Trial> = Vec::new();
        while let Some(spec) = next(&plan, &trials, None, offer, 1) {
            trials.push(answered(spec, 0));
        }
        assert_eq!(trials.len(), MOST_UNANSWERED);
    }

    #[test]
    fn a_known_rate_is_offered_and_nothing_where_none_is_wanted() {
        let known = Rate::per_second(70.0);
        let of = |plan: &Plan, trials: &[Trial]| next(plan, trials, known, offer, 1);
        assert_eq!(of(&plan(None), &[]), None);
        let wanted = plan(Some(ServiceWarmUp::Time(SECOND)));
        let spec = of(&wanted, &[]).unwrap();
        assert_eq!(spec.setting.rate(), known);
        // A run that is resumed goes on where it was.
        let later = TrialSpec::blank(Phase::Calibration, spec.setting, SECOND);
        assert_eq!(of(&wanted, &[answered(later, 70)]), None);
    }
}
