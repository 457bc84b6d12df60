use super::*;
use crate::seeded::Rng;
use crate::testing::normal;

const SEED: u64 = 1;

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

const EXACT: Estimate = Estimate::alone(1.0);

/// Grains of 125 ns, 250 ns .. 64 us, 3 runs of each in each trial, for jobs that cost
/// `overhead_ns` each; run times vary by `noise` from run to run, and the overhead by
/// `of_trial` from trial to trial.
fn trials(
    overhead_ns: f64,
    count: usize,
    (of_trial, noise): (f64, f64),
    seed: u64,
) -> Vec<Vec<GrainRun>> {
    let mut rng = Rng::seeded(seed);
    let mut trial = || {
        let overhead_ns = overhead_ns * (1.0 + of_trial * normal(&mut rng));
        let grains = (0..10).map(|nth| 125.0 * 2f64.powi(nth));
        let all = grains.flat_map(|grain| [grain; 3]);
        let run = |grain_ns| {
            let spread = 1.0 + noise * normal(&mut rng);
            let run_time = 10_000.0 * (grain_ns + overhead_ns) / 2.0 * spread;
            GrainRun::independent(grain_ns, 10_000, workers(2), run_time)
        };
        all.map(run).collect()
    };
    (0..count).map(|_| trial()).collect()
}

fn metg_of(trials: &[Vec<GrainRun>], efficiency: f64) -> Metg {
    metg(&efficiencies(trials, EXACT), efficiency)
}

