//! The client's connections: how many a run uses, whether they were its limit, and
//! whether the server answered them.

use crate::carried::trial_is_carried;
use crate::cpu_use;
use plimsoll_model::{
    ConnectionUse, CpuGauge, Doubt, HttpService, Plan, Rate, Share, Trial, TrialSetting, Workload,
};
use std::collections::BTreeMap;

/// How many times as many connections are tried next: the second try is far above a
/// limit that the first one had, the fourth has 8,192.
const MORE: u32 = 4;

/// More connections that carry less than this part of what fewer did are a burden for the server, or for
/// the client.
const CARRIES_AS_MUCH: f64 = 0.9;

/// The fewest answers that a mean latency is taken from.
const FEWEST_ANSWERS: u64 = 10;

/// The part of the connections that is in use when they are the limit: Poisson
/// arrivals do not use all of them all the time.
const BUSY_CONNECTIONS: f64 = 0.8;

/// The part from which on more connections are worth a trial: on a busy machine the
/// answers to a few late requests hide the limit, and the trial decides.
const WORTH_A_TRIAL: f64 = 0.5;

/// By how much the mean latency of a trial may be too long by chance.
const LATENCY_NOISE: f64 = 1.1;

/// The part of the requests of a trial that wait for a connection where all are in use.
const WAITS: f64 = 0.5;
/// A CPU use below this, in percent, is not that of a service that lacks CPU time.
const FULL_PCT: f64 = 80.0;

/// The least share of requests that fail with their connection that is no accident.
const LEAST_CLOSED: f64 = 0.01;
/// The fewest connections without an answer that are no chance.
const FEWEST_UNSERVED: u32 = 8;

/// What the client's connections carry, where that may be why no more was answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ConnectionLimit {
    connections: u32,
    streams: u32,
    latency_s: f64,
    pub(crate) most_rps: f64,
    waited_share: Option<f64>,
}

fn http(plan: &Plan) -> Option<&HttpService> {
    match &plan.workload {
        Workload::Http(http) => Some(http),
        Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => None,
    }
}

/// The client's connections for the trial after these; `None` without a client that has
/// any. Only the calibration changes them: to more, and back where more carry less.
pub fn connections<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<u32> {
    let planned = http(plan)?.connections;
    let most = most_carried(trials);
    let best = most.values().copied().fold(0.0, f64::max);
    let carries = |carried: f64| carried >= CARRIES_AS_MUCH * best;
    let last = most.iter().rev().find(|(_, carried)| carries(**carried));
    Some(last.map_or(planned, |(connections, _)| *connections))
}

/// The highest throughput over each number of connections that was tried.
fn most_carried<S: TrialSetting, O>(trials: &[Trial<S, O>]) -> BTreeMap<u32, f64> {
    let mut most = BTreeMap::new();
    for trial in trials {
        if let Some(connections) = trial.spec.setting.connections() {
            let carried = most.entry(connections).or_insert(0.0_f64);
            *carried = carried.max(trial.achieved().get());
        }
    }
    most
}

/// The same where the calibration may change them; else the plan has them.
pub fn adjustable<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<u32> {
    http(plan)?.max_connections.and(connections(plan, trials))
}

/// The number to try next, where more are permitted and the last trial was not carried
/// because of them.
pub fn more<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> Option<u32> {
    let permitted = http(plan)?.max_connections?;
    let now = connections(plan, trials)?;
    let next = now.saturating_mul(MORE).min(permitted);
    let is_new = now < permitted && !most_carried(trials).contains_key(&next);
    let missed = trials.last().is_some_and(|last| !trial_is_carried(last));
    let is_limit = missed && is_new && limit_from(WORTH_A_TRIAL, plan, trials).is_some();
    is_limit.then_some(next)
}

/// Whether more connections may help, but no trial was carried that could tell.
pub fn is_undecided<S: TrialSetting, O>(plan: &Plan, trials: &[Trial<S, O>]) -> bool {
    let may_grow = || http(plan)?.max_connections.zip(connections(plan, trials));
    let waited = trials
        .iter()
        .filter_map(waited_share)
        .any(|share| share > 0.0);
    waited && may_grow().is_some_and(|(permitted, now)| now < permitted)
}

