use super::*;
use crate::seeded::Rng;
use crate::testing::normal;

const SEED: u64 = 1;

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// Grains of 125 ns, 250 ns .. 64 us, for jobs that cost `overhead_ns` each; run times
/// vary by `noise`.
fn runs(overhead_ns: f64, repeats: u32, noise: f64, seed: u64) -> Vec<GrainRun> {
    let mut rng = Rng::seeded(seed);
    let grains = (0..10).map(|nth| 125.0 * 2f64.powi(nth));
    let all = grains.flat_map(|grain| (0..repeats).map(move |_| grain));
    all.map(|grain_ns| {
        let spread = (noise * normal(&mut rng)).exp();
        let run_time = 10_000.0 * (grain_ns + overhead_ns) / 2.0 * spread;
        GrainRun::independent(grain_ns, 10_000, workers(2), run_time)
    })
    .collect()
}

fn at(found: Metg) -> Estimate {
    match found {
        Metg::At(estimate) => estimate,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_constant_overhead_has_a_closed_form() {
    let exact = runs(700.0, 3, 0.0, SEED);
    // e = g / (g + o), so g = o e / (1 - e).
    for (efficiency, grain) in [(0.5, 700.0), (0.8, 2800.0), (0.95, 13_300.0)] {
        let found = at(metg(&exact, efficiency));
        assert!(
            (found.value / grain - 1.0).abs() < 1e-9,
            "{efficiency}: {found:?}"
        );
        assert!(found.holds(found.value));
    }
    let floor = floor_ns_per_job(&exact, workers(2), SEED).unwrap();
    assert!((floor.value - 700.0).abs() < 1e-6);
}

#[test]
fn what_lies_beyond_the_grains_has_no_number() {
    let cheap = runs(50.0, 3, 0.0, SEED);
    assert_eq!(metg(&cheap, 0.5), Metg::AtMost { smallest_ns: 125.0 });
    let dear = runs(1e6, 3, 0.0, SEED);
    assert_eq!(
        metg(&dear, 0.5),
        Metg::Above {
            largest_ns: 64_000.0
        }
    );
    assert_eq!(metg(&[], 0.5), Metg::NothingTried);
    let empty = GrainRun::independent(0.0, 1000, workers(2), 1e6);
    assert_eq!(metg(&[empty], 0.5), Metg::NothingTried);
    assert_eq!(floor_ns_per_job(&[], workers(2), SEED), None);
}

#[test]
fn an_end_beyond_the_grains_is_missing() {
    // About 125 ns, the smallest grain, with noise.
    let found = (0..20).find_map(|seed| match metg(&runs(130.0, 5, 0.1, seed), 0.5) {
        Metg::At(found) => Some(found),
        _ => None,
    });
    let found = found.unwrap();
    assert!(found.low.is_none() && found.high.is_some(), "{found:?}");
}

#[test]
fn empty_jobs_have_a_floor_of_their_own() {
    let empty = |run_time_ns| GrainRun::independent(0.0, 1000, workers(2), run_time_ns);
    let mut all = runs(700.0, 3, 0.0, SEED);
    all.extend([100_000.0, 150_000.0, 120_000.0].map(empty));
    let floor = floor_ns_per_job(&all, workers(2), SEED).unwrap();
    assert_eq!(floor.value, 240.0);
    assert_eq!(floor.interval(), Some((200.0, 300.0)));
}

#[test]
fn one_run_a_grain_gives_no_interval() {
    let found = at(metg(&runs(700.0, 1, 0.0, SEED), 0.5));
    assert_eq!(found.interval(), None);
}

#[test]
fn a_dip_does_not_make_a_second_crossing() {
    let mut all = runs(700.0, 3, 0.0, SEED);
    // All runs of 4 us were disturbed.
    for run in all.iter_mut().filter(|run| run.grain_ns == 4000.0) {
        run.run_time_ns *= 1.6;
    }
    let found = at(metg(&all, 0.5));
    assert!((found.value / 700.0 - 1.0).abs() < 0.01, "{found:?}");
}

/// Whether it is not excluded; an end that is missing excludes nothing.
fn allows(found: &Estimate, truth: f64) -> bool {
    found.low.is_none_or(|low| low <= truth) && found.high.is_none_or(|high| truth <= high)
}

#[test]
fn intervals_hold_the_truth_as_often_as_stated() {
    // At 95 % an efficiency that is off by 2 % is a grain that is off by a third.
    for (efficiency, truth, noise, both_ends) in [
        (0.5, 700.0, 0.05, 100),
        (0.95, 13_300.0, 0.05, 0),
        (0.95, 13_300.0, 0.005, 100),
    ] {
        let found = |seed: u64| at(metg(&runs(700.0, 7, noise, seed), efficiency));
        let all: Vec<Estimate> = (0..100).map(found).collect();
        let hits = all.iter().filter(|f| allows(f, truth)).count();
        let closed = all.iter().filter(|f| f.interval().is_some()).count();
        println!("METG({efficiency}), noise {noise}: {hits} of 100, {closed} with both ends");
        // 95 are stated, and 88 is three standard deviations below.
        assert!(
            hits >= 88 && closed >= both_ends,
            "METG({efficiency}): {hits}, {closed}"
        );
    }
}

#[test]
fn the_published_series_has_its_published_figures() {
    // Milliseconds a job on 8 workers at 8, 2, 0.5 and 0.2 ms: efficiencies of 94, 95, 33
    // and 12 %, and METG(50 %) about 0.8 ms.
    let published = [(8.0, 1.063), (2.0, 0.262), (0.5, 0.190), (0.2, 0.210)];
    let all = published.map(|(grain, gradient)| {
        GrainRun::independent(grain * 1e6, 100, workers(8), gradient * 1e8)
    });
    let pct = all.map(|run| (100.0 * run.efficiency()).round());
    assert_eq!(pct, [94.0, 95.0, 33.0, 12.0]);
    let found = at(metg(&all, 0.5));
    assert!((0.6e6..0.9e6).contains(&found.value), "{found:?}");
}
