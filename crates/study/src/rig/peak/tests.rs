use super::*;
use crate::seeded::Rng;
use crate::testing::normal;

const GRAIN: Duration = Duration::from_micros(200);

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn run(jobs: u32, ms: f64) -> PeakRun {
    PeakRun {
        jobs,
        run_time_ns: ms * 1e6,
    }
}

/// Trials of peaks of 10, 20 .. 200 jobs on a line of 1 ms and 0.1 ms a job, with noise of 3 %
/// of a run time. The gradient of each trial deviates by `of_trial`.
fn with_noise(
    noise: fn(&mut Rng) -> f64,
    (count, of_trial): (usize, f64),
    seed: u64,
) -> Vec<Vec<PeakRun>> {
    let mut rng = Rng::seeded(seed);
    let mut trial = || {
        let gradient_ms = 0.1 * (1.0 + of_trial * normal(&mut rng));
        let one = |nth: u32| {
            let jobs = 10 * (1 + nth % 20);
            let ideal = 1.0 + gradient_ms * f64::from(jobs);
            run(jobs, ideal * (1.0 + 0.03 * noise(&mut rng)))
        };
        (0..20).map(one).collect()
    };
    (0..count).map(|_| trial()).collect()
}

/// With noise that is skewed upwards, as that of machines is.
fn noisy(trials: (usize, f64), seed: u64) -> Vec<Vec<PeakRun>> {
    let skewed = |rng: &mut Rng| rng.exponential() - std::f64::consts::LN_2;
    with_noise(skewed, trials, seed)
}

#[test]
fn an_exact_line_is_found() {
    let runs: Vec<PeakRun> = (1..20)
        .map(|p| run(2 * p, 5.0 + 0.2 * f64::from(p)))
        .collect();
    let runs = [runs];
    let found = line(&runs, GRAIN, workers(2), 1).unwrap();
    assert!((found.gradient_us_per_job.value - 100.0).abs() < 1e-6);
    assert!((found.startup_us.value - 5000.0).abs() < 1e-6);
    assert!((found.gradient_ratio.unwrap().value - 1.0).abs() < 1e-9);
    assert_eq!(found.two_populations, None);
    assert_eq!(line(&[runs[0][..1].to_vec()], GRAIN, workers(2), 1), None);
    let empty = line(&runs, Duration::ZERO, workers(2), 1).unwrap();
    assert_eq!(empty.gradient_ratio, None);
}

#[test]
fn intervals_hold_the_truth_where_trials_deviate() {
    // With noise that is skewed, and not normal, a robust line is turned a little: then 463 of
    // 500 gradients held with 3 trials that do not deviate.
    for (count, of_trial) in [(3, 0.0), (3, 0.02), (4, 0.05)] {
        let (mut gradients, mut startups, mut widest) = (0, 0, 0.0f64);
        for seed in 0..200 {
            let trials = with_noise(normal, (count, of_trial), seed);
            let found = line(&trials, GRAIN, workers(2), seed).unwrap();
            let (low, high) = found.gradient_us_per_job.interval().unwrap();
            widest = widest.max(high - low);
            gradients += u32::from(found.gradient_us_per_job.holds(100.0));
            startups += u32::from(found.startup_us.holds(1000.0));
        }
        println!(
            "{count} trials by {of_trial}: gradient {gradients}, start-up {startups} of 200; widest {widest}"
        );
        // 190 are stated, and 181 is three standard deviations below.
        let held = gradients >= 181 && startups >= 181;
        assert!(held, "{gradients}, {startups} of 200");
    }
}

#[test]
fn a_fifth_of_disturbed_runs_turns_nothing() {
    let mut trials = noisy((5, 0.0), 1);
    for run in trials
        .iter_mut()
        .flat_map(|runs| runs.iter_mut().step_by(5))
    {
        run.run_time_ns += 3e7;
    }
    let found = line(&trials, GRAIN, workers(2), 1).unwrap();
    assert!(
        (found.gradient_us_per_job.value - 100.0).abs() < 3.0,
        "{found:?}"
    );
}

#[test]
fn one_population_is_hardly_ever_flagged() {
    let flagged = |seed: &u64| {
        let trials = noisy((3, 0.05), *seed);
        line(&trials, GRAIN, workers(2), *seed)
            .unwrap()
            .two_populations
            .is_some()
    };
    let flagged = (0..300).filter(flagged).count();
    // Three are stated at most; nine are three standard deviations above.
    println!("{flagged} of 300");
    assert!(flagged <= 9, "{flagged} of 300");
}

