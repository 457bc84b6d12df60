//! The rated rate: throughput at saturation, from the calibration trials.

use crate::carried::trial_is_carried;
use crate::levels::cpu_share;
use plimsoll_model::{
    Invalid, NeverCarried, Phase, Plan, Rate, RatedRate, Trial, TrialSetting, Verdict, Workload,
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

/// The connections of the client, the shortest mean latency of a carried trial in
/// seconds, and the rate that they carry at that latency, where that may be why no more
/// was answered.
///
/// By Little's law `c` connections carry `c / mean latency` requests per second, whatever
/// the service can do. A queue in the service makes latency longer, so the shortest mean
/// has the least of it; more answers than that rate disprove it. A service whose own limit
/// lies there as well looks the same: only more connections tell the two apart.
pub(crate) fn limited_by_connections<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
) -> Option<(u32, f64, f64)> {
    let Workload::Http(http) = &plan.workload else {
        return None;
    };
    let mean_s = |t: &Trial<S, O>| t.work.latency.mean().map(|mean| mean.as_secs_f64());
    let latency_s = trials
        .iter()
        .filter(|t| trial_is_carried(t) && t.work.completed >= FEWEST_ANSWERS)
        .filter_map(mean_s)
        .reduce(f64::min)?;
    let most_rps = f64::from(http.connections) / latency_s.max(1e-9);
    let best = trials
        .iter()
        .map(|t| t.achieved().get())
        .fold(0.0, f64::max);
    let is_limit = (BUSY_CONNECTIONS * most_rps..=LATENCY_NOISE * most_rps).contains(&best);
    is_limit.then_some((http.connections, latency_s, most_rps))
}

/// The fewest answers that a mean latency is taken from.
const FEWEST_ANSWERS: u64 = 10;

/// The part of the connections that is in use when they are the limit: Poisson
/// arrivals do not use all of them all the time.
const BUSY_CONNECTIONS: f64 = 0.8;

/// By how much the mean latency of a trial may be too long by chance.
const LATENCY_NOISE: f64 = 1.1;

/// The rate given by the user, or the highest throughput seen while
/// calibrating; `None` before the first trial.
pub fn rated<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<RatedRate> {
    let by_connections = limited_by_connections(plan, trials).is_some();
    if let Some(given) = plan.calibration.rated {
        let is_table = matches!(plan.workload, Workload::Imported(_));
        return Some(RatedRate {
            rate_rps: given.get(),
            limited_by_service: match is_table {
                true => table_reaches_the_end(plan, trials),
                false => shows_the_end(plan, trials) && !by_connections,
            },
            disturbed: false,
            given: true,
            never_carried: never_carried(trials),
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
    let limited_by_service = is_overloaded && !by_connections;
    Some(RatedRate {
        rate_rps: best.get(),
        limited_by_service,
        disturbed: !limited_by_service && overloads().any(was_disturbed),
        given: false,
        never_carried: never_carried(trials),
    })
}

/// Whether a valid trial after calibration shows the service saturated: it did not
/// keep up, or used all CPU time.
fn shows_the_end<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> bool {
    let is_full =
        |t: &Trial<S, O>| cpu_share(&plan.run.cpus, t).is_some_and(|cpu| cpu.pct() >= FULL_CPU_PCT);
    trials
        .iter()
        .filter(|t| t.spec.phase.shows_load() && t.verdict.is_valid())
        .any(|t| !trial_is_carried(t) || is_full(t))
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

/// From this CPU use on, a service is taken to be saturated though it kept up:
/// a table holds what was carried, and no row shows what was not; and at a level
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
    use plimsoll_model::{HttpService, Share};
    use std::time::Duration;

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
        let rated = rated(&plan(), &[calibration_trial(1000.0, 1000), late]).unwrap();
        assert!(!rated.limited_by_service);
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
    fn few_connections_to_a_slow_service_are_the_clients_limit() {
        let http = |connections| {
            let service = HttpService::get("http://a/", connections, Duration::from_secs(10));
            Plan {
                workload: Workload::Http(service),
                ..plan()
            }
        };
        // Offered, answered, and the latencies of those answers with their share.
        type Seen = (f64, u64, &'static [(u64, f64)]);
        let trials = |seen: &[Seen]| {
            let trial = |(offered, answered, latencies): &Seen| {
                let mut trial = calibration_trial(*offered, *answered);
                for (ms, share) in *latencies {
                    let count = (share * *answered as f64).round() as u64;
                    let latency = Duration::from_millis(*ms);
                    trial.work.latency.record_many(latency, count);
                }
                trial
            };
            seen.iter().map(trial).collect::<Vec<Trial>>()
        };
        let flat: &[Seen] = &[(100.0, 100, &[(100, 1.0)]), (2000.0, 1274, &[(100, 1.0)])];
        let batching: &[Seen] = &[
            (100.0, 100, &[(40, 1.0)]),
            (2000.0, 2000, &[(5, 1.0)]),
            (20_000.0, 3000, &[(40, 1.0)]),
        ];
        // Most answers take 1 ms, a tenth takes 1 s: the mean holds the connections.
        let bimodal: &[Seen] = &[
            (100.0, 100, &[(1, 0.9), (1000, 0.1)]),
            (3000.0, 1270, &[(1, 0.9), (1000, 0.1)]),
        ];
        let beyond: &[Seen] = &[(100.0, 100, &[(100, 1.0)]), (2000.0, 1800, &[])];
        for (name, plan, seen, most_rps) in [
            ("flat latency", http(128), flat, Some(1280.0)),
            ("more connections", http(1024), flat, None),
            ("hash", plan(), flat, None),
            ("latency that falls with load", http(128), batching, None),
            ("two kinds of answers", http(128), bimodal, Some(1268.0)),
            ("more answered than that", http(128), beyond, None),
        ] {
            let trials = trials(seen);
            let found = limited_by_connections(&plan, &trials).map(|(_, _, most)| most);
            let is_as_expected = match (found, most_rps) {
                (Some(found), Some(expected)) => (found / expected - 1.0f64).abs() < 0.01,
                (found, expected) => found == expected,
            };
            assert!(is_as_expected, "{name}: {found:?}");
            let limited_by_service = rated(&plan, &trials).unwrap().limited_by_service;
            assert_eq!(limited_by_service, found.is_none(), "{name}");
        }
    }

    #[test]
    fn nothing_answered_is_no_rate() {
        assert_eq!(rated(&plan(), &[calibration_trial(1000.0, 0)]), None);
    }
}