/// The part of its requests that waited for a connection; `None` where that was not
/// counted.
fn waited_share<S, O>(trial: &Trial<S, O>) -> Option<f64> {
    let used = trial.work.connections?;
    Some(used.waited as f64 / trial.work.intended.max(1) as f64)
}

/// The limit that the connections set, where throughput was at it and requests waited
/// for one.
///
/// By Little's law connections with room for `c` requests carry `c / mean latency` of them per
/// second, whatever the service can do. A queue in the service makes latency longer, so the shortest mean
/// of a carried trial has the least of it; more answers than that rate disprove it. A
/// service whose own limit lies there as well looks the same: only more connections tell
/// the two apart.
pub(crate) fn limit<S: TrialSetting, O>(
    plan: &Plan,
    trials: &[Trial<S, O>],
) -> Option<ConnectionLimit> {
    limit_from(BUSY_CONNECTIONS, plan, trials)
}

/// The same where throughput was at least this part of it.
fn limit_from<S: TrialSetting, O>(
    least: f64,
    plan: &Plan,
    trials: &[Trial<S, O>],
) -> Option<ConnectionLimit> {
    let http = http(plan)?;
    let (planned, streams) = (http.connections, http.streams());
    let connections = connections(plan, trials)?;
    let has_as_many =
        |t: &&Trial<S, O>| t.spec.setting.connections().unwrap_or(planned) == connections;
    let latency_s = shortest_latency_s(trials.iter())?;
    let most_rps = f64::from(connections) * f64::from(streams) / latency_s.max(1e-9);
    let same = || trials.iter().filter(has_as_many);
    let best = same().map(|t| t.achieved().get()).fold(0.0, f64::max);
    let waited_share = same().filter_map(waited_share).reduce(f64::max);
    let is_near = (least * most_rps..=LATENCY_NOISE * most_rps).contains(&best);
    (is_near && waited_share != Some(0.0)).then_some(ConnectionLimit {
        connections,
        streams,
        latency_s,
        most_rps,
        waited_share,
    })
}

/// The shortest mean latency of a carried trial, in seconds.
pub fn shortest_latency_s<'t, S: TrialSetting, O: 't>(
    trials: impl Iterator<Item = &'t Trial<S, O>>,
) -> Option<f64> {
    trials
        .filter(|t| trial_is_carried(t) && t.work.completed >= FEWEST_ANSWERS)
        .filter_map(|t| t.work.latency.mean())
        .map(|mean| mean.as_secs_f64())
        .reduce(f64::min)
}

/// Why the figures may be those of the client's connections and not of the service.
pub(crate) fn doubts(plan: &Plan, trials: &[Trial], rated: Option<Rate>) -> Vec<Doubt> {
    let limit = limit(plan, trials).map(|limit| Doubt::Connections {
        connections: limit.connections,
        streams: limit.streams,
        latency_us: limit.latency_s * 1e6,
        most_rps: limit.most_rps,
        waited_pct: limit.waited_share.map(|share| 100.0 * share),
    });
    let limit = limit.or_else(|| cpu_left(plan, trials));
    let unserved = rated.and_then(|rated| unserved(trials, rated));
    let closed = rated.and_then(|rated| closed(plan, trials, rated));
    limit.into_iter().chain(unserved).chain(closed).collect()
}

/// What was not carried, while requests waited for a connection and the service had CPU time left.
/// Its answers take longer then than at light load whatever the reason is, a limit for each
/// connection among them.
fn cpu_left(plan: &Plan, trials: &[Trial]) -> Option<Doubt> {
    let (over, streams) = (connections(plan, trials)?, http(plan)?.streams());
    let waits = |t: &&Trial| waited_share(t).is_some_and(|share| share >= WAITS);
    let missed = |t: &&Trial| t.verdict.is_valid() && !trial_is_carried(*t);
    trials.iter().find(|t| missed(t) && waits(t))?;
    let cpu = trials.iter().filter_map(|trial| {
        let by = |gauge| cpu_use::share(plan, trial, gauge).map(Share::pct);
        let both = [CpuGauge::OwnTime, CpuGauge::ServiceCpus].map(by);
        both.into_iter().flatten().reduce(f64::max)
    });
    let cpu_pct = cpu.reduce(f64::max)?;
    (cpu_pct < FULL_PCT).then_some(Doubt::CpuLeft {
        cpu_pct,
        over,
        streams,
    })
}

