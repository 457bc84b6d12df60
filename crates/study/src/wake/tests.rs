use super::*;
use crate::seeded::Rng;
use crate::testing::normal;

/// Wake-ups of a pass: a sleep that takes `median` microseconds to leave, with some chance in it.
fn pass(rng: &mut Rng, median: f64, count: u64) -> Histogram {
    let mut latency = Histogram::new();
    for _ in 0..count {
        let us = median * (0.1 * normal(rng)).exp();
        latency.record_ns((us * 1e3) as u64);
    }
    latency
}

/// The 99th percentile of a standard normal value.
const Z99: f64 = 2.326_348;

#[test]
fn a_quantile_is_that_of_passes_with_enough_wake_ups() {
    let of = |count| {
        let mut latency = Histogram::new();
        (0..count).for_each(|_| latency.record_ns(10_000));
        latency
    };
    let (short, long) = (of(298), of(299));
    let draws = Draws::of(3, 1);
    let p99 = |passes: [Option<&Histogram>; 3]| Figure::quantile_us(&passes, 0.99, &draws);
    assert_eq!(p99([Some(&short), None, Some(&short)]), None);
    let alone = p99([Some(&short), Some(&long), None]).unwrap().estimate();
    assert!((alone.value / 10.0 - 1.0).abs() < 0.01, "{alone:?}");
    assert_eq!(alone.interval(), None, "of one pass");
}

#[test]
fn a_mean_has_the_interval_of_students_t() {
    let values = [1.0, 4.0, 2.0, 3.0];
    let draws = Draws::of(4, 5);
    let mean = Figure::mean(&values.map(Some), &draws).unwrap().estimate();
    let exact = student::mean(&values).unwrap();
    assert_eq!(mean.value, exact.value);
    let (found, wanted) = (mean.high.unwrap() - 2.5, exact.high.unwrap() - 2.5);
    assert!((found / wanted - 1.0).abs() < 0.05, "{found} {wanted}");
    assert_eq!(Figure::mean(&[None, None], &Draws::of(2, 1)), None);
}

/// In how many of 100 seeds the interval holds a known step from one policy to the other, at the
/// median and at p99. What a pass does to wake-ups, as standard deviations of logarithms: 0.05 to
/// those of both policies alike, and 0.03 to those of each.
fn found(passes: usize, seeds: std::ops::Range<u64>) -> [u32; 2] {
    let (slow, fast) = (34.0, 11.0);
    let mean_shift = ((0.05_f64.powi(2) + 0.03_f64.powi(2)) / 2.0).exp();
    let mut hits = [0; 2];
    for seed in seeds {
        let mut rng = Rng::seeded(seed);
        let mut sides = [Vec::new(), Vec::new()];
        for _ in 0..passes {
            let shared = 0.05 * normal(&mut rng);
            for (side, median) in sides.iter_mut().zip([slow, fast]) {
                let shift = (shared + 0.03 * normal(&mut rng)).exp();
                side.push(pass(&mut rng, shift * median, 400));
            }
        }
        let draws = Draws::of(passes, seed ^ 1);
        for (at, (q, tail)) in [(0.5, 1.0), (0.99, (0.1 * Z99).exp())]
            .into_iter()
            .enumerate()
        {
            let [slowed, fastened] = [0, 1].map(|side: usize| {
                let passes: Vec<_> = sides[side].iter().map(Some).collect();
                Figure::quantile_us(&passes, q, &draws).unwrap()
            });
            let step = Figure::from(&[&slowed, &fastened], |v| v[0] - v[1]).unwrap();
            let truth = mean_shift * tail * (slow - fast);
            hits[at] += u32::from(step.estimate().holds(truth));
        }
    }
    hits
}

#[test]
fn a_known_step_is_found_within_its_interval() {
    for passes in [4, 6] {
        // Three times as many as are stated, so that luck decides less.
        for hits in found(passes, 0..300) {
            assert!(hits >= 279, "{hits} of 300 with {passes} passes");
        }
    }
}

#[test]
fn equal_policies_hardly_ever_differ() {
    let mut differ = 0;
    for seed in 0..200 {
        let mut rng = Rng::seeded(1000 + seed);
        let draws = Draws::of(5, seed);
        let mut side = || {
            let passes: Vec<Histogram> = (0..5).map(|_| pass(&mut rng, 30.0, 400)).collect();
            let passes: Vec<_> = passes.iter().map(Some).collect();
            Figure::quantile_us(&passes, 0.99, &draws).unwrap()
        };
        let step = Figure::from(&[&side(), &side()], |v| v[0] - v[1]).unwrap();
        differ += u32::from(!step.estimate().holds(0.0));
    }
    // 5 % is stated; 20 is more than three standard deviations above.
    assert!(differ <= 20, "{differ} of 200");
}

#[test]
fn figures_that_are_never_negative_have_such_intervals() {
    let draws = Draws::of(3, 1);
    let values = [Some(0.1), Some(9.0), Some(1.0)];
    let mean = Figure::mean(&values, &draws).unwrap();
    assert!(mean.estimate().low.unwrap() < 0.0);
    assert!(mean.positive_estimate().low.unwrap() > 0.0);
    let zero = Figure::mean(&[Some(0.0); 3], &draws).unwrap();
    assert_eq!(zero.positive_estimate(), Estimate::within(0.0, 0.0, 0.0));
}
