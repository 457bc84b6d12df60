//! One service measured twice (A/A), and one that changed between.

use super::{Conditions, UNDISTURBED, plan_of, swept, us};
use crate::selftest::services::SERVICES;
use crate::selftest::{KnownService, SelftestPlanner, place, repeat, truth};
use crate::sweep::Effort;
use plimsoll_engine::order::derive;
use plimsoll_load::known::Discipline;
use plimsoll_model::{
    DifferenceVerdict, NoIntervalCode, RunToRunFrom, SelftestRepeat, SelftestVerdict,
};

/// Of the same name and plan, at 80 % of the speed.
static SLOWER: KnownService = KnownService {
    discipline: |_| Discipline::Servers {
        each: us(500),
        servers: 1,
    },
    ..SERVICES[SERVICES.len() - 1]
};

/// The first service, and `again` where the last is planned.
fn repeated(
    effort: Effort,
    seed: u64,
    again: &KnownService,
    conditions: Conditions,
) -> SelftestRepeat {
    let (first, last) = (&SERVICES[0], &SERVICES[SERVICES.len() - 1]);
    let measured = [(first, first), (last, again)].map(|(planned, answers)| {
        let plan = plan_of(planned, effort, derive(seed, place(planned) as u64));
        let planner = SelftestPlanner {
            service: planned,
            plan: &plan,
            effort,
        };
        let truth = truth::of(planned, &plan, Effort::Quick).unwrap();
        swept(&planner, truth, answers, conditions).0
    });
    repeat(&measured).unwrap()
}

#[test]
fn the_last_service_is_the_first_with_all_others_between() {
    let of = |service: &KnownService| format!("{:?}", (service.discipline)(7));
    let (first, last) = (&SERVICES[0], &SERVICES[SERVICES.len() - 1]);
    assert_eq!(of(first), of(last));
    assert_eq!(first.asks, last.asks);
    assert_ne!(first.name, last.name);
    assert_eq!((place(first), place(last)), (0, SERVICES.len() - 1));
}

#[test]
fn one_service_measured_twice_is_inconclusive() {
    let again = &SERVICES[SERVICES.len() - 1];
    for seed in 0..4 {
        let found = repeated(Effort::Full, seed, again, UNDISTURBED);
        let difference = &found.difference;
        assert_eq!(difference.verdict, DifferenceVerdict::Inconclusive);
        assert_eq!(found.verdict, SelftestVerdict::Recovered, "{found:?}");
        let ratio = difference.ratio.unwrap();
        assert!(ratio.holds(1.0) && ratio.interval().is_some(), "{ratio:?}");
        let run_to_run = difference.run_to_run.unwrap();
        assert_eq!(run_to_run.from, RunToRunFrom::Assumed);
        assert_eq!(
            (&*difference.against, &*difference.name),
            (SERVICES[0].name, again.name)
        );
    }
}

#[test]
fn a_service_that_is_20_pct_slower_the_second_time_is_a_miss() {
    for seed in 0..4 {
        let found = repeated(Effort::Full, seed, &SLOWER, UNDISTURBED);
        assert_eq!(
            found.difference.verdict,
            DifferenceVerdict::Worse,
            "{found:?}"
        );
        assert_eq!(found.verdict, SelftestVerdict::Missed);
    }
}

#[test]
fn without_valid_trials_nothing_is_compared() {
    let throughout = Conditions {
        invalid_every: 1,
        ..UNDISTURBED
    };
    let again = &SERVICES[SERVICES.len() - 1];
    let found = repeated(Effort::Quick, 5, again, throughout);
    assert_eq!(found.verdict, SelftestVerdict::NotMeasured, "{found:?}");
    let why = found.difference.why.unwrap();
    assert_eq!(why.code, NoIntervalCode::UnknownCapacity);
}

#[test]
#[ignore = "prints the table in docs/accuracy.md"]
#[allow(clippy::print_stdout, reason = "this is what it is for")]
fn how_often_a_difference_is_called() {
    let again = &SERVICES[SERVICES.len() - 1];
    for effort in [Effort::Quick, Effort::Full] {
        for (what, again) in [("equal", again), ("20 % slower", &SLOWER)] {
            let runs = (0..60).map(|seed| repeated(effort, seed, again, UNDISTURBED));
            let runs: Vec<SelftestRepeat> = runs.collect();
            let called = |verdict| runs.iter().filter(|r| r.verdict == verdict).count();
            let ratios = runs.iter().filter_map(|r| r.difference.ratio);
            let reach = ratios.filter_map(|r| Some(100.0 * (r.high? / r.value - 1.0)));
            let mut reach: Vec<f64> = reach.collect();
            reach.sort_by(f64::total_cmp);
            println!(
                "{effort:?} {what}: missed {}, recovered {}, too wide {}, not measured {}; upper end +{:.1} % (median)",
                called(SelftestVerdict::Missed),
                called(SelftestVerdict::Recovered),
                called(SelftestVerdict::TooWide),
                called(SelftestVerdict::NotMeasured),
                reach[reach.len() / 2],
            );
        }
    }
}
