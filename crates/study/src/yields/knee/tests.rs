//! Curves whose knee is known.

use super::*;
use crate::seeded::Rng;

const HEADROOMS: [f64; 8] = [0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0];

/// The logarithm of the change at a headroom.
type Truth = fn(f64) -> f64;

/// Flat down to 15 %, and 1.6 times as long without any.
fn at_15(headroom: f64) -> f64 {
    0.02 + (15.0 - headroom).max(0.0) / 15.0 * 0.47
}

fn flat(_: f64) -> f64 {
    0.03
}

fn measured(truth: Truth, passes: u32, noise: f64, seed: u64) -> Vec<AtHeadroom> {
    let mut rng = Rng::seeded(seed);
    let mut off = move || (2.0 * rng.unit() - 1.0) * noise;
    let alone: Vec<f64> = (0..passes).map(|_| off()).collect();
    let at = |headroom_pct: &f64| AtHeadroom {
        headroom_pct: *headroom_pct,
        change: (0..passes)
            .zip(&alone)
            .map(|(pass, alone)| (pass, truth(*headroom_pct) + off() - alone))
            .collect(),
    };
    HEADROOMS.iter().map(at).collect()
}

/// How far two equal measurements of so many passes differ, at most: that is
/// what a yield run states.
fn floor(passes: u32, noise: f64, seed: u64) -> Option<f64> {
    let again = measured(|_| 0.0, passes, noise, seed ^ 0xA5A5);
    let changes: Vec<f64> = again[0].change.values().copied().collect();
    let mean = crate::student::mean(&changes)?;
    let (low, high) = mean.interval()?;
    Some((low.abs().max(high.abs()).exp() - 1.0) * 100.0)
}

fn found(truth: Truth, passes: u32, noise: f64, seed: u64) -> Knee {
    let points = measured(truth, passes, noise, seed);
    knee(&points, floor(passes, noise, seed), seed)
}

#[test]
fn without_noise_the_join_is_exact_at_points_and_between() {
    for at in [5.0, 8.0, 15.0, 23.0, 40.0, 50.0] {
        let point = |h: &f64| (*h, (at - h).max(0.0) * 0.03 + 0.1, 1.0);
        let points: Vec<Point> = HEADROOMS.iter().map(point).collect();
        let (low, high) = join(&points).unwrap();
        let truth = if at <= 5.0 { (0.0, 5.0) } else { (at, at) };
        assert!(
            (low - truth.0).abs() < 1e-6 && (high - truth.1).abs() < 1e-6,
            "{at}: {low} {high}"
        );
    }
    let level: Vec<Point> = HEADROOMS.iter().map(|h| (*h, 0.1, 1.0)).collect();
    assert_eq!(join(&level), Some((0.0, 0.0)), "nothing rises");
}

#[test]
fn a_rise_at_the_least_headroom_alone_is_somewhere_below_the_next() {
    let step: Truth = |h| if h < 1.0 { 1.0 } else { 0.0 };
    let holds = |seed: &u64| {
        let knee = found(step, 8, 0.03, *seed);
        assert_eq!(knee.status, KneeStatus::Found, "{knee:?}");
        let (low, _) = knee.headroom_pct.unwrap().interval().unwrap();
        low < 5.0
    };
    let held = (0..50).filter(holds).count();
    assert!(held >= 45, "{held} of 50");
}

#[test]
fn the_interval_of_a_known_knee_holds_it() {
    for passes in [6, 8] {
        let knees: Vec<Knee> = (0..100)
            .map(|seed| found(at_15, passes, 0.05, seed))
            .collect();
        let is_found = |k: &&Knee| k.status == KneeStatus::Found;
        let holds = |k: &&Knee| k.headroom_pct.unwrap().holds(15.0);
        let known = knees.iter().filter(is_found).count();
        let held = knees.iter().filter(is_found).filter(holds).count();
        assert!(known >= 90, "{known} of 100 with {passes} passes");
        assert!(held * 100 >= known * 90, "{held} of {known}");
    }
}

#[test]
fn flat_latency_has_no_knee() {
    for noise in [0.01, 0.1, 0.3] {
        let knees = (0..100).map(|seed| found(flat, 8, noise, seed).status);
        let statuses: Vec<KneeStatus> = knees.collect();
        let count = |wanted| statuses.iter().filter(|s| **s == wanted).count();
        assert!(count(KneeStatus::None) >= 90, "{noise}: {statuses:?}");
        assert!(count(KneeStatus::Found) <= 5, "{noise}: {statuses:?}");
    }
}

#[test]
fn a_knee_hidden_by_noise_is_inconclusive() {
    let wrong = |seed: &u64| {
        let knee = found(at_15, 6, 0.6, *seed);
        knee.status == KneeStatus::Found && !knee.headroom_pct.unwrap().holds(15.0)
    };
    let wrongly: Vec<u64> = (0..100).filter(wrong).collect();
    assert!(wrongly.len() <= 5, "{wrongly:?}");
    let known = (0..100).filter(|s| found(at_15, 6, 0.6, *s).status == KneeStatus::Inconclusive);
    assert!(known.count() > 0);
}

#[test]
fn too_few_passes_or_headrooms_or_no_floor_are_inconclusive() {
    let knee_of = |passes, points: usize, floor| {
        let all = measured(at_15, passes, 0.01, 1);
        knee(&all[..points], floor, 1)
    };
    assert_eq!(knee_of(8, 8, Some(3.0)).status, KneeStatus::Found);
    let few = knee_of(4, 8, Some(3.0));
    assert_eq!(few.status, KneeStatus::Inconclusive);
    assert_eq!(few.headroom_pct.unwrap().interval(), None);
    assert_eq!(knee_of(8, 3, Some(3.0)).status, KneeStatus::Inconclusive);
    assert_eq!(knee_of(8, 8, None).status, KneeStatus::Inconclusive);
    assert_eq!(knee(&[], Some(1.0), 1).status, KneeStatus::Inconclusive);
}

#[test]
fn a_headroom_that_was_not_measured_in_a_pass_does_not_stop_it() {
    let mut points = measured(at_15, 8, 0.02, 3);
    points[2].change.remove(&4);
    points[5].change.clear();
    let knee = knee(&points, Some(3.0), 3);
    assert_eq!(knee.status, KneeStatus::Found);
    assert!((knee.headroom_pct.unwrap().value - 15.0).abs() < 4.0);
}
