use super::*;
use crate::testing::values;

#[test]
fn clustered_values_are_called_so_and_independent_ones_seldom() {
    let called = |kept: f64| {
        let seeds = 0..500u64;
        seeds
            .filter(|seed| is_clustered(&values(30, kept, *seed)))
            .count()
    };
    assert!(called(0.0) <= 15, "1 % of 500 and chance");
    assert!(called(0.8) >= 450);
    assert!(!is_clustered(&[1.0, 2.0, 3.0]), "too few");
}

#[test]
fn dependence_widens_and_its_absence_hardly_does() {
    let mean = |kept: f64| {
        let each = (0..200u64).map(|seed| long_run_variance(&values(30, kept, seed)).sqrt());
        each.sum::<f64>() / 200.0
    };
    assert!((1.0..1.15).contains(&mean(0.0)));
    // It is at most 2.2: with weights up to five values apart.
    assert!(mean(0.8) > 1.5);
    let alternating: Vec<f64> = (0..30).map(|i| f64::from(i % 2)).collect();
    assert!((long_run_variance(&alternating) - 1.0).abs() < 1e-9);
    assert!((long_run_variance(&[]) - 1.0).abs() < 1e-9);
}
