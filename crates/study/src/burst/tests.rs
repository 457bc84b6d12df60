use super::*;
use crate::seeded::Rng;
use crate::testing::normal;

/// Steps of 50 ms: so long at so many percent, then at others.
fn line(levels: &[(f64, f64)]) -> Vec<Step> {
    let ends: Vec<(f64, f64)> = levels
        .iter()
        .scan(0.0, |at, (length, pct)| {
            *at += length;
            Some((*at, *pct))
        })
        .collect();
    let until = ends.last().unwrap().0;
    // CPU time by then.
    let used = |t: f64| {
        let mut from = 0.0;
        ends.iter().fold(0.0, |sum, (end, pct)| {
            let part = (t.min(*end) - from).max(0.0);
            from = *end;
            sum + part * pct
        })
    };
    let step = |n: u32| {
        let (from_s, to_s) = (f64::from(n) * 0.05, f64::from(n + 1) * 0.05);
        let cpu_pct = (used(to_s) - used(from_s)) / 0.05;
        Step {
            from_s,
            to_s,
            cpu_pct,
        }
    };
    (0..(until / 0.05).round() as u32).map(step).collect()
}

fn at(found: Option<Quiet>) -> f64 {
    match found {
        Some(Quiet::From(at)) => at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_drop_is_found_within_its_step() {
    for hot in [0.11, 0.3, 0.52, 0.777, 2.0] {
        let line = line(&[(hot, 80.0), (4.0 - hot, 3.0)]);
        let found = at(quiet(&line, Some(85.0), Some(3.0)));
        assert!((found - hot).abs() < 0.005, "{hot}: {found}");
    }
}

#[test]
fn the_last_of_several_drops_counts() {
    let line = line(&[(0.5, 90.0), (0.7, 40.0), (2.8, 0.5)]);
    let found = at(quiet(&line, Some(95.0), Some(0.5)));
    assert!((found - 1.2).abs() < 0.01, "{found}");
}

#[test]
fn who_is_quiet_at_once_is_so_from_the_first_step() {
    assert_eq!(
        quiet(&line(&[(2.0, 0.3)]), Some(12.0), Some(0.3)),
        Some(Quiet::From(0.0))
    );
    // It wakes up for nothing, but always did, and works more in bursts.
    assert_eq!(
        quiet(&line(&[(2.0, 20.0)]), Some(60.0), Some(20.0)),
        Some(Quiet::From(0.0))
    );
    assert_eq!(quiet(&[], Some(12.0), None), None);
}

#[test]
fn who_polls_on_is_never_quiet() {
    let always = line(&[(2.0, 100.0)]);
    assert_eq!(quiet(&always, Some(100.0), Some(100.0)), Some(Quiet::Never));
    // Idle before any load, and never again.
    assert_eq!(
        quiet(&line(&[(2.0, 30.0)]), Some(60.0), Some(0.1)),
        Some(Quiet::Never)
    );
    let a_little = line(&[(1.0, 60.0), (1.0, 30.0)]);
    assert_eq!(quiet(&a_little, Some(60.0), Some(0.1)), Some(Quiet::Never));
}

#[test]
fn who_polls_beside_other_load_is_never_quiet() {
    // Its share of the CPU changes with what else runs.
    let starved = line(&[(0.2, 62.0), (1.8, 40.0)]);
    let found = quiet(&starved, Some(43.5), Some(98.0));
    assert_eq!(found, Some(Quiet::Never));
    let rests = line(&[(0.2, 62.0), (1.8, 25.0)]);
    assert!(matches!(
        quiet(&rests, Some(43.5), Some(98.0)),
        Some(Quiet::From(_))
    ));
}

#[test]
fn a_blip_is_no_drop() {
    let mut blip = line(&[(1.0, 60.0), (3.0, 1.0)]);
    blip[50].cpu_pct = 45.0;
    let found = at(quiet(&blip, Some(70.0), Some(1.0)));
    assert!((found - 1.0).abs() < 0.06, "{found}");
}

#[test]
fn noise_alone_has_no_drop() {
    let mut rng = Rng::seeded(5);
    let mut wrong = 0;
    for _ in 0..300 {
        let noise = line(&[(4.0, 10.0)]).into_iter().map(|step| Step {
            cpu_pct: step.cpu_pct + 2.0 * normal(&mut rng),
            ..step
        });
        let noise: Vec<Step> = noise.collect();
        wrong += u32::from(last_drop(&noise).is_some());
    }
    assert!(wrong <= 9, "{wrong} of 300");
}

#[test]
fn a_median_of_few_has_no_interval() {
    let of = |n: u32| median(&(1..=n).map(f64::from).collect::<Vec<_>>());
    assert_eq!(of(0), None);
    assert_eq!(of(5), Some(Estimate::alone(3.0)));
    assert_eq!(of(6), Some(Estimate::within(3.5, 1.0, 6.0)));
    // Published tables of the sign test: 2 of 9 and 6 of 20 at 95 %.
    assert_eq!(of(9), Some(Estimate::within(5.0, 2.0, 8.0)));
    assert_eq!(of(20), Some(Estimate::within(10.5, 6.0, 15.0)));
}

#[test]
fn what_failed_is_slower_than_any_in_a_median() {
    const FAILED: f64 = f64::INFINITY;
    assert_eq!(median(&[FAILED, FAILED, FAILED, 3.0, 1.0, 2.0]), None);
    let most = median(&[FAILED, 4.0, FAILED, 3.0, 1.0, 2.0]);
    assert_eq!(most, Some(Estimate::alone(3.5)));
    let few = median(&[FAILED, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(few, Some(Estimate::within(5.0, 2.0, 8.0)));
}

#[test]
fn slow_requests_after_a_break_are_counted() {
    let of = |us: &[f64]| {
        let latencies: Vec<Option<f64>> = us.iter().map(|us| Some(*us)).collect();
        fast_after(&latencies, 10.0)
    };
    assert_eq!(of(&[5.0; 6]), Some(0));
    assert_eq!(of(&[50.0, 20.0, 5.0, 5.0, 12.0, 5.0, 5.0]), Some(2));
    assert_eq!(of(&[50.0; 20]), None);
    assert_eq!(of(&[5.0; 3]), None, "too few");
    let mut failed = vec![None];
    failed.extend([Some(5.0); 5]);
    assert_eq!(fast_after(&failed, 10.0), Some(1));
}

#[test]
fn a_time_is_not_known_better_than_its_step() {
    let exact = mean_time(&[20.0, 20.0, 20.0], 50.0).unwrap();
    assert_eq!(exact, Estimate::within(20.0, 0.0, 70.0));
    assert_eq!(mean_time(&[20.0], 50.0), Some(Estimate::alone(20.0)));
}
