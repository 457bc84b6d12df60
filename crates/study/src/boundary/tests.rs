use super::*;
use crate::evidence::Seen;
use proptest::prelude::*;

const P99: f64 = 0.01;

fn counted(rate: f64, share: f64) -> Evidence {
    Evidence {
        rate,
        seconds: 1.0,
        carried: true,
        seen: Seen::Counted {
            over: (share * 10_000.0).round(),
            of: 10_000.0,
            thinning: 1.0,
            independent: 10_000.0,
        },
    }
}

/// The share grows e-fold per 5 % of load; 1 % at a rate of 1000.
fn truth(rate: f64) -> f64 {
    let odds = (P99 / (1.0 - P99)).ln() + 20.0 * (rate / 1000.0).ln();
    1.0 / (1.0 + (-odds).exp())
}

fn line(trials: &[Evidence], share: f64) -> Estimate {
    match locate(trials, share, Interval::Seeded(1)) {
        Some(Boundary::Line { rate, .. }) => rate,
        other => panic!("no line: {other:?}"),
    }
}

fn at(rates: &[f64]) -> Vec<Evidence> {
    rates.iter().map(|r| counted(*r, truth(*r))).collect()
}

#[test]
fn the_boundary_lies_where_the_share_crosses_the_goal() {
    let trials = at(&[500.0, 900.0, 950.0, 980.0, 1030.0, 1060.0, 1100.0]);
    let rate = line(&trials, P99);
    assert!((rate.value / 1000.0 - 1.0).abs() < 2e-3, "{rate:?}");
    let (low, high) = rate.interval().unwrap();
    assert!(low <= 1000.0 && 1000.0 <= high);
}

#[test]
fn a_gross_disturbance_at_low_load_does_not_move_it() {
    let mut trials = at(&[300.0, 500.0, 900.0, 950.0, 980.0, 1030.0, 1060.0, 1100.0]);
    trials.push(counted(500.0, 0.7));
    let rate = line(&trials, P99);
    assert!((rate.value / 1000.0 - 1.0).abs() < 2e-3, "{rate:?}");
}

#[test]
fn a_jump_between_two_loads_is_a_gap() {
    let trials = [
        counted(900.0, 0.0),
        counted(950.0, 0.0),
        counted(1000.0, 0.9),
    ];
    let side = |rate, kept| Side {
        rate,
        kept,
        of: 1,
        seconds: 1.0,
    };
    assert_eq!(
        locate(&trials, P99, Interval::None),
        Some(Boundary::Gap {
            low: side(950.0, 1),
            high: side(1000.0, 0)
        })
    );
}

#[test]
fn later_trials_open_a_load_again() {
    let mut trials = vec![
        counted(900.0, 0.0),
        counted(1000.0, 0.5),
        counted(1100.0, 0.5),
    ];
    assert!(matches!(
        locate(&trials, P99, Interval::None),
        Some(Boundary::Gap { high, .. }) if high.rate == 1000.0
    ));
    trials.extend([counted(1000.0, 0.0), counted(1000.0, 0.0)]);
    // But of three trials there one missed it, so it is no cliff above that load.
    let rate = line(&trials, P99);
    assert!((900.0..1000.0).contains(&rate.value), "{rate:?}");
}

#[test]
fn no_line_is_drawn_over_loads_far_apart_or_crosses_where_nothing_was_tried() {
    let far_apart = at(&[100.0, 500.0, 1600.0]);
    assert!(matches!(
        locate(&far_apart, P99, Interval::Seeded(1)),
        Some(Boundary::Gap { low, high }) if (low.rate, high.rate) == (500.0, 1600.0)
    ));
    // Overload in which trials at the same load disagree.
    let trials = [
        counted(900.0, 0.001),
        counted(1000.0, 0.001),
        counted(1000.0, 0.6),
        counted(1100.0, 0.001),
        counted(1100.0, 0.6),
    ];
    match locate(&trials, P99, Interval::Seeded(1)) {
        Some(Boundary::Line { rate, .. }) => assert!(rate.value <= 1100.0, "{rate:?}"),
        other => assert!(matches!(other, Some(Boundary::Gap { .. })), "{other:?}"),
    }
}

#[test]
fn all_kept_and_none_kept_are_no_boundary() {
    let kept = [counted(500.0, 0.0), counted(900.0, 0.001)];
    assert_eq!(
        locate(&kept, P99, Interval::None),
        Some(Boundary::Above(900.0))
    );
    let broken = [counted(500.0, 0.5), counted(900.0, 0.6)];
    assert_eq!(
        locate(&broken, P99, Interval::None),
        Some(Boundary::Below(500.0))
    );
    assert_eq!(locate(&[], P99, Interval::None), None);
}

#[test]
fn a_measured_share_is_solved_by_a_straight_line() {
    let trials = [600.0, 700.0, 800.0, 900.0, 1000.0].map(|rate| Evidence {
        rate,
        seconds: 1.0,
        carried: true,
        seen: Seen::Measured(rate / 1000.0),
    });
    let rate = line(&trials, 0.8);
    assert!((rate.value / 800.0 - 1.0).abs() < 0.01, "{rate:?}");
}

proptest! {
    #[test]
    fn order_and_scale_do_not_matter(
        mut rates in prop::collection::vec(500.0..1500.0f64, 3..20),
        scale in 0.1..1000.0f64,
    ) {
        let one = locate(&at(&rates), P99, Interval::None);
        rates.reverse();
        let scaled: Vec<Evidence> = at(&rates)
            .into_iter()
            .map(|e| Evidence { rate: e.rate * scale, ..e })
            .collect();
        let other = locate(&scaled, P99, Interval::None);
        match (one, other) {
            (Some(Boundary::Line { rate: a, .. }), Some(Boundary::Line { rate: b, .. })) => {
                prop_assert!((a.value * scale / b.value - 1.0).abs() < 1e-6);
            }
            (Some(a), Some(b)) => {
                prop_assert_eq!(std::mem::discriminant(&a), std::mem::discriminant(&b));
            }
            (a, b) => prop_assert!(a.is_none() && b.is_none()),
        }
    }
}

#[test]
fn rare_bursts_leave_more_room_below_than_above() {
    let rates = (0..40u32).map(|nth| (nth, 880.0 + 30.0 * f64::from(nth % 10)));
    let trials: Vec<Evidence> = rates
        .map(|(nth, rate)| counted(rate, if nth % 3 == 0 { 2.4 } else { 0.3 } * truth(rate)))
        .collect();
    let found = line(&trials, P99);
    let (low, high) = found.interval().unwrap();
    let (below, above) = ((found.value / low).ln(), (high / found.value).ln());
    assert!(below > 1.05 * above, "{below} {above}");
    // Without bursts there is as much room on both sides.
    let found = line(&at(&[900.0, 950.0, 980.0, 1030.0, 1060.0, 1100.0]), P99);
    let (low, high) = found.interval().unwrap();
    let (below, above) = ((found.value / low).ln(), (high / found.value).ln());
    assert!(below < 1.2 * above, "{below} {above}");
}
