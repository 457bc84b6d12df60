//! The rated rate: throughput at saturation, from the calibration trials.

use crate::carried::trial_is_carried;
use crate::connections::{connections, limit};
use crate::levels::{cpu_share, generator_share};
use plimsoll_model::{
    Invalid, LimitedBy, NeverCarried, Phase, Plan, Rate, RatedRate, Trial, TrialSetting, Verdict,
    Workload,
};

/// Whether the generator's limits kept a calibration trial below its rate. A trial
/// that met its rate is valid for it, however late single requests were.
pub fn limited_by_generator<S: TrialSetting, O>(trial: &Trial<S, O>) -> bool {
    let own = |r: &Invalid| matches!(r, Invalid::Slip { .. });
    !trial_is_carried(trial) && !was_disturbed(trial) && any(trial, own)
}

fn was_disturbed<S, O>(trial: &Trial<S, O>) -> bool {
    let others = |r: &Invalid| matches!(r, Invalid::Steal { .. } | Invalid::OtherLoad { .. });
    any(trial, others)
}

fn any<S, O>(trial: &Trial<S, O>, is: impl Fn(&Invalid) -> bool) -> bool {
    match &trial.verdict {
        Verdict::Valid => false,
        Verdict::Invalid(reasons) => reasons.iter().any(is),
    }
}

/// Whether to repeat a calibration trial: it was disturbed, or may have missed its
/// rate by chance.
pub fn is_doubtful<S: TrialSetting, O>(plan: &Plan, trial: &Trial<S, O>) -> bool {
    let may_retry = trial.spec.attempt < plan.calibration.retries;
    may_retry && (was_disturbed(trial) || limited_by_generator(trial))
}

/// The usable calibration trials, in order. A doubtful last repeat counts, because
/// there is nothing better.
pub fn usable<'a, S: TrialSetting, O>(
    plan: &Plan,
    trials: &'a [Trial<S, O>],
) -> Vec<&'a Trial<S, O>> {
    trials
        .iter()
        .filter(|t| t.spec.phase == Phase::Calibration && !is_doubtful(plan, t))
        .collect()
}

/// The rate given by the user, or the highest throughput seen while
/// calibrating; `None` before the first trial.
pub fn rated<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<RatedRate> {
    if let Some(given) = plan.calibration.rated {
        let is_saturated = match plan.workload {
            Workload::Imported(_) => table_reaches_the_end(plan, trials),
            _ => shows_the_end(plan, trials),
        };
        return Some(RatedRate {
            given: true,
            ..limited(plan, trials, given, is_saturated, false)
        });
    }
    let usable = usable(plan, trials);
    let best = usable
        .iter()
        .map(|t| t.achieved())
        .max_by(|a, b| a.get().total_cmp(&b.get()))
        .filter(|r| *r > Rate::ZERO)?;
    let is_overload = |t: &&Trial<S, O>| !trial_is_carried(t) && !limited_by_generator(t);
    let overloads = || usable.iter().copied().filter(is_overload);
    let is_overloaded = overloads().any(|t| !was_disturbed(t)) || shows_the_end(plan, trials);
    let is_disturbed = overloads().any(was_disturbed);
    Some(limited(plan, trials, best, is_overloaded, is_disturbed))
}

/// The rate with what limited it: `is_saturated` if a valid trial was not carried though
/// the generator kept up, `is_disturbed` if an invalid one was not.
fn limited<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
    rate: Rate,
    is_saturated: bool,
    is_disturbed: bool,
) -> RatedRate {
    let limited_by = if limit(plan, trials).is_some() {
        LimitedBy::Connections
    } else if is_saturated {
        LimitedBy::Service
    } else if is_disturbed {
        LimitedBy::OtherLoad
    } else {
        by_client(plan, trials)
    };
    let limited_by_service = limited_by == LimitedBy::Service;
    RatedRate {
        rate_rps: rate.get(),
        limited_by_service,
        disturbed: is_disturbed && !limited_by_service,
        limited_by,
        connections: connections(plan, trials),
        given: false,
        never_carried: never_carried(trials),
    }
}

/// Why the generator was late. Being late shows that it was the limit, and not its CPU
/// use, because it polls; that tells what it lacked.
fn by_client<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> LimitedBy {
    let late = || trials.iter().filter(|t| limited_by_generator(t));
    let is_full = |t| generator_share(plan, t).is_some_and(|cpu| cpu.pct() >= FULL_CPU_PCT);
    match late().next() {
        None => LimitedBy::Unknown,
        Some(_) if late().any(is_full) => LimitedBy::ClientCpu,
        Some(_) => LimitedBy::Generator,
    }
}

/// Whether a valid trial after calibration shows the service saturated: it did not
/// keep up, or used all CPU time.
fn shows_the_end<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> bool {
    let is_full =
        |t: &Trial<S, O>| cpu_share(&plan.run.cpus, t).is_some_and(|cpu| cpu.pct() >= FULL_CPU_PCT);
    let shows = |t: &&Trial<S, O>| t.spec.phase.shows_load() && t.verdict.is_valid();
    let valid = || trials.iter().filter(shows);
    // A service that polls uses all CPU time at any load.
    let has_room = valid().any(|t| !is_full(t));
    valid().any(|t| !trial_is_carried(t) || (has_room && is_full(t)))
}

