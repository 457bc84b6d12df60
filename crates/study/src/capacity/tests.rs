use super::*;
use crate::testing::{plan, trial_at};

/// The finding of one goal over levels given as (load %, rate, CPU share,
/// latency of every request in us).
fn solve(goal: &str, given: &[(f64, u64, f64, f64)]) -> CapacityFinding {
    let trials: Vec<Trial> = given
        .iter()
        .map(|&(load, rate, cpu, us)| trial_at(load, rate, cpu, us))
        .collect();
    of_trials(goal, &trials)
}

fn of_trials(goal: &str, trials: &[Trial]) -> CapacityFinding {
    let mut plan = plan();
    plan.goals = vec![goal.parse().unwrap()];
    crate::findings(&plan, trials).capacity.remove(0)
}

const HOCKEY_STICK: [(f64, u64, f64, f64); 5] = [
    (10.0, 100, 0.1, 1000.0),
    (40.0, 400, 0.4, 1000.0),
    (60.0, 600, 0.6, 1500.0),
    (80.0, 800, 0.7, 3000.0),
    (100.0, 1000, 0.95, 50_000.0),
];

/// A trial of which a share of the requests takes 10 ms.
fn mixed(load: f64, rate: u64, slow_share: f64) -> Trial {
    let mut trial = trial_at(load, rate, load / 100.0, 1000.0);
    let slow = (slow_share * 10_000.0).round() as u64;
    trial.work.latency.clear();
    trial
        .work
        .latency
        .record_many(Duration::from_millis(1), 10_000 - slow);
    trial
        .work
        .latency
        .record_many(Duration::from_millis(10), slow);
    trial
}

#[test]
fn a_lower_bound_is_no_lower_than_what_keeps_a_stricter_goal() {
    let of = |goal: &str, status, low| CapacityFinding {
        status,
        rate_rps: Some(Estimate::within(low, low, 1.1 * low)),
        limit_us: Some(if goal.ends_with("10ms") { 1e4 } else { 5e4 }),
        ..nothing_known(&goal.parse().unwrap())
    };
    let low = |strict: &str, loose: &str, status| {
        let both = [
            of(strict, CapacityStatus::Found, 900.0),
            of(loose, status, 600.0),
        ];
        raised(&both[1], &both).unwrap().low.unwrap()
    };
    let open = CapacityStatus::NotReached;
    assert_eq!(low("p99<10ms", "p99<50ms", open), 900.0);
    assert_eq!(low("p99<10ms", "p50<50ms", open), 900.0);
    assert_eq!(low("p50<10ms", "p99<50ms", open), 600.0, "implies nothing");
    assert_eq!(low("p99<50ms", "p99<10ms", open), 600.0, "is looser");
    assert_eq!(low("p99<10ms", "p99<50ms", CapacityStatus::Found), 600.0);
}

#[test]
fn a_failed_request_is_answered_within_no_limit() {
    // A limiter refuses at once: what it answers is fast at any rate.
    let mut refused = mixed(80.0, 800, 0.0);
    refused.work.latency.clear();
    refused
        .work
        .latency
        .record_many(Duration::from_millis(1), 8000);
    refused.work.errors.status = 2000;
    let found = of_trials("p99<5ms", &[mixed(50.0, 500, 0.0), refused.clone()]);
    assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)), "{found:?}");
    // The others stand in the histogram with the time that they waited.
    let waited = Duration::from_millis(4);
    refused.work.latency.record_many(waited, 2000);
    let mut unfinished = refused.clone();
    refused.work.errors = plimsoll_model::Errors {
        timeout: 2000,
        ..Default::default()
    };
    unfinished.work.errors = Default::default();
    unfinished.work.unfinished = 2000;
    for unanswered in [refused, unfinished] {
        let found = of_trials("p99<5ms", &[mixed(50.0, 500, 0.0), unanswered]);
        assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)), "{found:?}");
    }
}

#[test]
fn a_wide_gap_between_levels_gives_the_lower_one() {
    let found = solve("p99<2x", &HOCKEY_STICK);
    assert_eq!(found.status, CapacityStatus::Found);
    assert!((found.limit_us.unwrap() / 2000.0 - 1.0).abs() < 2e-3);
    let rate = found.rate_rps.unwrap();
    assert_eq!((rate.value, rate.interval()), (600.0, None));
    assert!(found.note.unwrap().to_string().contains("missed at 800/s"));
    let cpu = found.cpu_pct.unwrap();
    assert!((cpu.value - 60.0).abs() < 0.2);
    assert_eq!(
        cpu.interval(),
        None,
        "single trials show no scatter of CPU use"
    );
}