/// The published series with jobs of 200 us on 8 workers (-0.81 ms + 0.205 ms a job for
/// 90 jobs and more, scatter 0.34 ms), below 90 jobs of two kinds: half of the runs on
/// that line and half as fast again.
fn bimodal_below_90(seed: u64) -> Vec<Vec<PeakRun>> {
    let mut rng = Rng::seeded(seed);
    let runs: Vec<PeakRun> = (0..120)
        .map(|nth| {
            let jobs = 20 + (rng.unit() * 130.0) as u32;
            let usual = -0.81 + 0.205 * f64::from(jobs);
            let fast = jobs < 90 && nth % 2 == 0;
            let ms = if fast { usual / 1.5 } else { usual };
            run(jobs, ms + 0.34 * normal(&mut rng))
        })
        .collect();
    runs.chunks(40).map(<[PeakRun]>::to_vec).collect()
}

#[test]
fn two_kinds_of_runs_below_90_jobs_are_flagged_there() {
    let mut flagged = 0;
    for seed in 0..40 {
        let found = line(&bimodal_below_90(seed), GRAIN, workers(8), seed).unwrap();
        let Some(two) = found.two_populations else {
            continue;
        };
        flagged += 1;
        assert!(
            two.apart_us > 500.0 && (0.2..0.9).contains(&two.slower_share),
            "{two:?}"
        );
    }
    println!("{flagged} of 40");
    assert!(flagged >= 36, "{flagged} of 40");
}

#[test]
fn the_published_lines_are_found_again() {
    // (workers, grain in ms, start-up, gradient, scatter in ms): Graph-10, 11, 13, 14.
    let published = [
        (4, 2.0, 8.57, 0.518, 2.70),
        (8, 2.0, 10.0, 0.262, 3.19),
        (8, 8.0, 12.85, 1.063, 4.55),
        (8, 0.5, 1.73, 0.190, 2.32),
    ];
    for (count, grain_ms, startup_ms, gradient_ms, scatter) in published {
        let mut rng = Rng::seeded(1);
        let runs: Vec<PeakRun> = (0..400)
            .map(|_| {
                let jobs = 10 + (rng.unit() * 90.0) as u32;
                let ms = startup_ms + gradient_ms * f64::from(jobs);
                run(jobs, ms + scatter * normal(&mut rng))
            })
            .collect();
        let grain = Duration::from_secs_f64(grain_ms / 1e3);
        let trials: Vec<_> = runs.chunks(100).map(<[PeakRun]>::to_vec).collect();
        let found = line(&trials, grain, workers(count), 1).unwrap();
        let ideal = grain_ms / f64::from(count);
        assert!(
            found.gradient_ratio.unwrap().holds(gradient_ms / ideal),
            "{found:?}"
        );
        assert!(found.startup_us.holds(1e3 * startup_ms), "{found:?}");
        assert_eq!(found.two_populations, None);
    }
}

#[test]
fn a_worker_that_naps_is_seen_and_one_that_does_not_is_not() {
    let wake_ups = |naps: bool, seed: u64| {
        let mut rng = Rng::seeded(seed);
        let one = |nth: u32, usual: f64, rng: &mut Rng| {
            let nap = if naps && nth.is_multiple_of(2) {
                1000.0
            } else {
                0.0
            };
            usual + 20.0 * rng.exponential() + nap
        };
        let mut trials = Vec::new();
        for _ in 0..3 {
            let usual = 60.0 + 40.0 * rng.unit();
            trials.push((0..40).map(|nth| one(nth, usual, &mut rng)).collect());
        }
        two_wake_ups(&trials, seed)
    };
    let seen = (0..50).filter_map(|seed| wake_ups(true, seed));
    let right = seen.filter(|two| two.slower_us > 900.0 && two.faster_us < 200.0);
    let (right, wrong) = (
        right.count(),
        (0..100)
            .filter(|seed| wake_ups(false, *seed).is_some())
            .count(),
    );
    // 1 is stated at most.
    assert!(right == 50 && wrong <= 4, "{right} of 50, {wrong} of 100");
}
