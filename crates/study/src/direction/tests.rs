use super::*;
use crate::seeded::Rng;
use crate::testing::{normal, shuffle};
use proptest::prelude::*;

const FIRST: Visit = Visit {
    at: 0,
    level: 1,
    intended_rps: 1.0,
    p99_us: None,
    restart: 0,
};

/// A service whose p99 is higher by known factors.
struct Service {
    /// On the way down.
    down: f64,
    /// Standard deviation between starts, of the logarithm.
    between: f64,
    /// Standard deviation between trials, of the logarithm.
    within: f64,
}

impl Service {
    fn of(down: f64, between: f64, within: f64) -> Service {
        Service {
            down,
            between,
            within,
        }
    }

    /// Ten levels in a shuffled order and back, for each start.
    fn visits(&self, starts: u32, seed: u64) -> Vec<Visit> {
        let mut rng = Rng::seeded(seed);
        let mut visits: Vec<Visit> = Vec::new();
        for restart in 0..starts {
            let start = self.between * normal(&mut rng);
            let mut order: Vec<u32> = (1..=10).collect();
            shuffle(&mut order, &mut rng);
            let back: Vec<u32> = order.iter().rev().copied().collect();
            for level in order.into_iter().chain(back) {
                let before = visits.last().map_or(0.0, |v| v.intended_rps);
                let rate = f64::from(level) * 100.0;
                let down = if rate < before { self.down } else { 1.0 };
                let log = f64::from(level) * 0.2 + start + self.within * normal(&mut rng);
                visits.push(Visit {
                    at: visits.len() as u64,
                    level,
                    intended_rps: rate,
                    p99_us: Some(1000.0 * log.exp() * down),
                    restart,
                });
            }
        }
        visits
    }
}

#[test]
fn a_level_is_up_or_down_by_the_trial_before_it_in_time() {
    let visit = |at, intended_rps, restart| Visit {
        at,
        intended_rps,
        restart,
        ..FIRST
    };
    // Given out of order; the second 100 is a retry, 900 follows a restart.
    let visits = [
        visit(4, 900.0, 1),
        visit(0, 0.0, 0),
        visit(1, 100.0, 0),
        visit(2, 100.0, 0),
        visit(3, 50.0, 0),
        visit(5, 300.0, 1),
    ];
    let found: Vec<(u64, Direction)> = directed(&visits).iter().map(|(v, d)| (v.at, *d)).collect();
    let expected = [
        (1, Direction::Up),
        (3, Direction::Down),
        (5, Direction::Down),
    ];
    assert_eq!(found, expected);
}

#[test]
fn hysteresis_is_found_and_not_claimed_without() {
    let verdicts = |down: f64| {
        let of = |seed| {
            let service = Service::of(down, 0.0, 0.05);
            up_against_down(&service.visits(4, seed), seed).verdict
        };
        (0..100).map(of).collect::<Vec<DirectionVerdict>>()
    };
    let count = |found: &[DirectionVerdict], what| found.iter().filter(|v| **v == what).count();
    let different = verdicts(1.3);
    assert!(count(&different, DirectionVerdict::Different) >= 95);
    let same = verdicts(1.0);
    assert!(count(&same, DirectionVerdict::NoDifferenceSeen) >= 85);
    assert!(count(&same, DirectionVerdict::Different) <= 5);
}

#[test]
fn intervals_hold_the_true_ratio_as_often_as_stated() {
    let covers = |seed: &u64| {
        let service = Service::of(1.2, 0.0, 0.1);
        let found = up_against_down(&service.visits(4, *seed), *seed);
        found.down_over_up_ratio.unwrap().holds(1.2)
    };
    let hits = (0..200).filter(covers).count();
    assert!(hits >= 180, "{hits} of 200");
}