#[test]
fn shares_that_rise_through_the_goal_give_a_rate_between_levels() {
    let trials: Vec<Trial> = [(70.0, 700, 0.001), (80.0, 800, 0.004), (90.0, 900, 0.02)]
        .iter()
        .flat_map(|&(load, rate, share)| [mixed(load, rate, share), mixed(load, rate, share)])
        .collect();
    let found = of_trials("p99<5ms", &trials);
    assert_eq!(found.status, CapacityStatus::Found);
    let rate = found.rate_rps.unwrap();
    assert!((820.0..890.0).contains(&rate.value), "{rate:?}");
    assert!(rate.interval().is_some());
}

#[test]
fn any_percentile_can_be_asked_for() {
    assert_eq!(
        solve("p73<2ms", &HOCKEY_STICK).status,
        CapacityStatus::Found
    );
}

#[test]
fn a_goal_that_always_or_never_holds_has_no_boundary() {
    let always = solve("p99<1s", &HOCKEY_STICK);
    assert_eq!(always.status, CapacityStatus::NotReached);
    let rate = always.rate_rps.unwrap();
    assert_eq!((rate.low, rate.high), (Some(1000.0), None), "at least");
    let never = solve("p99<10us", &HOCKEY_STICK);
    assert_eq!(never.status, CapacityStatus::Undecided);
    assert!(
        never
            .note
            .unwrap()
            .to_string()
            .contains("missed already at 100/s")
    );
    assert_eq!(never.rate_rps, None);
}

#[test]
fn cpu_and_error_goals_are_solved_alike() {
    let cpu = solve("cpu<65%", &HOCKEY_STICK);
    assert!((600.0..800.0).contains(&cpu.rate_rps.unwrap().value));
    assert_eq!(
        solve("errors<1%", &HOCKEY_STICK).status,
        CapacityStatus::NotReached
    );
}

#[test]
fn a_rate_that_is_not_carried_keeps_no_goal_and_says_why() {
    let mut backlog = trial_at(100.0, 1000, 0.5, 1000.0);
    backlog.work.completed /= 2;
    let trials = [trial_at(50.0, 500, 0.5, 1000.0), backlog];
    let behind = Some(MissedBy::FellBehind {
        offered_rps: 1000.0,
        achieved_rps: 500.0,
    });
    for (goal, why) in [
        ("cpu<90%", behind),
        ("errors<1%", behind),
        ("p99<10000s", behind),
        ("p99<500us", None),
    ] {
        let found = of_trials(goal, &trials);
        assert_eq!(found.missed_by, why, "{goal}");
        if why.is_some() {
            assert_eq!(found.status, CapacityStatus::Found, "{goal}");
            assert_eq!(found.rate_rps.unwrap().value, 500.0, "{goal}");
        }
        let lowest = of_trials(goal, &trials[1..]);
        assert_eq!(lowest.missed_by, why, "{goal} at the lowest load");
    }
}

#[test]
fn a_longer_trial_with_too_few_requests_does_not_confirm() {
    let bound = Bound::of(&"p99<5ms".parse().unwrap(), 5e-3);
    let of = |requests: u64, slow: u64| {
        let mut trial = mixed(50.0, 500, 0.0);
        trial.work.latency.clear();
        let times = [(1, requests - slow), (10, slow)];
        for (ms, times) in times {
            let latency = &mut trial.work.latency;
            latency.record_many(Duration::from_millis(ms), times);
        }
        bound.is_kept(&plan(), &trial)
    };
    for (requests, slow, expected) in [
        (299, 0, Some(true)),
        (298, 0, None),
        (100, 1, None),
        (100, 10, Some(false)),
        (1000, 11, Some(false)),
    ] {
        assert_eq!(of(requests, slow), expected, "{slow} of {requests}");
    }
}

#[test]
fn too_few_requests_for_a_percentile_say_how_many_it_takes() {
    let few = [mixed(50.0, 500, 0.0)];
    let found = of_trials("p99.99<5ms", &few);
    assert_eq!(found.status, CapacityStatus::Undecided);
    let note = found.note.unwrap().to_string();
    assert!(note.contains("29,956") || note.contains("29956"), "{note}");
}