/// The result of the levels if none met its rate; `None` if one did.
fn never_carried<S: TrialSetting, O>(trials: &[Trial<S, O>]) -> Option<NeverCarried> {
    let is_level = |t: &&Trial<S, O>| matches!(t.spec.phase, Phase::Level { .. });
    let at_levels = || trials.iter().filter(is_level);
    if at_levels().any(|t| trial_is_carried(t)) {
        return None;
    }
    Some(NeverCarried {
        lowest_offered_rps: at_levels().map(|t| t.asked().get()).reduce(f64::min)?,
        most_achieved_rps: at_levels().map(|t| t.achieved().get()).reduce(f64::max)?,
    })
}

/// From this CPU use on, a generator lacked CPU time, and a service is taken to be saturated
/// though it kept up: a table holds what was carried, and no row shows what was not; and at a level
/// of exactly its rated rate a service may keep up.
const FULL_CPU_PCT: f64 = 90.0;

fn table_reaches_the_end<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> bool {
    let last = trials
        .iter()
        .max_by(|a, b| a.asked().get().total_cmp(&b.asked().get()));
    let cpu = last.and_then(|t| cpu_share(&plan.run.cpus, t));
    cpu.is_some_and(|cpu| cpu.pct() >= FULL_CPU_PCT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{calibration_trial, plan};
    use plimsoll_model::{CpuTime, CpusOf, Share};

    #[test]
    fn the_highest_throughput_counts_not_the_last() {
        let trials = [
            calibration_trial(1000.0, 1000),
            calibration_trial(2000.0, 1500),
            calibration_trial(1650.0, 1480),
        ];
        let rated = rated(&plan(), &trials).unwrap();
        assert!((rated.rate_rps - 1500.0).abs() < 1e-9);
        assert!(rated.limited_by_service);
    }

    #[test]
    fn an_end_that_only_a_disturbed_machine_showed_is_not_the_services() {
        let mut disturbed = calibration_trial(2000.0, 1000);
        disturbed.verdict = Verdict::Invalid(vec![Invalid::OtherLoad {
            used: Share::ONE,
            bound: Share::ZERO,
            on: CpusOf::Machine,
        }]);
        disturbed.spec.attempt = 1;
        let level = |achieved| {
            let mut level = calibration_trial(1000.0, achieved);
            level.spec.phase = Phase::Level { level: None };
            level
        };
        let of = |level: Trial| {
            let trials = [calibration_trial(500.0, 500), disturbed.clone(), level];
            let rated = rated(&plan(), &trials).unwrap();
            (rated.limited_by_service, rated.disturbed)
        };
        assert_eq!(of(level(1000)), (false, true));
        assert_eq!(
            of(level(900)),
            (true, false),
            "a valid level did not keep up"
        );
    }

    #[test]
    fn a_late_generator_proves_nothing_about_the_service() {
        let mut late = calibration_trial(2000.0, 1500);
        late.verdict = Verdict::Invalid(vec![Invalid::Slip {
            p99: std::time::Duration::from_millis(50),
            bound: std::time::Duration::from_micros(100),
        }]);
        late.spec.attempt = 1;
        let mut plan = plan();
        plan.run.cpus.generator = [1].into_iter().collect();
        let mut of = |cpu_share: f64| {
            late.machine.window = late.window;
            late.generator_cpu = Some(CpuTime(late.window.mul_f64(cpu_share)));
            let trials = [calibration_trial(1000.0, 1000), late.clone()];
            let rated = rated(&plan, &trials).unwrap();
            assert!(!rated.limited_by_service);
            rated.limited_by
        };
        assert_eq!(of(0.5), LimitedBy::Generator);
        assert_eq!(of(0.97), LimitedBy::ClientCpu);
    }

    #[test]
    fn a_rate_that_was_carried_is_carried_however_late_single_requests_were() {
        let mut late = calibration_trial(2000.0, 2000);
        late.verdict = Verdict::Invalid(vec![Invalid::Slip {
            p99: std::time::Duration::from_micros(140),
            bound: std::time::Duration::from_micros(100),
        }]);
        assert!(!limited_by_generator(&late));
        assert!(!is_doubtful(&plan(), &late));
    }

    #[test]
    fn a_rate_that_no_level_reaches_is_reported() {
        let mut plan = plan();
        plan.calibration.rated = Rate::per_second(1e6);
        let level = |asked: f64, achieved| {
            let mut trial = calibration_trial(asked, achieved);
            trial.spec.phase = Phase::Level { level: None };
            trial
        };
        let of = |trials: &[Trial]| rated(&plan, trials).unwrap().never_carried;
        let drowned = of(&[level(500_000.0, 900), level(50_000.0, 1000)]).unwrap();
        assert!((drowned.lowest_offered_rps - 50_000.0).abs() < 1e-6);
        assert!((drowned.most_achieved_rps - 1000.0).abs() < 1e-6);
        assert_eq!(of(&[level(500_000.0, 900), level(500.0, 500)]), None);
        assert_eq!(of(&[]), None, "nothing was tried");
    }

    #[test]
    fn nothing_answered_is_no_rate() {
        assert_eq!(rated(&plan(), &[calibration_trial(1000.0, 0)]), None);
    }
}