fn at(found: Metg) -> Estimate {
    match found {
        Metg::At(estimate) => estimate,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_constant_overhead_has_a_closed_form() {
    let exact = trials(700.0, 3, (0.0, 0.0), SEED);
    // e = g / (g + o), so g = o e / (1 - e).
    for (efficiency, grain) in [(0.5, 700.0), (0.8, 2800.0), (0.95, 13_300.0)] {
        let found = at(metg_of(&exact, efficiency));
        assert!(
            (found.value / grain - 1.0).abs() < 1e-9,
            "{efficiency}: {found:?}"
        );
        assert!(found.holds(found.value));
    }
    let floor = floor_ns_per_job(&exact, workers(2)).unwrap();
    assert!((floor.value - 700.0).abs() < 1e-6);
}

#[test]
fn what_lies_beyond_the_grains_has_no_number() {
    let cheap = trials(50.0, 3, (0.0, 0.0), SEED);
    assert_eq!(metg_of(&cheap, 0.5), Metg::AtMost { smallest_ns: 125.0 });
    let dear = trials(1e6, 3, (0.0, 0.0), SEED);
    assert_eq!(
        metg_of(&dear, 0.5),
        Metg::Above {
            largest_ns: 64_000.0
        }
    );
    assert_eq!(metg(&[], 0.5), Metg::NothingTried);
    let empty = GrainRun::independent(0.0, 1000, workers(2), 1e6);
    assert_eq!(metg_of(&[vec![empty]], 0.5), Metg::NothingTried);
    assert_eq!(floor_ns_per_job(&[], workers(2)), None);
}

#[test]
fn an_end_beyond_the_grains_is_missing() {
    // About 125 ns, the smallest grain, with noise.
    let found = (0..20).find_map(
        |seed| match metg_of(&trials(130.0, 5, (0.1, 0.1), seed), 0.5) {
            Metg::At(found) => Some(found),
            _ => None,
        },
    );
    let found = found.unwrap();
    assert!(found.low.is_none() && found.high.is_some(), "{found:?}");
}

#[test]
fn a_value_below_the_grains_has_the_upper_end_that_they_show() {
    let point = |grain_ns, value, half| Point {
        grain_ns,
        efficiency: Estimate::within(value, value - half, value + half),
    };
    // The smallest reaches one half, but not all of its interval does.
    let points = [point(50.0, 0.53, 0.04), point(100.0, 0.70, 0.02)];
    let found = at(metg(&points, 0.5));
    assert_eq!((found.value, found.low), (50.0, None));
    assert!(
        found.high.is_some_and(|high| high > 50.0 && high < 70.0),
        "{found:?}"
    );
}

#[test]
fn empty_jobs_have_a_floor_of_their_own() {
    let empty = |run_time_ns| GrainRun::independent(0.0, 1000, workers(2), run_time_ns);
    let mut all = trials(700.0, 3, (0.0, 0.0), SEED);
    for (trial, run_time_ns) in all.iter_mut().zip([100_000.0, 150_000.0, 110_000.0]) {
        // A run that was interrupted does not move the median of its trial.
        trial.extend([run_time_ns, run_time_ns, 1e9].map(empty));
    }
    let floor = floor_ns_per_job(&all, workers(2)).unwrap();
    assert_eq!(floor.value, 240.0);
    let (low, high) = floor.interval().unwrap();
    assert!(low < 200.0 && high > 300.0, "{floor:?}");
}

#[test]
fn fewer_than_three_trials_give_no_interval() {
    let two = trials(700.0, 2, (0.1, 0.1), SEED);
    assert_eq!(at(metg_of(&two, 0.5)).interval(), None);
    assert_eq!(floor_ns_per_job(&two, workers(2)).unwrap().interval(), None);
}

#[test]
fn a_dip_does_not_make_a_second_crossing() {
    let mut all = trials(700.0, 3, (0.0, 0.0), SEED);
    // All runs of 4 us were disturbed.
    for run in all
        .iter_mut()
        .flatten()
        .filter(|run| run.grain_ns == 4000.0)
    {
        run.run_time_ns *= 1.6;
    }
    let found = at(metg_of(&all, 0.5));
    assert!((found.value / 700.0 - 1.0).abs() < 0.01, "{found:?}");
}

/// Whether it is not excluded; an end that is missing excludes nothing.
fn allows(found: &Estimate, truth: f64) -> bool {
    found.low.is_none_or(|low| low <= truth) && found.high.is_none_or(|high| truth <= high)
}

#[test]
fn intervals_hold_the_truth_where_trials_deviate() {
    // At 95 % an efficiency that is off by 2 % is a grain that is off by a third.
    for (efficiency, truth, count, noises) in [
        (0.5, 700.0, 3, (0.1, 0.05)),
        (0.5, 700.0, 4, (0.1, 0.0)),
        (0.5, 700.0, 4, (0.0, 0.05)),
        (0.95, 13_300.0, 4, (0.1, 0.05)),
        (0.95, 13_300.0, 4, (0.1, 0.002)),
    ] {
        let held = (0..500).filter(|seed| {
            let found = at(metg_of(&trials(700.0, count, noises, *seed), efficiency));
            allows(&found, truth)
        });
        let held = held.count();
        println!("METG({efficiency}), {count} trials, {noises:?}: {held} of 500");
        // 475 are stated.
        assert!(held >= 465, "METG({efficiency}), {noises:?}: {held} of 500");
    }
    let floor = |seed: &u64| {
        let empty = |overhead: f64| {
            let run = |_| GrainRun::independent(0.0, 1000, workers(2), overhead * 500.0);
            (0..7).map(run).collect::<Vec<_>>()
        };
        let mut rng = Rng::seeded(*seed);
        let all: Vec<_> = (0..4)
            .map(|_| empty(80.0 + 8.0 * normal(&mut rng)))
            .collect();
        floor_ns_per_job(&all, workers(2)).unwrap().holds(80.0)
    };
    let held = (0..500).filter(floor).count();
    assert!(held >= 465, "floor: {held} of 500");
}

#[test]
fn a_longer_ideal_time_is_a_higher_efficiency_with_its_error() {
    let exact = trials(700.0, 3, (0.0, 0.0), SEED);
    let longer = efficiencies(&exact, Estimate::within(1.05, 1.03, 1.07));
    let plain = efficiencies(&exact, EXACT);
    for (longer, plain) in longer.iter().zip(&plain) {
        let (value, efficiency) = (plain.efficiency.value, longer.efficiency);
        assert!((efficiency.value - 1.05 * value).abs() < 1e-12);
        assert!((efficiency.low.unwrap() - 1.03 * value).abs() < 1e-12);
    }
    assert!(at(metg(&longer, 0.5)).value < 700.0);
}

#[test]
fn the_published_series_has_its_published_figures() {
    // Milliseconds a job on 8 workers at 8, 2, 0.5 and 0.2 ms: efficiencies of 94, 95, 33
    // and 12 %, and METG(50 %) about 0.8 ms.
    let published = [(8.0, 1.063), (2.0, 0.262), (0.5, 0.190), (0.2, 0.210)];
    let all = published.map(|(grain, gradient)| {
        GrainRun::independent(grain * 1e6, 100, workers(8), gradient * 1e8)
    });
    let points = efficiencies(&[all.to_vec()], EXACT);
    let pct: Vec<f64> = points
        .iter()
        .map(|p| (100.0 * p.efficiency.value).round())
        .collect();
    assert_eq!(pct, [12.0, 33.0, 95.0, 94.0]);
    let found = at(metg(&points, 0.5));
    assert!((0.6e6..0.9e6).contains(&found.value), "{found:?}");
}