#[test]
fn overload_does_not_show_that_a_percentile_is_kept_below() {
    let mut overload = mixed(100.0, 1000, 0.5);
    overload.work.completed /= 2;
    let rare = |goal| of_trials(goal, &[mixed(50.0, 500, 0.0), overload.clone()]);
    let found = rare("p99.999999<5ms");
    assert_eq!(
        (found.status, found.rate_rps),
        (CapacityStatus::Undecided, None)
    );
    let note = found.note.unwrap().to_string();
    assert!(note.contains("3.00e8 independent requests"), "{note}");
    assert_eq!(rare("p99.9<5ms").rate_rps, Some(Estimate::alone(500.0)));
}

#[test]
fn a_percentile_is_kept_up_to_the_highest_load_with_enough_requests() {
    // p99.9 takes 2,995.
    let mut short = mixed(80.0, 800, 0.0);
    short.work.latency.clear();
    short
        .work
        .latency
        .record_many(Duration::from_millis(1), 2000);
    let long = mixed(50.0, 500, 0.0);
    let found = of_trials("p99.9<5ms", &[long, short.clone()]);
    assert_eq!(found.status, CapacityStatus::NotReached);
    assert_eq!(found.rate_rps.unwrap().low, Some(500.0));
    let expected = CapacityNote::TooFewRequestsAbove {
        needed: 2995.0,
        most: 2000.0,
    };
    assert_eq!(found.note, Some(expected));
    let broken = mixed(90.0, 900, 0.5);
    let found = of_trials("p99.9<5ms", &[short, broken]);
    assert_eq!(
        (found.status, found.rate_rps),
        (CapacityStatus::Undecided, None)
    );
    let expected = CapacityNote::TooFewRequestsAtLoad {
        needed: 2995.0,
        most: 2000.0,
    };
    assert_eq!(found.note, Some(expected));
}

#[test]
fn thresholds_need_the_end_of_every_goal() {
    let mut plan = plan();
    plan.calibration.rated = plimsoll_model::Rate::per_second(1000.0);
    let mut overload = mixed(100.0, 1000, 0.0);
    overload.work.completed /= 2;
    let trials = [mixed(50.0, 500, 0.0), mixed(80.0, 800, 0.0), overload];
    let of = |goal: &str, trials: &[Trial]| {
        let mut plan = plan.clone();
        plan.goals = vec![goal.parse().unwrap()];
        crate::findings(&plan, trials).thresholds_of_rps
    };
    assert!(of("p99.9<5ms", &trials).is_some());
    // At the higher load too few requests show the goal.
    let mut short = trials.clone();
    short[1].work.latency.clear();
    short[1]
        .work
        .latency
        .record_many(Duration::from_millis(1), 2000);
    assert_eq!(of("p99.9<5ms", &short), None);
}

#[test]
fn without_light_load_the_published_rule_is_undecided() {
    let found = solve("p99<2x", &[]);
    assert_eq!(found.status, CapacityStatus::Undecided);
    assert!(found.note.is_some());
}

#[test]
fn light_load_needs_low_load_besides_low_cpu_use() {
    let idle = [(10.0, 100, 0.01, 1000.0), (100.0, 1000, 0.04, 90_000.0)];
    let found = solve("p99<2x", &idle);
    assert!((found.limit_us.unwrap() / 2000.0 - 1.0).abs() < 2e-3);
    assert_eq!(found.status, CapacityStatus::Found);
}

#[test]
fn a_search_and_the_findings_use_the_same_limit() {
    let mut plan = plan();
    plan.goals = vec!["p99<2x".parse().unwrap()];
    plan.levels = [10.0, 50.0, 90.0]
        .into_iter()
        .filter_map(plimsoll_model::LoadLevel::percent)
        .collect();
    let mut disturbed = trial_at(10.0, 100, 0.1, 9000.0);
    disturbed.verdict = plimsoll_model::Verdict::Invalid(vec![]);
    let trials = [
        disturbed,
        trial_at(50.0, 500, 0.5, 1000.0),
        trial_at(90.0, 900, 0.9, 5000.0),
    ];
    let searched = Asked::of(&plan, &trials).bounds().next().flatten();
    let table = crate::levels::levels(&plan, &trials, None);
    let concluded = Asked::at(&plan, light::light_load(&plan, &table, &trials, None));
    assert_eq!(searched, concluded.bounds().next().flatten());
    assert!(searched.is_some());
}