#[test]
fn noise_and_levels_reached_one_way_allow_no_verdict() {
    let noisy = Service::of(1.0, 0.0, 1.0);
    let found = up_against_down(&noisy.visits(1, 3), 3);
    assert_eq!(found.verdict, DirectionVerdict::Inconclusive, "{found:?}");
    let mut rising = noisy.visits(1, 3);
    rising.sort_by_key(|v| v.level);
    (0..).zip(&mut rising).for_each(|(at, visit)| visit.at = at);
    let found = up_against_down(&rising, 3);
    assert_eq!(
        (found.verdict, found.down_over_up_ratio),
        (DirectionVerdict::Inconclusive, None)
    );
}

#[test]
fn an_invalid_trial_still_decides_the_next_direction() {
    let visit = |at, level, intended_rps, p99_us| Visit {
        at,
        level,
        intended_rps,
        p99_us,
        ..FIRST
    };
    let visits = [
        visit(0, 1, 100.0, Some(10.0)),
        visit(1, 9, 900.0, None),
        visit(2, 5, 500.0, Some(30.0)),
        visit(3, 1, 100.0, Some(10.0)),
        visit(4, 5, 500.0, Some(20.0)),
    ];
    let found = up_against_down(&visits, 1);
    assert_eq!(
        found.levels.len(),
        1,
        "level 1 was never reached from below"
    );
    assert!((found.levels[0].value - 1.5).abs() < 1e-9);
    assert_eq!(found.levels[0].interval(), None);
}

#[test]
fn the_share_of_restarts_is_within_its_interval_as_often_as_stated() {
    for (between, within) in [(0.0, 0.1), (0.1, 0.1), (0.2, 0.05)] {
        let service = Service::of(1.0, between, within);
        let truth = between * between / (between * between + within * within);
        let covers = |seed: &u64| {
            let found = restarts(&service.visits(5, *seed)).unwrap();
            found.between_share.holds(truth)
        };
        let hits = (0..200).filter(covers).count();
        assert!((180..=200).contains(&hits), "{hits} of 200 for {truth}");
    }
}

#[test]
fn restarts_that_matter_differ_from_noise() {
    let found = |between| {
        let service = Service::of(1.0, between, 0.05);
        restarts(&service.visits(40, 9)).unwrap()
    };
    let much = found(0.2);
    assert!((much.between_pct - 22.1).abs() < 5.0, "{much:?}");
    assert!((much.within_pct - 5.1).abs() < 0.5, "{much:?}");
    assert!(much.between_share.low.unwrap() > 0.85, "{much:?}");
    let none = found(0.0);
    assert!(none.between_share.high.unwrap() < 0.1, "{none:?}");
}

#[test]
fn two_starts_or_no_repetition_give_no_restart_finding() {
    let service = Service::of(1.0, 0.1, 0.1);
    assert_eq!(restarts(&service.visits(2, 1)), None);
    assert_eq!(restarts(&[]), None);
    let p99_us = Some(5.0);
    let once = [0, 1, 2, 3, 4].map(|restart| Visit {
        at: restart.into(),
        p99_us,
        restart,
        ..FIRST
    });
    assert_eq!(restarts(&once), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn neither_the_order_given_nor_the_unit_of_latency_matters(seed in 0u64..1000, factor in 0.01..100.0f64) {
        let service = Service::of(1.1, 0.1, 0.1);
        let visits = service.visits(3, seed);
        let mut backwards = visits.clone();
        backwards.reverse();
        prop_assert_eq!(up_against_down(&backwards, 1), up_against_down(&visits, 1));
        prop_assert_eq!(restarts(&backwards), restarts(&visits));
        let scaled: Vec<Visit> = visits
            .iter()
            .map(|v| Visit { p99_us: v.p99_us.map(|p| p * factor), ..*v })
            .collect();
        let near = |a: Estimate, b: Estimate| (a.value - b.value).abs() < 1e-6 * b.value.abs().max(1.0);
        let (once, again) = (up_against_down(&visits, 1), up_against_down(&scaled, 1));
        prop_assert!(near(again.down_over_up_ratio.unwrap(), once.down_over_up_ratio.unwrap()));
        let (once, again) = (restarts(&visits).unwrap(), restarts(&scaled).unwrap());
        prop_assert!(near(again.between_share, once.between_share));
    }
}
