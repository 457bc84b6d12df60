//! Scales hold what is on them, and their ticks are round.

use super::*;
use proptest::prelude::*;

#[test]
fn changes_of_a_few_and_of_thousands_of_percent_have_room_on_one_axis() {
    let scale = Scale::around_zero(-4.0, 5_000.0, 10.0);
    assert_eq!(scale.split(), Some(10.0));
    assert_eq!(
        scale.ticks(6),
        [-10.0, -5.0, 0.0, 5.0, 10.0, 100.0, 1_000.0]
    );
    let ticks = Scale::around_zero(-12.0, 300.0, 10.0).ticks(8);
    assert_eq!(
        ticks,
        [-10.0, -5.0, 0.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    );
    let far = scale.share(5.0) - scale.share(0.0);
    assert!((scale.share(10.0) - scale.share(5.0) - far).abs() < 1e-9);
    assert!(far > 0.05, "a change within the budget is seen: {far}");
    let factor = scale.share(1_000.0) - scale.share(100.0);
    assert!((scale.share(200.0) - scale.share(20.0) - factor).abs() < 1e-9);
    let near = Scale::around_zero(-4.0, 25.0, 10.0);
    assert_eq!(near.split(), None, "of one size");
}

#[test]
fn linear_ticks_are_1_2_or_5_times_a_power_of_ten() {
    let ticks = |most, about| Scale::from_zero([most], about).ticks(about);
    assert_eq!(ticks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    assert_eq!(ticks(1.0, 10)[3], 0.3);
    assert_eq!(
        ticks(2_034.0, 5),
        [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    );
    assert_eq!(ticks(0.0, 5).len(), 6, "nothing measured still has an axis");
}

#[test]
fn log_ticks_thin_out_as_decades_grow() {
    let ticks = |from, to| log_ticks((from, to), 6);
    assert_eq!(ticks(0.9, 11.0), [1.0, 2.0, 5.0, 10.0]);
    assert_eq!(ticks(1.0, 5e4), [1.0, 10.0, 100.0, 1e3, 1e4]);
    assert!(ticks(1e-9, 1e9).len() <= 9);
    assert_eq!(ticks(1.1, 2.4), [1.5, 2.0], "equal steps");
    assert_eq!(log_ticks((0.9, 420.0), 2), [1.0, 10.0, 100.0]);
    assert_eq!(ticks(900.0, 130_000.0), [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5]);
}

#[test]
fn a_log_scale_has_a_place_for_what_cannot_be_there() {
    for (least, most) in [(0.0, 5.0), (f64::NAN, f64::NAN), (5.0, 5.0), (9.0, 3.0)] {
        let scale = Scale::log([least, most]);
        for value in [0.0, -1.0, 5.0, f64::MAX] {
            assert!(
                (0.0..=1.0).contains(&scale.share(value)),
                "{least} {most} {value}"
            );
        }
    }
}

proptest! {
    #[test]
    fn more_is_further_on_both_sides_of_zero(
        mut values in prop::collection::vec(-100.0..1e6f64, 2..9),
        matters in 0.1..100.0f64,
    ) {
        values.sort_by(f64::total_cmp);
        let (least, most) = (values[0], values[values.len() - 1]);
        let scale = Scale::around_zero(least, most, matters);
        let places: Vec<f64> = values.iter().map(|v| scale.share(*v)).collect();
        prop_assert!(places.is_sorted(), "{places:?}");
        prop_assert!(values.iter().all(|v| scale.holds(*v)), "{scale:?}");
        let ticks = scale.ticks(8);
        prop_assert!((3..=20).contains(&ticks.len()), "{ticks:?}");
        prop_assert!(ticks.is_sorted_by(|x, y| x < y), "{ticks:?}");
        prop_assert!(ticks.iter().all(|t| scale.holds(*t)), "{ticks:?}");
    }

    #[test]
    fn more_is_further(a in 1e-6..1e9f64, b in 1e-6..1e9f64, log in any::<bool>()) {
        let (least, most) = (a.min(b), a.max(b));
        let scale = match log {
            true => Scale::log([least, most]),
            false => Scale::from_zero([most], 6),
        };
        prop_assert!(scale.share(least) <= scale.share(most));
        prop_assert!(scale.holds(least) && scale.holds(most));
        let ticks = scale.ticks(6);
        prop_assert!((2..=12).contains(&ticks.len()), "{ticks:?}");
        prop_assert!(ticks.is_sorted_by(|x, y| x < y), "{ticks:?}");
        prop_assert!(ticks.iter().all(|t| scale.place(*t).is_some()), "{ticks:?}");
        prop_assert_eq!(scale.place(10.0 * scale.high()), None);
        prop_assert_eq!(scale.place(f64::NAN), None);
    }
}