#[test]
fn a_load_kept_in_half_of_its_trials_is_not_kept() {
    let trials = [
        mixed(50.0, 500, 0.0),
        mixed(90.0, 900, 0.0),
        mixed(90.0, 900, 0.5),
    ];
    let found = of_trials("p99<5ms", &trials);
    assert_eq!(found.status, CapacityStatus::Found, "{found:?}");
    assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)));
    let note = found.note.unwrap().to_string();
    assert!(note.contains("1 of 2 times at 900/s"), "{note}");
}

#[test]
fn where_trials_disagree_the_next_lower_load_is_the_capacity() {
    let trials = [
        mixed(50.0, 500, 0.0),
        mixed(80.0, 800, 0.0),
        mixed(80.0, 800, 0.5),
        mixed(90.0, 900, 0.0),
        mixed(90.0, 900, 0.5),
        mixed(90.0, 900, 0.5),
    ];
    let found = of_trials("p99<5ms", &trials);
    assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)), "{found:?}");
    let note = found.note.unwrap().to_string();
    assert!(
        note.contains("at 500/s and 1 of 2 times at 800/s"),
        "{note}"
    );
    // Where no load is kept clearly there is nothing to build on.
    let found = of_trials("p99<5ms", &trials[1..]);
    assert_eq!(found.rate_rps, None, "{found:?}");
}

#[test]
fn a_relative_limit_needs_enough_requests_at_light_load() {
    let trials = [
        trial_at(10.0, 100, 0.1, 1000.0),
        trial_at(50.0, 500, 0.5, 1000.0),
        trial_at(90.0, 900, 0.9, 5000.0),
    ];
    assert_eq!(of_trials("p99<2x", &trials).status, CapacityStatus::Found);
    let found = of_trials("p99.9<2x", &trials);
    assert_eq!(found.status, CapacityStatus::Undecided);
    let note = found.note.unwrap().to_string();
    assert!(note.contains("2995 requests"), "{note}");
}

#[test]
fn a_goal_on_cpu_use_is_read_from_the_curve() {
    let found = solve("cpu<65%", &HOCKEY_STICK);
    let cpu = found.cpu_pct.unwrap().value;
    assert!((cpu - 65.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn no_goal_is_kept_where_the_service_falls_behind() {
    let mut overload = mixed(100.0, 1000, 0.0);
    overload.work.completed /= 2;
    overload.work.unfinished = overload.work.intended / 2;
    for goal in ["cpu<100%", "p99<3s"] {
        let found = of_trials(goal, &[mixed(50.0, 500, 0.0), overload.clone()]);
        assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)), "{goal}");
        assert!(found.missed_by.is_some(), "{goal}: {found:?}");
    }
}

#[test]
fn a_cliff_carries_what_was_seen_to_meet_the_goal() {
    let mut plan = plan();
    plan.goals = vec!["p99<5ms".parse().unwrap()];
    plan.search = Some(plimsoll_model::SearchPlan {
        precision: plimsoll_model::Share::new(0.05).unwrap(),
        window: Duration::from_secs(3),
        budget: Duration::from_secs(60),
        confirm: Duration::ZERO,
    });
    let trials: Vec<Trial> = [(500, 0.0), (600, 0.0), (650, 0.9), (700, 0.9)]
        .map(|(rate, slow)| mixed(rate as f64 / 10.0, rate, slow))
        .into();
    let found = crate::findings(&plan, &trials).capacity.remove(0);
    assert_eq!(found.status, CapacityStatus::Cliff, "{found:?}");
    let rate = found.rate_rps.unwrap();
    assert_eq!((rate.value, rate.interval()), (600.0, Some((600.0, 650.0))));
    // Not where a third of the trials beyond it met the goal, as with a token bucket.
    let side = |rate, kept, of| Side {
        rate,
        kept,
        of,
        seconds: 1000.0,
    };
    for (met_beyond, status) in [
        (side(650.0, 0, 3), CapacityStatus::Cliff),
        (side(650.0, 1, 4), CapacityStatus::Cliff),
        (side(650.0, 1, 3), CapacityStatus::Undecided),
        (side(900.0, 1, 3), CapacityStatus::Found),
    ] {
        let low = side(600.0, 2, 2);
        let gap = Boundary::Gap {
            low,
            high: met_beyond,
        };
        assert_eq!(super::status(gap, &plan).0, status, "{met_beyond:?}");
    }
}