/// Connections that are never answered though there is little load: the server serves few
/// at a time. At more than half of the rated rate requests may just be in its queue.
fn unserved(trials: &[Trial], rated: Rate) -> Option<Doubt> {
    let seen = || light(trials, rated).filter_map(|t| t.work.connections);
    let all = seen().fold(ConnectionUse::default(), |a, b| a + b);
    let most = seen().max_by_key(|seen| seen.used)?;
    (all.unserved >= FEWEST_UNSERVED.max(all.used / 2)).then_some(Doubt::Unserved {
        connections: most.used,
        unserved: most.unserved,
    })
}

/// Connections that the server refuses or closes though there is little load: it permits
/// few at a time.
fn closed(plan: &Plan, trials: &[Trial], rated: Rate) -> Option<Doubt> {
    let connections = connections(plan, trials)?;
    let failed: u64 = light(trials, rated)
        .map(|t| t.work.errors.connect + t.work.errors.reset)
        .sum();
    let intended: u64 = light(trials, rated).map(|t| t.work.intended).sum();
    let share = failed as f64 / intended.max(1) as f64;
    (share >= LEAST_CLOSED).then_some(Doubt::Closed {
        connections,
        failed_pct: 100.0 * share,
    })
}

/// At more than half of the rated rate a service may be overloaded.
fn light(trials: &[Trial], rated: Rate) -> impl Iterator<Item = &Trial> {
    let is_light = move |t: &&Trial| t.asked().get() <= rated.get() / 2.0;
    trials.iter().filter(is_light)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rated::rated;
    use crate::testing::{calibration_trial, plan};
    use std::num::NonZeroU32;
    use std::time::Duration;

    fn http(connections: u32) -> Plan {
        let service = HttpService::get("http://a/", connections, Duration::from_secs(10));
        Plan {
            workload: Workload::Http(service),
            ..plan()
        }
    }

    #[test]
    fn few_connections_to_a_slow_service_are_the_clients_limit() {
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
        let streams = |connections, streams| {
            let mut plan = http(connections);
            if let Workload::Http(http) = &mut plan.workload {
                http.http2_streams = NonZeroU32::new(streams);
            }
            plan
        };
        for (name, plan, seen, most_rps) in [
            ("flat latency", http(128), flat, Some(1280.0)),
            ("streams", streams(16, 8), flat, Some(1280.0)),
            ("more streams", streams(128, 8), flat, None),
            ("more connections", http(1024), flat, None),
            ("hash", plan(), flat, None),
            ("latency that falls with load", http(128), batching, None),
            ("two kinds of answers", http(128), bimodal, Some(1268.0)),
            ("more answered than that", http(128), beyond, None),
        ] {
            let trials = trials(seen);
            let found = limit(&plan, &trials).map(|limit| limit.most_rps);
            let is_as_expected = match (found, most_rps) {
                (Some(found), Some(expected)) => (found / expected - 1.0f64).abs() < 0.01,
                (found, expected) => found == expected,
            };
            assert!(is_as_expected, "{name}: {found:?}");
            let limited_by_service = rated(&plan, &trials).unwrap().limited_by_service;
            assert_eq!(limited_by_service, found.is_none(), "{name}");
        }
    }

    /// Trials of 100 ms a request, at these rates with so many answers, of which so many
    /// waited.
    fn waiting(seen: &[(f64, u64, u64)], connections: u32) -> Vec<Trial> {
        let trial = |&(offered, answered, waited): &(f64, u64, u64)| {
            let mut trial = calibration_trial(offered, answered);
            trial.spec.setting = trial.spec.setting.over(Some(connections));
            let latency = Duration::from_millis(100);
            trial.work.latency.record_many(latency, answered);
            trial.work.connections = Some(ConnectionUse {
                connections,
                waited,
                ..ConnectionUse::default()
            });
            trial
        };
        seen.iter().map(trial).collect()
    }

    #[test]
    fn more_connections_are_tried_where_they_were_the_limit() {
        let growing = |most| {
            let mut plan = http(128);
            if let Workload::Http(http) = &mut plan.workload {
                http.max_connections = most;
            }
            plan
        };
        let full = waiting(&[(640.0, 640, 0), (2560.0, 1274, 9)], 128);
        assert_eq!(more(&growing(Some(10_000)), &full), Some(512));
        assert_eq!(more(&growing(Some(300)), &full), Some(300));
        assert_eq!(more(&growing(None), &full), None, "-c 128 is 128");
        let idle = waiting(&[(640.0, 640, 0), (2560.0, 1274, 0)], 128);
        assert_eq!(more(&growing(Some(10_000)), &idle), None, "none waited");
        let mut grown = full;
        grown.extend(waiting(&[(2560.0, 1280, 9)], 512));
        let plan = growing(Some(10_000));
        assert_eq!(
            more(&plan, &grown),
            None,
            "they do not help: the service is the limit"
        );
        assert_eq!(connections(&plan, &grown), Some(512));
        assert!(rated(&plan, &grown).unwrap().limited_by_service);
    }

    #[test]
    fn more_connections_that_carry_less_are_given_up() {
        let mut plan = http(128);
        if let Workload::Http(http) = &mut plan.workload {
            http.max_connections = Some(10_000);
        }
        let mut trials = waiting(&[(640.0, 640, 0), (2560.0, 1274, 9)], 128);
        trials.extend(waiting(&[(2560.0, 900, 9)], 512));
        assert_eq!(connections(&plan, &trials), Some(128));
        assert_eq!(more(&plan, &trials), None, "512 were tried");
        trials.extend(waiting(&[(1274.0, 1200, 9)], 128));
        assert_eq!(connections(&plan, &trials), Some(128));
    }

    #[test]
    fn cpu_time_that_is_left_at_the_limit_is_named() {
        let plan = http(128);
        let of = |waited, cpu: f64| {
            let mut trials = waiting(&[(100.0, 100, 0), (3000.0, 700, waited)], 128);
            trials[1].machine = crate::testing::trial_at(50.0, 500, cpu, 1e3).machine;
            cpu_left(&plan, &trials)
        };
        let found = of(20_000, 0.57);
        assert!(
            matches!(found, Some(Doubt::CpuLeft { cpu_pct, over: 128, .. }) if (56.0..58.0).contains(&cpu_pct)),
            "{found:?}"
        );
        assert_eq!(of(20_000, 0.9), None, "the CPU is the limit");
        assert_eq!(of(9, 0.57), None, "few waited");
    }

    #[test]
    fn a_server_of_few_connections_is_no_loss_of_answers() {
        let of = |used, unserved| {
            let mut trials = waiting(&[(100.0, 100, 0), (1000.0, 500, 0)], 128);
            let seen = trials[0].work.connections.as_mut().unwrap();
            (seen.used, seen.unserved) = (used, unserved);
            // In an overload all of them may be in the queue of the service.
            let seen = trials[1].work.connections.as_mut().unwrap();
            (seen.used, seen.unserved) = (128, 128);
            super::unserved(&trials, Rate::per_second(500.0).unwrap())
        };
        let found = Doubt::Unserved {
            connections: 128,
            unserved: 124,
        };
        assert_eq!(of(128, 124), Some(found));
        assert_eq!(of(128, 3), None, "a few lost answers");
        assert_eq!(of(4, 4), None, "too few");
    }

    #[test]
    fn closed_connections_at_light_load_are_named() {
        let of = |nth: usize, reset: u64| {
            let mut trials = waiting(&[(100.0, 100, 0), (1000.0, 500, 0)], 128);
            trials[nth].work.errors.reset = reset;
            closed(&http(128), &trials, Rate::per_second(500.0).unwrap())
        };
        let found = Doubt::Closed {
            connections: 128,
            failed_pct: 48.0,
        };
        assert_eq!(of(0, 480), Some(found));
        assert_eq!(of(0, 9), None, "an accident");
        assert_eq!(of(1, 5000), None, "overload");
    }
}