#[test]
fn a_loose_goal_is_not_shown_at_saturation() {
    let overload = crate::testing::calibration_trial(2000.0, 1000);
    let level = |rate: u64| mixed(rate as f64 / 10.0, rate, 0.0);
    let of = |rates: &[u64]| {
        let levels = rates.iter().map(|rate| level(*rate));
        let trials: Vec<Trial> = std::iter::once(overload.clone()).chain(levels).collect();
        of_trials("p99<1s", &trials)
    };
    let found = of(&[500, 800, 1000]);
    assert_eq!(found.status, CapacityStatus::NotReached);
    assert_eq!(found.rate_rps.unwrap().value, 800.0);
    let saturated = CapacityNote::Saturated {
        saturation_rps: 1000.0,
    };
    assert_eq!(found.note, Some(saturated));
    let below = of(&[500, 800]);
    assert_eq!((below.rate_rps.unwrap().value, below.note), (800.0, None));
}

#[test]
fn a_pause_is_weighed_wherever_a_rate_is_stated() {
    let paused = |load: f64, rate: u64| mixed(load, rate, 0.4);
    let level = |rate: u64| mixed(rate as f64 / 10.0, rate, 0.0);
    let overload = crate::testing::calibration_trial(2000.0, 1000);
    // A lower bound below saturation: 1 of 13 trials, 3 % of the requests.
    let mut saturated = vec![overload, level(1000), paused(50.0, 500)];
    saturated.extend(std::iter::repeat_n(level(500), 12));
    let found = of_trials("p99<5ms", &saturated);
    let missed = |found: &CapacityFinding| match found.note {
        Some(CapacityNote::MissedOverall { seen, .. }) => (seen.missed, seen.of),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(missed(&found), (1, 13), "{found:?}");
    assert_eq!(
        (found.status, found.rate_rps),
        (CapacityStatus::Undecided, None)
    );
    // A lower bound by too few requests above: the pause is a doubt beside it.
    let mut few = level(900);
    few.work.latency.clear();
    few.work.latency.record_many(Duration::from_millis(1), 10);
    let mut trials = vec![few, paused(50.0, 500)];
    trials.extend(std::iter::repeat_n(level(500), 80));
    let found = of_trials("p99<5ms", &trials);
    assert_eq!(found.rate_rps.unwrap().value, 500.0);
    assert_eq!(missed(&found), (1, 81), "{found:?}");
}

#[test]
fn a_request_without_an_answer_has_failed() {
    let mut silent = mixed(80.0, 800, 0.0);
    silent.work.unfinished = silent.work.intended / 4;
    let found = of_trials("errors<1%", &[mixed(50.0, 500, 0.0), silent]);
    assert_eq!(found.rate_rps, Some(Estimate::alone(500.0)), "{found:?}");
}

#[test]
fn loads_that_few_requests_do_not_distinguish_have_no_cliff_between_them() {
    let mut plan = plan();
    plan.search = Some(plimsoll_model::SearchPlan {
        precision: plimsoll_model::Share::new(0.05).unwrap(),
        window: Duration::from_secs(3),
        budget: Duration::from_secs(60),
        confirm: Duration::ZERO,
    });
    let side = |rate, kept, seconds| Side {
        rate,
        kept,
        of: 2,
        seconds,
    };
    let of = |plan: &Plan, seconds| {
        let (low, high) = (side(50.0, 2, seconds), side(50.6, 0, seconds));
        super::status(Boundary::Gap { low, high }, plan)
    };
    // 150 requests: 50/s may have been 41.8 to 58.2.
    let (status, rate) = of(&plan, 3.0);
    assert_eq!(status, CapacityStatus::Found);
    let (low, high) = rate.unwrap().interval().unwrap();
    assert!(
        (low - 41.8).abs() < 0.1 && (high - 58.8).abs() < 0.1,
        "{low} {high}"
    );
    assert_eq!(of(&plan, 3e6).0, CapacityStatus::Cliff);
    plan.arrivals = plimsoll_model::Arrivals::Constant;
    assert_eq!(of(&plan, 3.0).0, CapacityStatus::Cliff);
}
